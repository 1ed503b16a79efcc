"""Figure 5: sentences as the heads see them that follow a syntactic relation best."""

import altair as alt
import polars as pl

from headscope.charts.lines import FAINTEST, height, lines, with_ends, words
from headscope.charts.theme import BLUE, VERMILLION, notice, titled
from headscope.syntax.names import DIRECTION_NAMES, scheme_name

LINE_WIDTH, LABEL_WIDTH = 116, 76
MARGIN = LABEL_WIDTH / LINE_WIDTH
RELATIONS_IN_A_ROW = 2
FOUND, MISSED, OTHER = "dependent whose head is found", "dependent whose head is missed", "other words"
LOOKS = {OTHER: ("#a9b7c6", [1, 0]), MISSED: (BLUE, [4, 2]), FOUND: (VERMILLION, [1, 0])}
HEAD_COLOUR, PLAIN = "#000000", ("#555555", "normal")
WIDTH_OF_STRONGEST, WIDTH_OF_OTHERS = 2.6, 1.1
LINE_COLUMNS = [
    *("left", "right", "query_row", "key_row", "query_token", "key_token"),
    *("weight", "darkness", "kind", "width"),
]
BLOCK = ["scheme", "relation", "layer", "head", "direction"]


def figure_5(examples: pl.DataFrame, model: str, corpus: str) -> alt.VConcatChart:
    """
    A block a relation: two sentences, attention as lines from each word (left) to the words it attends to (right).

    Parameters
    ----------
    examples
        The table `syntax/examples`.

    Source: Clark et al. 2019, figure 5.
    """
    schemes = [scheme_name(scheme) for scheme in examples["scheme"].unique(maintain_order=True)]
    blocks = [_block(part) for _, part in examples.group_by(BLOCK, maintain_order=True)]
    rows = [
        alt.hconcat(*blocks[start : start + RELATIONS_IN_A_ROW], spacing=36)
        for start in range(0, len(blocks), RELATIONS_IN_A_ROW)
    ]
    return titled(
        alt.vconcat(*rows or [notice("There is no sentence to show.")], spacing=28),
        "Figure 5: heads that follow a relation",
        ", ".join([f"{model} on {corpus}", *schemes]),
        "Above each pair of sentences stands the head that was chosen, and how often it is right on the relation.",
        "A dependent of the relation is coloured, and so is all attention from it (or to it: head to dependent); "
        "its thick line is the",
        "strongest, the one that is scored. Its true head stands opposite in bold. Lines are dark as their share of "
        "the panel's strongest.",
    )


def _block(block: pl.DataFrame) -> alt.HConcatChart:
    relation, layer, head, direction, accuracy = block.select(*BLOCK[1:], "accuracy").row(0)
    cells = block.rename({"query_word": "query_token", "key_word": "key_token"}).sort("rank", "query", "key")
    panels = [_panel(part, direction) for _, part in cells.group_by("rank", maintain_order=True)]
    title = f"{layer}-{head} {relation}: {DIRECTION_NAMES[direction]}, {accuracy:.0%}".replace("%", " %")
    return alt.hconcat(*panels, spacing=10).properties(title=alt.TitleParams(title, anchor="start", offset=8))


def _panel(cells: pl.DataFrame, direction: str) -> alt.LayerChart:
    tokens = _tokens(cells)
    last = tokens["row"].max()
    ends = with_ends(_with_kinds(cells), tokens, "rank")
    drawn = ends.filter((pl.col("darkness") >= FAINTEST) | pl.col("picked")).sort("order", "weight")
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=400, symbolStrokeWidth=2)
    labels, looks = list(LOOKS)[::-1], list(LOOKS.values())[::-1]
    seen = lines(
        drawn.select(LINE_COLUMNS),
        last,
        MARGIN,
        color=alt.Color("kind:N", scale=alt.Scale(domain=labels, range=[look[0] for look in looks]), legend=legend),
        strokeDash=alt.StrokeDash(
            "kind:N", scale=alt.Scale(domain=labels, range=[look[1] for look in looks]), legend=legend
        ),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None),
    )
    number = cells["example"].first()
    return alt.layer(seen, *_words(ends, tokens, direction, last)).properties(
        width=LINE_WIDTH + 2 * LABEL_WIDTH,
        height=height(last),
        title=alt.TitleParams(f"sentence {number}", fontSize=11, fontWeight="normal", color="#555555", offset=2),
        view=alt.ViewBackground(stroke=None),
    )


def _tokens(cells: pl.DataFrame) -> pl.DataFrame:
    """Every word of one sentence: position, token, row."""
    sides = [cells.select(position=end, token=f"{end}_token") for end in ("query", "key")]
    return pl.concat(sides).unique("position").sort("position").with_columns(row=pl.int_range(pl.len()))


def _dependent(direction: str) -> str:
    """The end of a line where the dependent stands."""
    return "query" if direction == "dependent_to_head" else "key"


def _with_kinds(cells: pl.DataFrame) -> pl.DataFrame:
    """Add kind, order (of drawing) and width."""
    found = pl.when("hit").then(pl.lit(FOUND)).otherwise(pl.lit(MISSED))
    return cells.with_columns(kind=pl.when("of_relation").then(found).otherwise(pl.lit(OTHER))).with_columns(
        order=pl.col("kind").replace_strict({kind: order for order, kind in enumerate(LOOKS)}),
        width=pl.when("picked").then(WIDTH_OF_STRONGEST).otherwise(WIDTH_OF_OTHERS),
    )


def _words(ends: pl.DataFrame, tokens: pl.DataFrame, direction: str, last: int) -> list[alt.Chart]:
    """Both columns of words: the dependents in their colour, opposite them their heads in bold."""
    dependent = _dependent(direction)
    opposite = "key" if dependent == "query" else "query"
    scored = ends.filter("of_relation")
    marked = {
        dependent: {LOOKS[kind][0]: scored.filter(kind=kind)[f"{dependent}_row"] for kind in (MISSED, FOUND)},
        opposite: {HEAD_COLOUR: scored.filter("gold")[f"{opposite}_row"]},
    }
    texts = []
    for end, side in (("query", "left"), ("key", "right")):
        looks = dict.fromkeys(tokens["row"], PLAIN)
        looks |= {row: (colour, "bold") for colour, rows in marked[end].items() for row in rows}
        for look in sorted(set(looks.values())):
            alike = pl.col("row").is_in([row for row in looks if looks[row] == look])
            shown = tokens.filter(alike).select(query_row="row", query_token="token", left=0, right=1)
            texts.append(words(shown, side, last, LABEL_WIDTH - 6, MARGIN, color=look[0], fontWeight=look[1]))
    return texts
