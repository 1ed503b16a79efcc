"""Figure 6: which heads are alike, as a map coloured by behaviour and by layer."""

from typing import NamedTuple

import altair as alt
import numpy as np
import polars as pl

from headscope.behaviours import BEHAVIOURS, NO_BEHAVIOUR
from headscope.charts.labels import place_labels
from headscope.charts.theme import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, layer_colour, titled, what_was_run
from headscope.description import Description

WIDTH, FLATTEST, MARGIN = 440, 0.6, 0.1  # pixels; the height and the room around the points as shares
INK, RING = "#222222", 160  # of the named heads; square pixels
COLOURS = {
    "next": SKY,
    "previous": PURPLE,
    "broad": GREEN,
    "cls": BLUE,
    "sep": VERMILLION,
    "punctuation": ORANGE,
    NO_BEHAVIOUR: "#b0b0b0",
}
SHAPES = ("triangle-right", "triangle-left", "circle", "square", "diamond", "triangle-up", "circle")


class Frame(NamedTuple):
    """The part of the plane that a panel shows, a nat as long across as up."""

    left: float
    bottom: float
    nats: float
    height: float

    @classmethod
    def around(cls, positions: np.ndarray) -> "Frame":
        """Return the frame around positions (point, 2)."""
        low, high = positions.min(0), positions.max(0)
        spans = (high - low) * (1 + 2 * MARGIN)
        nats = max(spans) or 1.0
        share = max(FLATTEST, spans[1] / nats)
        left, bottom = (low + high - [nats, nats * share]) / 2
        return cls(left, bottom, nats, WIDTH * share)

    def axes(self, x: str = "x", y: str = "y") -> tuple[alt.X, alt.Y]:
        """Return both axes, for these columns."""
        spans = (self.left, self.nats), (self.bottom, self.nats * self.height / WIDTH)
        names = ("First dimension (nats)", "Second dimension (nats)")
        return tuple(
            channel(
                f"{column}:Q",
                title=name,
                axis=alt.Axis(tickCount=6),
                scale=alt.Scale(domain=[low, low + span], nice=False, zero=False),
            )
            for channel, column, name, (low, span) in zip((alt.X, alt.Y), (x, y), names, spans, strict=True)
        )

    def to_pixels(self, positions: np.ndarray) -> np.ndarray:
        """Turn positions into pixels from the upper left corner."""
        pixels = (positions - [self.left, self.bottom]) * WIDTH / self.nats
        return np.stack([pixels[:, 0], self.height - pixels[:, 1]], -1)

    def to_nats(self, pixels: np.ndarray) -> np.ndarray:
        """Undo `to_pixels`."""
        upwards = np.stack([pixels[:, 0], self.height - pixels[:, 1]], -1)
        return upwards * self.nats / WIDTH + [self.left, self.bottom]


def figure_6(
    mapped: pl.DataFrame,
    heads: pl.DataFrame,
    uniform: pl.DataFrame,
    tests: pl.DataFrame,
    named: pl.DataFrame,
    described: Description,
    corpus: str,
) -> alt.HConcatChart:
    """
    Two panels of one map: what each head does, and which layer it is of.

    Parameters
    ----------
    mapped, heads, uniform, tests
        The tables `clusters/map`, `surface/heads`, `surface/uniform` and `clusters/tests`.
    named
        The heads to name, as `headscope.behaviours.singled_out` returns them; may be empty.

    Source: Clark et al. 2019, figure 6.
    """
    keys, labels = ["layer", "head"], _labels(described)
    points = (
        mapped.join(heads.select(*keys, *BEHAVIOURS), keys, maintain_order="left")
        .join(named, keys, "left", maintain_order="left")
        .with_columns(name=pl.format("{}-{}", *keys), behaviour=pl.col("behaviour").replace_strict(labels))
    )
    frame = Frame.around(points.select("x", "y").to_numpy())
    base = alt.Chart(points).encode(*frame.axes(), tooltip=_tooltip(points, described))
    marks = {"filled": True, "size": 80, "opacity": 0.9, "stroke": "white", "strokeWidth": 0.7}
    panels = {
        "By what the head does": base.mark_point(**marks).encode(*_by_behaviour(points, labels)),
        "By layer": base.mark_point(**marks, shape="circle").encode(
            layer_colour(points["layer"].max(), orient="bottom", direction="horizontal", gradientLength=200)
        ),
    }
    names = _names(points, frame)
    drawn = [
        alt.layer(panel, *names).properties(title=title, width=WIDTH, height=frame.height)
        for title, panel in panels.items()
    ]
    return titled(
        alt.hconcat(*drawn, spacing=36).resolve_scale(color="independent", shape="independent"),
        "Figure 6: which heads are alike",
        what_was_run(described.name, corpus, uniform),
        *_in_words(tests.row(0, named=True)),
    )


