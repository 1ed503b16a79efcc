"""Bundle the library that draws the figures, which the page of each carries."""

from headscope.charts.javascript import bundle
from headscope.files import replacing
from headscope.jobs import run


def main(library):
    """Write the library as one script."""
    with replacing(library) as temporary:
        temporary.write_text(bundle(), encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake)
