"""The library that draws the chart of a page, which every page carries."""

from functools import cache

import vl_convert

EMBED = 'vegaEmbed("#chart", JSON.parse(document.getElementById("specification").textContent));'


@cache
def bundle() -> str:
    """Return the library and the line that draws the page's own chart, as one script: the same for every chart."""
    return vl_convert.javascript_bundle(EMBED)
