"""A model over its training: how well its best heads follow each relation, and what its heads look at, step by step."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import BLUE, GREY, MOST_LAYER_TICKS, VERMILLION, layer_colour, notice, titled
from headscope.description import Description
from headscope.syntax.names import ALL, DIRECTION_NAMES, relations_to_show, scheme_in, scheme_name

WIDTH, HEIGHT, COLUMNS = 250, 170, 3
LABEL_WIDTH = 36  # pixels between two numbers of the axis
HERE, TRACED, OFFSET = "best head of the step", "best head of the last step", "best fixed offset"
LINES = {HERE: (BLUE, [1, 0]), TRACED: (VERMILLION, [6, 3]), OFFSET: (GREY, [2, 3])}
STEP_TOOLTIP = alt.Tooltip("step:Q", title="Step", format=",")


def series_syntax(
    best: pl.DataFrame, traced: pl.DataFrame, series: str, corpus: str, scheme: str, rare: int
) -> alt.ConcatChart:
    """
    A panel a relation: accuracy by step of the best head of each step, and of that of the last step.

    Parameters
    ----------
    best, traced
        The tables `syntax/best` and `syntax/traced` of a series.
    rare
        A relation of fewer dependents is not shown; of the others `all` is, and those that gain most at the last step.
    """
    scheme = scheme_in(best, scheme)
    last = best.filter(pl.col("step") == pl.col("step").max())
    shown = pl.concat([last.filter(scheme=scheme, relation=ALL), relations_to_show(last, scheme, [], rare)])
    panels = [_relation(best.filter(scheme=scheme, relation=row["relation"]), traced, row) for row in shown.to_dicts()]
    return titled(
        alt.concat(*panels or [notice("There is no relation to show.")], columns=COLUMNS, spacing=26),
        "When do heads learn to follow a relation?",
        f"{series} on {corpus}, {scheme_name(scheme)}, {_steps_in_words(best)}",
        "Band: 95 % interval of the best head of each step, by bootstrap over sentences; it is chosen on the sentences",
        "it is scored on. The head that is best at the last step is followed back to the first.",
    )


def _relation(rows: pl.DataFrame, traced: pl.DataFrame, last: dict) -> alt.LayerChart:
    followed = traced.filter(**{key: last[key] for key in ("scheme", "relation", "layer", "head", "direction")})
    name = pl.format("{}-{}", "layer", "head").alias("head")
    kinds = {
        HERE: rows.select("step", name, "accuracy"),
        TRACED: followed.select("step", name, "accuracy"),
        OFFSET: rows.select("step", head=pl.lit("none"), accuracy="baseline_accuracy"),
    }
    lines = pl.concat([table.with_columns(line=pl.lit(kind)) for kind, table in kinds.items()])
    x = step_axis(rows["step"].unique().to_list())
    y = {"title": "Accuracy", "scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(format=".0%", tickCount=5)}
    colours, dashes = zip(*LINES.values(), strict=True)
    legend = alt.Legend(title=None, orient="top", symbolStrokeWidth=2.5, symbolSize=300, symbolType="stroke")
    base = alt.Chart(lines).encode(
        x,
        alt.Y("accuracy:Q", **y),
        alt.Color("line:N", scale=alt.Scale(domain=[*LINES], range=colours), legend=legend),
        tooltip=[
            STEP_TOOLTIP,
            alt.Tooltip("line:N", title="What"),
            alt.Tooltip("head:N", title="Head"),
            alt.Tooltip("accuracy:Q", title="Accuracy", format=".1%"),
        ],
    )
    dash = alt.StrokeDash("line:N", scale=alt.Scale(domain=[*LINES], range=dashes), legend=legend)
    points = base.transform_filter(alt.datum.line != OFFSET).mark_point(filled=True, size=28, opacity=1)
    band = alt.Chart(rows).mark_area(color=BLUE, opacity=0.18).encode(x, alt.Y("ci_low:Q", **y), alt.Y2("ci_high:Q"))
    interval = alt.Chart(rows).mark_rule(color=BLUE, opacity=0.5).encode(x, alt.Y("ci_low:Q", **y), alt.Y2("ci_high:Q"))
    title = alt.TitleParams(
        last["relation"],
        subtitle=f"last step: {last['layer']}-{last['head']}, {DIRECTION_NAMES[last['direction']]}",
        anchor="start",
        subtitleFontSize=11,
    )
    drawn = alt.layer(band, interval, base.mark_line(strokeWidth=2).encode(dash), points)
    return drawn.properties(width=WIDTH, height=HEIGHT, title=title)


def series_surface(layers: pl.DataFrame, described: Description, series: str, corpus: str) -> alt.ConcatChart:
    """
    Two panels a measure, one line a layer: the mean of its heads by step, and the head of it that has most.

    Parameters
    ----------
    layers
        The table `surface/layers` of a series.
    described
        The model at the last step.
    """
    highest = math.ceil(10 * layers["entropy_max"].max()) / 10
    panels = [
        _measure(layers, column, f"{label}{of}", [0, highest if name == "entropy" else 1])
        for name, label in _measures(described).items()
        if _measured(layers, name)
        for column, of in ((name, ""), (f"{name}_max", ", the head with most"))
    ]
    return titled(
        alt.concat(*panels, columns=2, spacing=26),
        "What do heads look at, over training?",
        f"{series} on {corpus}, {_steps_in_words(layers)}",
        "A line a layer. Left: the mean of its heads. Right: that head of it that has most, at each step anew.",
    )


def _measures(described: Description) -> dict[str, str]:
    return {
        "entropy": "Entropy (nats)",
        "to_first": "To the first token",
        "to_cls": f"To {described.token('cls')}",
        "to_sep": f"To {described.token('sep')}",
        "to_previous": "To the previous token",
        "to_next": "To the next token",
    }


def _measured(layers: pl.DataFrame, name: str) -> bool:
    """Whether the model has such a token, and looks at it at all: a causal one sees no next token."""
    return name in layers.columns and layers[name].count() > 0 and layers[name].max() > 0


def _measure(layers: pl.DataFrame, column: str, label: str, domain: list[float]) -> alt.Chart:
    last = layers["layer"].max()
    shares = {} if column.startswith("entropy") else {"format": ".0%"}
    return (
        alt.Chart(layers)
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=22))
        .encode(
            step_axis(layers["step"].unique().to_list()),
            alt.Y(
                f"{column}:Q",
                title=None,
                scale=alt.Scale(domain=domain, nice=False),
                axis=alt.Axis(tickCount=5, **shares),
            ),
            layer_colour(
                last, values=list(range(1, last + 1, math.ceil(last / MOST_LAYER_TICKS))), symbolType="stroke"
            ),
            detail="layer:O",
            tooltip=[
                STEP_TOOLTIP,
                alt.Tooltip("layer:O", title="Layer"),
                alt.Tooltip(f"{column}:Q", title=label, format=".4f"),
            ],
        )
        .properties(width=WIDTH, height=HEIGHT, title=label)
    )


def step_axis(steps: list[int]) -> alt.X:
    """
    Return a horizontal axis of training steps: logarithmic, and with a step 0 as far left of the next as twice that is
    right of it. Numbers stand at steps only, as many as fit, the last among them.
    """
    steps = sorted(steps)
    smallest = next((step for step in steps if step), 1)
    scale = {"type": "symlog", "constant": smallest} if steps[0] == 0 else {"type": "log"}
    low, high = (steps[0], steps[-1]) if len(steps) > 1 else (steps[0] / 2, steps[0] * 2 or 1)

    def place(step: float) -> float:
        return math.log1p(step / smallest) if steps[0] == 0 else math.log(step)

    shown: list[int] = []
    for step in reversed(steps):
        if not shown or (place(shown[-1]) - place(step)) / (place(high) - place(low)) * WIDTH >= LABEL_WIDTH:
            shown.append(step)
    axis = alt.Axis(values=shown, labelExpr="format(datum.value, '.3~s')", grid=False, labelOverlap=False)
    return alt.X("step:Q", title="Training step", axis=axis, scale=alt.Scale(domain=[low, high], nice=False, **scale))


def _steps_in_words(table: pl.DataFrame) -> str:
    steps = table["step"].unique().sort().to_list()
    return f"{len(steps)} {'step' if len(steps) == 1 else 'steps'} of training, {steps[0]:,} to {steps[-1]:,}"
