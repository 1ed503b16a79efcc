"""
The views of the report's explorer: charts without data, which the page gives them.

Each is drawn once. The page then puts rows into their data sets and sets the params `layer` and `head`, so that all
show the same head; a click on a mark with a layer and a head picks that head.
"""

import altair as alt

from headscope.charts.figure_6 import COLOURS, SHAPES
from headscope.charts.theme import VERMILLION

WIDE, HEIGHT = "container", 200  # a view is as wide as its place on the page, which also says how high it is
PICKED = "datum.layer == layer && datum.head == head"
SCHEME = "viridis"


def views() -> dict[str, dict]:
    """Return the specification of each view by its name."""
    charts = {
        "grid": head_grid(),
        "kinds": head_kinds(),
        "map": head_map(),
        "best": best_heads(),
        "lines": attention_lines(),
        "heat": attention_heat(),
    }
    return {name: chart.to_dict() for name, chart in charts.items()}


def head_grid() -> alt.LayerChart:
    """Layer by head, coloured by a number; data set `heads`: layer, head, name, value, shown."""
    colour = alt.Color(
        "value:Q", scale=alt.Scale(scheme=SCHEME), legend=alt.Legend(title=None, orient="top", format=".3~g")
    )
    return _grid(colour)


def head_kinds() -> alt.LayerChart:
    """Layer by head, coloured by a kind; data set as of `head_grid`, with a word as value."""
    return _grid(_behaviours("value:N", alt.Legend(title=None, orient="top", columns=4)))


