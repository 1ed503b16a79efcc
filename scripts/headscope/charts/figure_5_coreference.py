"""Figure 5, coreference: a passage as the head sees it that finds antecedents best."""

import altair as alt
import polars as pl

from headscope.charts.lines import height, lines, with_ends, words
from headscope.charts.theme import BLUE, VERMILLION, notice, titled
from headscope.coreference.names import DIRECTION_NAMES

LINE_WIDTH, LABEL_WIDTH, TEXT_WIDTH = 160, 90, 420
MOST_CHARACTERS = 48  # in a row of the passage
FAINTEST, DARKEST_NOT_PICKED = 0.1, 0.5  # shares of the anaphor's strongest; opacity
RIGHT, WRONG, OTHER = "picked, right", "picked, wrong", "not picked"
LOOKS = {OTHER: ("#8794a3", [1, 0]), WRONG: (BLUE, [5, 3]), RIGHT: (VERMILLION, [1, 0])}
WIDTH_OF_PICKED, WIDTH_OF_OTHERS = 2, 1
HEAD_COLOUR, TEXT_COLOUR = "#000000", "#7a7a7a"
ROWS = {
    "position": pl.UInt16,
    "token": pl.String,
    "anaphor": pl.Boolean,
    "first": pl.String,
    "text": pl.String,
    "number": pl.UInt32,
}
NUMBER = {"fontSize": 9, "color": "#555555"}
BESIDE_NUMBER = 17  # pixels from the end of a line to the word: the number stands between
TEXT = {"fontSize": 11}
TOOLTIP = [
    alt.Tooltip("query_token:N", title="Anaphor"),
    alt.Tooltip("key_token:N", title="Candidate"),
    alt.Tooltip("weight:Q", title="Attention", format=".4f"),
    alt.Tooltip("candidate:N", title="Candidate is"),
    alt.Tooltip("kind:N", title="The head"),
]


def figure_5_coreference(links: pl.DataFrame, passage: pl.DataFrame, model: str, corpus: str) -> alt.LayerChart:
    """
    Lines from each anaphor of a passage (left) to its candidates (right), the picked one coloured: right or wrong.

    Every row of the passage begins with the head word of a mention, so that a line ends where its word stands.

    Parameters
    ----------
    links, passage
        The tables `coreference/links` and `coreference/passage`.

    Source: Clark et al. 2019, figure 5.
    """
    title = "Figure 5: a head that finds antecedents"
    if links.is_empty():
        return titled(notice("There is no passage to show."), title, f"{model} on {corpus}")
    layer, head, direction, accuracy, example, document = links.select(
        "layer", "head", "direction", "accuracy", "example", "document"
    ).row(0)
    picked = links.filter("picked")["antecedent"]
    return titled(
        _passage(links, passage),
        title,
        f"{model} on {corpus}",
        f"Head {layer}-{head} ({DIRECTION_NAMES[direction]}), right on {100 * accuracy:.1f} % of all mentions,",
        f"here on {picked.sum()} of {len(picked)} (document {document}, example {example})",
        "Mentions with the same number are of the same entity. Lines to candidates that",
        f"are not picked: dark as their share of the anaphor's strongest, from {FAINTEST} up.",
    )


def _passage(links: pl.DataFrame, passage: pl.DataFrame) -> alt.LayerChart:
    rows = _rows(passage, {*links["query"], *links["key"]})
    last = rows["row"].max()
    cells = links.rename({"query_word": "query_token", "key_word": "key_token"})
    ends = with_ends(_with_kinds(cells), rows, "anaphor").with_columns(pl.col("darkness").fill_nan(0))
    faded = pl.when("picked").then(1.0).otherwise(DARKEST_NOT_PICKED * pl.col("darkness"))
    drawn = ends.filter((pl.col("darkness") >= FAINTEST) | pl.col("picked")).sort("order", "weight")
    labels, looks = list(LOOKS)[::-1], list(LOOKS.values())[::-1]
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=400, symbolStrokeWidth=2)
    seen = lines(
        drawn.with_columns(darkness=faded),
        last,
        color=alt.Color("kind:N", scale=alt.Scale(domain=labels, range=[look[0] for look in looks]), legend=legend),
        strokeDash=alt.StrokeDash(
            "kind:N", scale=alt.Scale(domain=labels, range=[look[1] for look in looks]), legend=legend
        ),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None),
        tooltip=TOOLTIP,
    )
    return alt.layer(seen, *_words(links, rows, last)).properties(
        width=LINE_WIDTH, height=height(last), view=alt.ViewBackground(stroke=None)
    )