def _labels(described: Description) -> dict[str, str]:
    """What a reader sees of each behaviour."""
    return {
        "next": "next token",
        "previous": "previous token",
        "broad": "broad",
        "cls": described.token("cls"),
        "sep": described.token("sep"),
        "punctuation": ". or ,",
        NO_BEHAVIOUR: "none of these",
    }


def _by_behaviour(points: pl.DataFrame, labels: dict[str, str]) -> tuple[alt.Color, alt.Shape]:
    looks = {
        labels[behaviour]: (colour, shape) for (behaviour, colour), shape in zip(COLOURS.items(), SHAPES, strict=True)
    }
    known = [label for label in looks if label in points["behaviour"]]
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal", columns=4)
    colours, shapes = zip(*(looks[label] for label in known), strict=True)
    return (
        alt.Color("behaviour:N", scale=alt.Scale(domain=known, range=colours), legend=legend),
        alt.Shape("behaviour:N", scale=alt.Scale(domain=known, range=shapes), legend=legend),
    )


def _tooltip(points: pl.DataFrame, described: Description) -> list[alt.Tooltip]:
    titles = {
        "to_next": "To the next token",
        "to_previous": "To the previous token",
        "to_cls": f"To {described.token('cls')}",
        "to_sep": f"To {described.token('sep')}",
        "to_punctuation": "To . or ,",
        "entropy": "Entropy (nats)",
    }
    shown = [alt.Tooltip("name:N", title="Head"), alt.Tooltip("behaviour:N", title="Looks at")]
    if points["finding"].count():
        shown.append(alt.Tooltip("finding:N", title="Singled out for"))
    measured = {measure: title for measure, title in titles.items() if points[measure].count()}
    return shown + [alt.Tooltip(f"{measure}:Q", title=title, format=".3f") for measure, title in measured.items()]


def _names(points: pl.DataFrame, frame: Frame) -> list[alt.Chart]:
    """The heads that other analyses single out: a ring, a name beside it, and a line between."""
    named = points.drop_nulls("finding").with_columns(text=pl.format("{} {}", "name", "finding"))
    if named.is_empty():
        return []
    every = points.select("x", "y").to_numpy()
    places = place_labels(
        frame.to_pixels(every),
        frame.to_pixels(named.select("x", "y").to_numpy()),
        named["text"].to_list(),
        (WIDTH, frame.height),
    )
    marks = [named.select("x", "y", "text")]
    for end, pixels in zip(("label", "from", "to"), places, strict=True):
        marks.append(pl.DataFrame(frame.to_nats(pixels), [f"{end}_x", f"{end}_y"]))
    base = alt.Chart(pl.concat(marks, how="horizontal"))
    names = base.encode(*frame.axes("label_x", "label_y"), alt.Text("text:N"))
    return [
        base.mark_rule(color=INK, strokeWidth=0.8).encode(*frame.axes("from_x", "from_y"), x2="to_x", y2="to_y"),
        base.mark_point(shape="circle", size=RING, color=INK, strokeWidth=1.4, opacity=1).encode(*frame.axes()),
        names.mark_text(fontSize=11, stroke="white", strokeWidth=3.5),
        names.mark_text(fontSize=11, color=INK),
    ]


def _in_words(tests: dict) -> list[str]:
    lines = [
        "Each point is a head; the closer two stand, the smaller the Jensen-Shannon divergence of their attention "
        f"(stress {tests['stress']:.3f})."
    ]
    if tests["p_value"] is not None:
        lines.append(
            f"Mean divergence of two heads of one layer {tests['within']:.3f}, of different layers "
            f"{tests['between']:.3f} nats (one-sided permutation test, p = {tests['p_value']:.2g})."
        )
    return lines
