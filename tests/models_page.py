"""docs/models.md, written from what `architectures.py` declares and `test_architectures.py` finds."""

import json
import tempfile
from pathlib import Path

from architectures import ARCHITECTURES, IS_CAUSAL, NO_MASK, NO_MLM, NO_NORMS, REFUSED, Architecture

from headscope.refusals import REASONS as BY_NAME
from headscope.refusals import why_no_maps

HEAD = """\
# Which models

A model is taken as it is: an architecture counts here when `tests/test_architectures.py` takes a small checkpoint of
it, of random weights and with a tokenizer of its own kind, from the folder to the tables. This page is written by
`make docs` from what those tests assert, and a test fails where the two differ.

Of every architecture in the table the tests know that

- the maps are the softmaxes that its layers compute, in their order, and its output depends on them (XLNet returns
  copies);
- layers and heads are counted as they run, whatever the config says;
- weights are zero outside of what a layer sees, and `surface/uniform` takes the number of keys that it does see;
- what transformers computes by default (`sdpa`, where the architecture has it) has the same hidden states;
- examples are never padded: a batch holds examples of one length, gives the maps of each one alone but for rounding,
  and the side on which the tokenizer pads changes nothing.

## What works

Text is pairs of paragraphs, words are sentences that are split into words, each owning its tokens; probes are those
of Table 3 and the structural probe: that they get attention between words, word vectors and hidden states. *Fast* and
*Python* are the kinds of tokenizer that are tried; most architectures have no other than a fast one in transformers
5.
"""
CAUSAL = """\
**Causal models.** A token sees only itself and those before it. Maps have zeros above the diagonal; `to_next` is null
in `surface/heads`, for there is nothing to measure, while `to_previous` is there. In syntax, `dependent_to_head`
finds only heads to the left of their dependent and `head_to_dependent` only dependents to the left of their head; a
word that sees no other picks none. In coreference, an anaphor finds antecedents, but no earlier mention attends to
it. The totals that accuracies are divided by are those of any other model: what a head cannot see counts as a miss,
and Tables 1 and 2 say so below.

**Windowed layers.** A token sees those within the window of its layer, on both sides or, in causal models, before it.
Their uniform entropy is smaller than that of a layer that sees all; a word out of reach is never picked.

**Attention sinks.** `to_first` in `surface/heads` is the attention to the first token of an example, whatever it is:
the mean over all queries, the first one itself and those that a window keeps from it among them. In models with
`[CLS]` in front it equals `to_cls`; figure 2 draws it wherever it does not (no begin token, one before each paragraph
of a pair, or a cls at the end).
"""
REFUSED_HEAD = """\
## What is refused

These are refused by their config.json, before any weights are fetched or loaded, in one sentence that ends so:
"""
REFUSED_TAIL = """\
Any other model is judged by what it returns: one without maps, with maps that are not square, with layers that have
none, or with rows that do not sum to one is refused with the reason; one whose layers see anything but all tokens,
those before, or a window, likewise.
"""
REASONS = {
    "a": "It is causal, and the gradients are those of a masked language model's loss.",
    "b": "Its tokenizer has no mask token.",
    "c": "transformers has no masked language model of it alone, without a decoder.",
    "d": "Its value and output projections are not among those that `headscope.norms.architectures` names; where they "
    "are linear maps of their own, a line there adds them.",
}
SENTENCES = {"a": IS_CAUSAL, "b": NO_MASK, "c": NO_MLM, "d": NO_NORMS}
COLUMNS = ("Architecture", "For example", "Class", "A pair is", "A token sees", "Load, text, words", "Surface")
COLUMNS += ("Syntax", "Divergence", "Probes", "Gradients", "Norms", "Notes")


def models_page() -> str:
    """The page in Markdown."""
    rows = [_row(architecture) for architecture in ARCHITECTURES]
    reasons = "\n".join(f"- ({letter}) {reason}" for letter, reason in REASONS.items())
    parts = [HEAD, _table(COLUMNS, rows), f"Not computed, with the reason in the log and in the table:\n\n{reasons}\n"]
    parts += [
        CAUSAL,
        REFUSED_HEAD,
        _table(("Architecture", "For example", "And, by `model_type`", "Reason"), _refused()),
        REFUSED_TAIL,
    ]
    return "\n".join(parts)


def _table(columns, rows) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _row(architecture: Architecture) -> list[str]:
    kinds = "fast, Python" if architecture.in_python else "fast"
    return [
        architecture.family,
        ", ".join(f"`{name}`" for name in architecture.hub),
        f"`{architecture.network}`",
        f"`{architecture.pair}`",
        _seen(architecture),
        f"yes ({kinds})",
        "yes, no `to_next`" if architecture.causal else "yes",
        "yes, to the left" if architecture.causal else "yes",
        "yes",
        "yes",
        _or_reason(architecture.gradients),
        _or_reason(architecture.norms),
        architecture.note,
    ]


def _seen(architecture: Architecture) -> str:
    side = "before it" if architecture.causal else "all"
    windowed = sum(view.reach is not None for view in architecture.views)
    if not windowed:
        return side
    return f"{side}, within a window" if windowed == len(architecture.views) else f"{side}; in some layers a window"


def _or_reason(sentence: str | None) -> str:
    if sentence is None:
        return "yes"
    start_and_end = {letter: template.split("{}") for letter, template in SENTENCES.items()}
    (letter,) = (
        letter
        for letter, (start, end) in start_and_end.items()
        if sentence.startswith(start) and sentence.endswith(end)
    )
    return f"no ({letter})"


def _refused() -> list[list[str]]:
    """A row for each reason: the architectures that the tests refuse for it, and others by name alone."""
    tested, others = {}, {}
    for refused in REFUSED:
        with tempfile.TemporaryDirectory() as folder:
            refused.config().save_pretrained(folder)
            config = json.loads((Path(folder) / "config.json").read_text("utf-8"))
        tested.setdefault(why_no_maps(config), []).append((refused, config["model_type"]))
    known = {kind for rows in tested.values() for _, kind in rows}
    for kind, reason in BY_NAME.items():
        if kind not in known:
            others.setdefault(reason, []).append(kind)
    return [
        [
            ", ".join(entry.family for entry, _ in tested.get(reason, ())),
            ", ".join([f"`{entry.hub}`" for entry, _ in tested.get(reason, ())]),
            ", ".join(f"`{kind}`" for kind in sorted(others.get(reason, ()))),
            reason,
        ]
        for reason in dict.fromkeys([*tested, *others])
    ]


if __name__ == "__main__":
    print(models_page(), end="")