def _with_kinds(cells: pl.DataFrame) -> pl.DataFrame:
    """Add kind, order (of drawing), width, and what the candidate is."""
    right = pl.when("antecedent").then(pl.lit(RIGHT)).otherwise(pl.lit(WRONG))
    return cells.with_columns(kind=pl.when("picked").then(right).otherwise(pl.lit(OTHER))).with_columns(
        order=pl.col("kind").replace_strict({kind: order for order, kind in enumerate(LOOKS)}),
        width=pl.when("picked").then(WIDTH_OF_PICKED).otherwise(WIDTH_OF_OTHERS),
        candidate=pl.when("antecedent").then(pl.lit("an antecedent")).otherwise(pl.lit("no antecedent")),
    )


def _rows(passage: pl.DataFrame, ends: set[int]) -> pl.DataFrame:
    """
    Break the passage into rows: before each head word of a mention, each word where a line ends, and where too long.

    Returns
    -------
    row, text, and of the word that the row begins with: position, token, first (the token with a quote or bracket that
    opens before it), number (of its entity) and anaphor. These are null where a row only goes on.
    """
    numbers, rows, opening = _numbers(passage), [], ""
    for word in passage.to_dicts():
        text = opening + word["text"]
        written = text + " " * word["space_after"]
        opening = ""
        if word["mention_head"] or word["word"] in ends:
            own = {"position": word["word"], "token": word["text"], "anaphor": word["anaphor"]}
            rows.append(own | {"first": text, "text": written, "number": numbers.get(word["entity"])})
        elif not word["space_after"] and not any(sign.isalnum() for sign in text):
            opening = written
        elif rows and len(rows[-1]["text"] + text) <= MOST_CHARACTERS:
            rows[-1]["text"] += written
        else:
            rows.append({"text": written})
    rows[-1]["text"] += opening
    return pl.DataFrame(rows, ROWS).with_row_index("row")


def _numbers(passage: pl.DataFrame) -> dict[int, int]:
    """Number the entities that are mentioned more than once, in the order of their first mentions."""
    entities = passage.filter("mention_head")["entity"].drop_nulls()
    several = [entity for entity in entities.unique(maintain_order=True) if (entities == entity).sum() > 1]
    return {entity: number for number, entity in enumerate(several, start=1)}


def _words(links: pl.DataFrame, rows: pl.DataFrame, last: int) -> list[alt.Chart]:
    """Left the anaphors, coloured as their picks; right the passage; beside both the number of the entity."""
    places = rows.with_columns(left=0, right=1, query_row="row")
    of_line = places.drop_nulls("position")
    anaphors = of_line.filter("anaphor")
    picks = links.filter("picked")
    picked = pl.col("position").is_in(picks["query"].to_list())
    wrong = pl.col("position").is_in(picks.filter(~pl.col("antecedent"))["query"].to_list())
    beside = {"left": {"dx": -BESIDE_NUMBER}, "right": {"dx": BESIDE_NUMBER}}
    texts = [
        (places, "right", "text", TEXT | beside["right"] | {"color": TEXT_COLOUR}),
        (of_line, "right", "first", TEXT | beside["right"] | {"color": HEAD_COLOUR}),
        (of_line.drop_nulls("number"), "right", "number", NUMBER),
        (anaphors.drop_nulls("number"), "left", "number", NUMBER),
        (anaphors.filter(~picked), "left", "token", TEXT | beside["left"] | {"color": TEXT_COLOUR}),
        (anaphors.filter(picked & ~wrong), "left", "token", TEXT | beside["left"] | {"color": LOOKS[RIGHT][0]}),
        (anaphors.filter(wrong), "left", "token", TEXT | beside["left"] | {"color": LOOKS[WRONG][0]}),
    ]
    limits = {"left": LABEL_WIDTH, "right": TEXT_WIDTH}
    return [
        words(table.select("left", "right", "query_row", query_token=text), side, last, limits[side], **looks)
        for table, side, text, looks in texts
        if len(table)
    ]
