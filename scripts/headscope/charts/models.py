"""How models are told apart in one figure: a colour and a shape each."""

import altair as alt

from headscope.charts.theme import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION

COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "#000000", GREY)
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
LEGEND_COLUMNS, FEW = 4, 4


def colour_and_shape(titles: list[str]) -> tuple[alt.Color, alt.Shape]:
    """
    Return colour and shape of the column `title`, under one legend.

    The first eight models differ in both, any two of sixty-four in one of them.
    """
    places = range(len(titles))
    colours = [COLOURS[place % len(COLOURS)] for place in places]
    shapes = [SHAPES[(place + place // len(COLOURS)) % len(SHAPES)] for place in places]
    legend = alt.Legend(title=None, orient="top", columns=LEGEND_COLUMNS, symbolOpacity=1, labelLimit=320)
    return (
        alt.Color("title:N", scale=alt.Scale(domain=titles, range=colours), legend=legend),
        alt.Shape("title:N", scale=alt.Scale(domain=titles, range=shapes), legend=legend),
    )


def by_number(models: int, few: float, many: float) -> float:
    """Return a size: that for few models, which leave more room, or that for many."""
    return few if models <= FEW else many
