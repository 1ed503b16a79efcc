"""The library that draws the charts of a page, which every page carries."""

from functools import cache

import vl_convert

# `vegaEmbed` is there for the scripts of a page of many charts; a page of one chart is drawn at once.
EMBED = """\
globalThis.vegaEmbed = vegaEmbed;
const specification = document.getElementById("specification");
if (specification) vegaEmbed("#chart", JSON.parse(specification.textContent));"""


@cache
def bundle() -> str:
    """Return the library and the lines that draw a page's own chart, as one script: the same for every page."""
    return vl_convert.javascript_bundle(EMBED)