def _grid(colour: alt.Color) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("heads")).encode(
        alt.X("head:O", title="Head", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        alt.Y("layer:O", title="Layer", axis=alt.Axis(labelOverlap=True)),
        tooltip=[alt.Tooltip("name:N", title="Head"), alt.Tooltip("shown:N", title="Value")],
    )
    cells = base.mark_rect(cursor="pointer", stroke="white", strokeWidth=0.5).encode(colour)
    picked = base.transform_filter(PICKED).mark_rect(filled=False, stroke=VERMILLION, strokeWidth=3.5, fillOpacity=0)
    return _linked(alt.layer(cells, picked)).properties(width=WIDE, height=HEIGHT)


def head_map() -> alt.LayerChart:
    """Figure 6's map; data set `places`: layer, head, name, x, y, behaviour."""
    base = alt.Chart(alt.NamedData("places")).encode(
        alt.X(
            "x:Q", title="First dimension (nats)", axis=alt.Axis(grid=False, tickCount=5), scale=alt.Scale(zero=False)
        ),
        alt.Y(
            "y:Q", title="Second dimension (nats)", axis=alt.Axis(grid=False, tickCount=5), scale=alt.Scale(zero=False)
        ),
        tooltip=[alt.Tooltip("name:N", title="Head"), alt.Tooltip("behaviour:N", title="Looks at")],
    )
    legend = alt.Legend(title=None, orient="bottom", columns=4)
    shapes = alt.Shape("behaviour:N", scale=alt.Scale(domain=[*COLOURS], range=[*SHAPES]), legend=legend)
    points = base.mark_point(filled=True, size=70, opacity=0.85, cursor="pointer").encode(
        _behaviours("behaviour:N", legend), shapes
    )
    ring = base.transform_filter(PICKED).mark_point(size=320, stroke=VERMILLION, strokeWidth=3, opacity=1)
    name = base.transform_filter(PICKED).mark_text(dy=-18, fontSize=13, fontWeight="bold").encode(text="name:N")
    return _linked(alt.layer(points, ring, name)).properties(width=WIDE, height=HEIGHT)


def best_heads() -> alt.LayerChart:
    """The best heads at a relation; data set `best`: rank, layer, head, name, value, shown, baseline."""
    base = alt.Chart(alt.NamedData("best")).encode(
        alt.Y("name:N", title="Head", sort=_by("rank")),
        tooltip=[alt.Tooltip("name:N", title="Head"), alt.Tooltip("shown:N", title="Accuracy")],
    )
    across = alt.X(
        "value:Q", title="Accuracy", axis=alt.Axis(format=".0%", tickCount=5), scale=alt.Scale(domain=[0, 1])
    )
    colour = alt.condition(PICKED, alt.value(VERMILLION), alt.value("#56B4E9"))
    bars = base.mark_bar(cursor="pointer").encode(across, color=colour)
    baseline = (
        base.transform_filter("isValid(datum.baseline)")
        .mark_tick(thickness=2, color="#E69F00")
        .encode(alt.X("baseline:Q"))
    )
    return _linked(alt.layer(bars, baseline)).properties(width=WIDE, height=HEIGHT)


def attention_lines() -> alt.LayerChart:
    """
    Lines from each row on the left to each on the right.

    Data sets `cells` (query, key, from, to, weight) and `rows` (row, text); `row` and `query` count from 0. The params
    `last` and `only` are the last row, and the row whose lines alone are shown (-1: all).
    """
    down = alt.Scale(domain=[-0.7, alt.ExprRef("last + 0.7")], reverse=True, nice=False, zero=False)
    across = alt.Scale(domain=[-1, 2], nice=False, zero=False)

    def place(column: str) -> dict:
        return {"y": alt.Y(f"{column}:Q", axis=None, scale=down)}

    def side(at: float) -> alt.X:
        return alt.X(datum=at, axis=None, scale=across)

    shown = alt.Chart(alt.NamedData("cells")).transform_filter("only < 0 || datum.query == only")
    drawn = shown.mark_rule(strokeWidth=2, color="#3b8fd4").encode(
        side(0),
        x2=alt.X2Datum(1),
        y2="key:Q",
        strokeOpacity=alt.StrokeOpacity("weight:Q", scale=alt.Scale(domain=[0, 1]), legend=None),
        tooltip=[
            alt.Tooltip("from:N", title="From"),
            alt.Tooltip("to:N", title="To"),
            alt.Tooltip("weight:Q", title="Attention", format=".2f"),
        ],
        **place("query"),
    )
    words = alt.Chart(alt.NamedData("rows"))
    text = {"fontSize": 12, "limit": 120}
    weight = alt.ExprRef("datum.row == only ? 'bold' : 'normal'")
    left = words.mark_text(align="right", dx=-6, cursor="pointer", fontWeight=weight, **text).encode(
        side(0),
        text="text:N",
        **place("row"),
    )
    right = words.mark_text(align="left", dx=6, **text).encode(side(1), text="text:N", **place("row"))
    last = [alt.param("last", value=1), alt.param("only", value=-1)]
    return alt.layer(drawn, left, right).add_params(*last).properties(width=WIDE, height=HEIGHT)


def attention_heat() -> alt.Chart:
    """Every row by every row; data set `cells`: query, key, from, to, weight and `rows` in their order."""
    label = alt.Axis(
        labelExpr="substring(datum.label, indexof(datum.label, '|') + 1)", labelLimit=80, ticks=False, domain=False
    )
    return (
        alt.Chart(alt.NamedData("cells"))
        .mark_rect()
        .encode(
            alt.X("column:N", title="To", sort=_by("key"), axis=label.copy()),
            alt.Y("row:N", title="From", sort=_by("query"), axis=label.copy()),
            alt.Color(
                "weight:Q",
                scale=alt.Scale(scheme=SCHEME, domain=[0, 1]),
                legend=alt.Legend(title=None, orient="top", format=".1f"),
            ),
            tooltip=[
                alt.Tooltip("from:N", title="From"),
                alt.Tooltip("to:N", title="To"),
                alt.Tooltip("weight:Q", title="Attention", format=".2f"),
            ],
        )
        .properties(width=WIDE, height=HEIGHT)
    )


def _by(column: str) -> alt.EncodingSortField:
    """The order of a column of numbers: without it, what is new after a change stands where there is room."""
    return alt.EncodingSortField(column, op="min")


def _behaviours(column: str, legend: alt.Legend) -> alt.Color:
    return alt.Color(column, scale=alt.Scale(domain=[*COLOURS], range=[*COLOURS.values()]), legend=legend)


def _linked(chart: alt.LayerChart) -> alt.LayerChart:
    return chart.add_params(alt.param("layer", value=1), alt.param("head", value=1))
