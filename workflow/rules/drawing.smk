"""
What all figures share. The page of each carries the library that draws it, which is bundled once for all of them.

    bundle_library --> javascript/vega.js, an input of every draw_*
"""


rule bundle_library:
    """Bundle the library that draws the figures."""
    output:
        library=LIBRARY,
    log:
        "logs/bundle_library.log",
    conda:
        "../../envs/draw.yaml"
    params:
        code=code_of("bundle_library"),
    script:
        "../../scripts/bundle_library.py"
