"""What the report is made of: examples, facts, measures, and the page itself for any part of a run."""

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from checkpoints import REPOSITORY
from test_report_sentences import MEASURES, described

from headscope.charts.explorer import views
from headscope.charts.theme import page, specification
from headscope.config import complete
from headscope.encoding import ENCODED, Encoded, Kind
from headscope.errors import InputError
from headscope.report.examples import counts_of, examples_to_show, quantised, shown_example
from headscope.report.explorer import explorer_data
from headscope.report.facts import jobs, shareable, time_of, time_part
from headscope.report.machine import machine, versions
from headscope.report.packing import packed
from headscope.report.page import Run, report, tight
from headscope.report.results import Results, Shown
from headscope.report.shown import MOST_BYTES, MOST_ROWS, anchor, as_part, carried

RULES = REPOSITORY / "workflow" / "rules"


def encoded(*sizes):
    rows = [
        (number, f"a.txt:{number}", number == 1, [0] * size, [0] * size, None, ["t"] * size, [Kind.TEXT] * size)
        for number, size in enumerate(sizes, start=1)
    ]
    return Encoded(pl.DataFrame(rows, ENCODED, orient="row"), "corpus", "tokenizer")


@pytest.mark.parametrize(
    ("sizes", "count", "chosen"),
    [
        ((5, 8, 9, 8, 30), 3, [2, 3, 4]),  # the longest that fit
        ((5, 40, 30, 30), 3, [1, 3, 4]),  # then the shortest that do not
        ((9, 9, 9), 2, [1, 2]),
        ((9,), 3, [1]),
        ((9,), 0, []),
        ((), 3, []),
    ],
)
def test_the_longest_examples_that_fit_are_shown(sizes, count, chosen):
    assert examples_to_show(encoded(*sizes), count, most=10) == chosen


def test_maps_are_quantised_to_the_nearest_of_256_steps():
    weights = np.array([0, 0.5, 1, 1.0001, 0.001, 1 / 255], dtype=np.float16)
    assert quantised(weights).tolist() == [0, 128, 255, 255, 0, 1]
    every = np.linspace(0, 1, 1001, dtype=np.float32)
    assert np.abs(quantised(every) / 255 - every).max() <= 1 / 510 + 1e-6


def test_a_long_example_of_words_shows_its_first_and_of_tokens_those_around_the_separator():
    kinds = [Kind.CLS, *[Kind.TEXT] * 6, Kind.SEP, *[Kind.TEXT] * 3, Kind.SEP]
    example = {"example": 7, "where": "a:1", "kinds": kinds, "tokens": list("cabcdefsghis")}
    weights = np.arange(2 * 3 * 12 * 12, dtype=np.float32).reshape(2, 3, 12, 12) / 1000
    words = shown_example(example, weights, 4, of_words=True)
    assert (words["rows"], words["left_out"]) == (list("cabc"), 8)
    cells = np.frombuffer(words["weights"], np.uint8).reshape(2, 3, 4, 4)
    assert (cells == quantised(weights[..., :4, :4])).all()
    tokens = shown_example(example, weights, 6, of_words=False)
    assert tokens["rows"] == list("cefsgs")
    assert shown_example(example, weights, 99, of_words=True)["left_out"] == 0


def test_counts_are_of_all_examples():
    assert counts_of(encoded(5, 7)) == {
        "examples": 2,
        "truncated": 1,
        "tokens": 12,
        "rows": 12,
        "fingerprint": "corpus",
    }


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ("/home/someone/models/bert", "…/bert"),
        ("/home/someone/a.txt:12", "…/a.txt:12"),
        ("~/bert", "…/bert"),
        (r"C:\Users\someone\a.txt", "…/a.txt"),
        ("config/demo/text.txt:3", "config/demo/text.txt:3"),
        ("https://example.org/a.txt", "https://example.org/a.txt"),
        ("https://me:secret@example.org/a@b.txt", "https://example.org/a@b.txt"),
        ("https://me:se@cret@example.org", "https://example.org"),
        ("https://example.org/a.txt?token=secret", "https://example.org/a.txt?…"),
        ("file:///home/someone/a.txt", "…/a.txt"),
        ("FILE:a/b.txt", "…/b.txt"),
        ("git+file:///home/someone/a", "…/a"),
        ("../../home/someone/a.txt:12", "…/a.txt:12"),
        ("data/../../someone/a.txt", "…/a.txt"),
        (r"..\someone\a.txt", "…/a.txt"),
        ("~someone/bert", "…/bert"),
        ("two..dots/a.txt", "two..dots/a.txt"),
        ("package:gt/model", "package:gt/model"),
        ({"path": ["/a/b", 3, None]}, {"path": ["…/b", 3, None]}),
    ],
)
def test_a_path_of_this_machine_is_not_shared(found, shown):
    assert shareable(found) == shown


def test_times_are_read_from_benchmarks(tmp_path):
    lines = {
        "count/tiny/few/1-of-2": "1.5\t100.0",
        "count/tiny/few/2-of-2": "2.5\t90",
        "read/few": "9.0\tNA",
        "count/tiny/other/1-of-1": "4.0\t-",
        # of another config that was run in the same place: its shards, a model, a corpus, a rule, a path
        "count/tiny/few/1-of-3": "64\t-",
        "count/gone/few/1-of-2": "64\t-",
        "read/gone": "64\t-",
        "gone/few": "64\t-",
        "read/tiny/few": "64\t-",
    }
    benchmarked = {"count": ["model", "corpus", "shard"], "read": ["corpus"]}
    named = {"models": ["tiny"], "corpora": {"few": 2, "other": 1}, "series": []}
    for name, line in lines.items():
        path = tmp_path / f"{name}.benchmark.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tmax_rss\n{line}\n", "utf-8")
    done = jobs(tmp_path, benchmarked, named)
    assert time_of(done, "tiny", "few") == {"Time of its jobs": "4 s, as far as their logs are here"}
    assert time_of(done, "tiny", "nothing") == {}
    assert time_part(done).rows == [["read", "1", "9.0", "9.0", "–"], ["count", "3", "8.0", "4.0", "100"]]
    assert jobs(tmp_path / "nowhere", benchmarked, named) == []
    assert time_part([]) is None


def test_the_machine_is_a_class_and_has_no_name():
    import platform

    facts = machine()
    assert {"System", "Cores", "Memory"} <= facts.keys()
    assert platform.node() not in " ".join(facts.values()).split()
    assert {"python", "torch", "transformers", "polars"} <= versions().keys()


def test_packed_data_are_no_markup_and_the_same_each_time():
    text = "</script>“ä” &amp;"
    assert packed(text) == packed(text)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed(text))
    assert gzip.decompress(base64.b64decode(packed(text))).decode("utf-8") == text


def test_ids_of_different_names_differ():
    names = ["a/b", "a-b", "a@b", "a b", "a_b"]
    assert len({anchor(name) for name in names}) == len(names)
    assert anchor("minilm/demo") == "minilm-2f-demo"


def test_a_table_shows_what_is_missing():
    table = pl.DataFrame({"name": ["<b>", None], "share": [-0.123456, float("nan")], "yes": [True, None]})
    part = as_part(table, "t")
    assert part.rows == [["<b>", "−0.1235", "yes"], ["–", "–", "–"]]
    assert [column.is_text for column in part.columns] == [True, False, False]


def test_of_a_large_table_the_page_carries_the_first_rows():
    table = pl.DataFrame({"number": range(MOST_ROWS + 1)})
    csv, rows = carried(table)
    assert (rows, csv.splitlines()[-1]) == (MOST_ROWS, str(MOST_ROWS - 1))
    assert carried(table[1:])[1] == MOST_ROWS, "the whole of it"
    wide = pl.DataFrame({"text": ["ä" * 499_999] * 5})  # 1 MB a row with its line end, behind one header of 5
    csv, rows = carried(wide)
    assert rows == 1
    assert len(csv.encode()) == len("text\n") + 2 * 499_999 + 1 <= MOST_BYTES
    assert carried(pl.DataFrame({"text": ["a" * MOST_BYTES]})) == ("text\n", 0), "a row that is too long"
    assert carried(table.clear()) == ("number\n", 0)


def large_run(layers=24, heads=16):
    """The tables of a text corpus of a model as large as they come, filled with what hardly packs."""
    drawn = np.random.default_rng(0)
    layer, head = (1 + part.ravel().astype(np.uint16) for part in np.indices((layers, heads)))
    named = {"layer": layer, "head": head}
    pairs = {name: np.repeat(part, layers * heads) for name, part in named.items()}
    pairs |= {f"other_{name}": np.tile(part, layers * heads) for name, part in named.items()}
    measures = (*MEASURES, "to_first", "sep_to_sep", "other_to_sep", "entropy_from_cls")
    columns = {f"{name}{end}": drawn.random(layers * heads) for name in measures for end in ("", "_se")}
    places = {"x": drawn.random(layers * heads), "y": drawn.random(layers * heads)}
    scored = [(relation, way) for relation in range(60) for way in ("dependent_to_head", "head_to_dependent")]
    each = {name: np.tile(part, len(scored)) for name, part in named.items()}
    each |= {"relation": np.repeat([f"relation-{number}" for number, _ in scored], layers * heads).tolist()}
    each |= {"direction": np.repeat([way for _, way in scored], layers * heads).tolist()}
    syntax = pl.DataFrame(each | {"accuracy": drawn.random(len(scored) * layers * heads)}).with_columns(
        scheme=pl.lit("ud"), total=1000, correct=(1000 * pl.col("accuracy")).cast(pl.Int64)
    )
    best = syntax.sort("accuracy").unique("relation", keep="last", maintain_order=True).drop("correct")
    numbers = {"ci_low": 0.9, "ci_high": 0.99, "held_out_accuracy": 0.9, "baseline_accuracy": 0.2, "baseline_offset": 1}
    tests = {"within": [0.1], "between": [0.2], "p_value": [0.01]}
    return {
        "tiny/few/surface/heads": pl.DataFrame(named | columns),
        "tiny/few/surface/uniform": pl.DataFrame({"layer": range(1, layers + 1)}).with_columns(entropy=pl.lit(5.0)),
        "tiny/few/clusters/divergence": pl.DataFrame(pairs | {"divergence": drawn.random(len(pairs["layer"]))}),
        "tiny/few/clusters/map": pl.DataFrame(named | places).with_columns(behaviour=pl.lit("other")),
        "tiny/few/clusters/tests": pl.DataFrame(tests),
        "tiny/trees/syntax/heads": syntax,
        "tiny/trees/syntax/table1": best.with_columns(pl.lit(value).alias(name) for name, value in numbers.items()),
    }


def test_the_page_of_a_large_model_stays_below_15_mb(results):
    found = results(**large_run())
    pairs = found.table("tiny/few/clusters/divergence").height
    assert pairs == 384**2
    drawn = np.random.default_rng(1)
    maps = {"example": 1, "where": "a", "rows": ["a"] * 24, "left_out": 0, "weights": drawn.bytes(384 * 24 * 24)}
    of_large = replace(described(), layers=24, heads=16)
    runs = [shown(found, corpus, kind)._replace(described=of_large) for corpus, kind in
            (("few", "text"), ("trees", "treebank"))]  # fmt: skip
    text = whole_page(found, runs, examples=pl.DataFrame([maps] * 3))
    assert len(text.encode("utf-8")) < 12e6, "figures and the library that draws them are not in it: 3 MB are left"
    note = f"The first 20,000 of {pairs:,} rows; results/tiny/few/clusters/divergence.csv has all of them."
    assert note in text
    assert 'data-name="tiny-few-clusters-divergence-first-20000-rows.csv"' in text


def test_the_name_of_a_head_is_not_broken():
    assert tight("Head 3-1 finds 72 %") == "Head 3\u20111 finds 72\u00a0%"
    assert tight("demo-2-a") == "demo-2-a"


def test_a_figure_is_found_again_in_its_page():
    spec = json.dumps({"title": "</script><b>"})
    assert json.loads(specification(page("t", spec, "let a = 1;"))) == json.loads(spec)
    with pytest.raises(InputError, match="without its specification"):
        specification("<html></html>")


def test_every_view_compiles_and_carries_no_data():
    vl_convert = pytest.importorskip("vl_convert")
    for name, view in views().items():
        assert vl_convert.vegalite_to_vega(view)["data"], name
        assert "datasets" not in view, name


@pytest.fixture
def results(tmp_path):
    """A function that writes tables below `results/` and opens them."""
    root = tmp_path / "results"

    def write(**tables):
        for name, table in tables.items():
            path = root / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table.write_parquet(path)
        return Results(root, sorted(root.rglob("*.parquet")))

    yield write
    shutil.rmtree(root, ignore_errors=True)


def shown(results, corpus, kind):
    return Shown(described(), corpus, kind, results, "stanford", "mentions", 2)


def syntax_tables():
    both = [
        (relation, 1, head, direction, correct, 10, correct / 10)
        for relation, right in {"all": (3, 4), "dobj": (7, 2)}.items()
        for head, correct in enumerate(right, start=1)
        for direction in ("dependent_to_head", "head_to_dependent")
    ]
    columns = ["relation", "layer", "head", "direction", "correct", "total", "accuracy"]
    heads = pl.DataFrame(both, columns, orient="row").with_columns(scheme=pl.lit("ud"))
    best = heads.filter(direction="dependent_to_head").sort("accuracy").unique("relation", keep="last")
    numbers = {"ci_low": 0.1, "ci_high": 0.9, "held_out_accuracy": 0.3, "baseline_accuracy": 0.2, "baseline_offset": 1}
    table1 = best.drop("correct").with_columns(pl.lit(value).alias(name) for name, value in numbers.items())
    return {"tiny/trees/syntax/heads": heads, "tiny/trees/syntax/table1": table1.sort("relation")}


def test_the_explorer_knows_every_head_by_every_measure(results):
    run = shown(results(**syntax_tables()), "trees", "treebank")
    row = {"example": 1, "where": "a", "rows": ["a", "b"], "left_out": 0, "weights": bytes(range(8))}
    data = explorer_data([run], {"trees": pl.DataFrame([row])})
    measures = {measure["name"]: measure for measure in data["measures"]}
    assert list(measures) == ["trees/syntax/heads/ud/all", "trees/syntax/heads/ud/dobj"]
    assert measures["trees/syntax/heads/ud/dobj"]["values"] == [0.7, 0.2]
    assert measures["trees/syntax/heads/ud/dobj"]["notes"][0] == "7 of 10, dependent to head", "ties: by name"
    assert [relation["title"] for relation in data["relations"]] == ["direct object (dobj)", "all relations"]
    assert {relation["measure"] for relation in data["relations"]} == set(measures)
    assert (data["relations"][0]["layer"], data["relations"][0]["head"]) == (1, 1)
    (example,) = data["corpora"][0]["examples"]
    assert list(base64.b64decode(example["weights"])) == list(range(8))
    json.dumps(data, allow_nan=False)


def test_a_measure_that_a_model_does_not_have_is_left_out(results):
    columns = {"layer": [1, 1], "head": [1, 2], "entropy": [1.0, float("nan")], "to_sep": [None, None]}
    others = ("to_previous", "to_next", "to_self", "to_cls", "to_punctuation", "to_first", "sep_to_sep")
    columns |= {name: [0.5, 0.25] for name in (*others, "other_to_sep", "entropy_from_cls")}
    run = shown(results(**{"tiny/few/surface/heads": pl.DataFrame(columns)}), "few", "text")
    data = explorer_data([run], {})
    titles = {measure["title"]: measure["values"] for measure in data["measures"]}
    assert titles["entropy (nats)"] == [1.0, None]
    assert "attention to [SEP]" not in titles
    assert (data["relations"], data["corpora"][0]["map"], data["corpora"][0]["examples"]) == ([], None, [])


def whole_page(found, runs, captions=None, examples=None):
    corpora = [
        {"name": "few", "kind": "text", "path": "/secret/few.txt"},
        {"name": "trees", "kind": "treebank", "path": "t"},
    ]
    settings = {"corpora": [corpus | {"url": None, "format": "<f>"} for corpus in corpora]}
    settings |= {"syntax": {"scheme": "stanford", "rare": 2}, "coreference": {"candidates": "mentions"}}
    counted = {"examples": 2, "truncated": 0, "tokens": 9, "rows": 9, "fingerprint": "f"}
    made = [Run(run, pl.DataFrame() if examples is None else examples, counted) for run in runs]
    about = {"machine": {"Cores": "2"}, "versions": {"torch": "2"}}
    return report(made, [described()], found, settings, captions or {}, about, [], "let library = 1;")


def test_a_page_of_any_part_of_a_run_is_made(results):
    found = results(**syntax_tables())
    text = whole_page(found, [shown(found, "few", "text"), shown(found, "trees", "treebank")])
    assert "Head 1\u20111 finds the head word of a direct object (dobj) in 70\u00a0% of ten cases" in text
    assert "There are no norms" in text
    found_first = ["What was found in tiny", "<nav", 'id="explorer"', 'id="run-tiny-2f-few"', 'id="what-was-run"']
    places = [text.index(part) for part in found_first]
    assert places == sorted(places), "what was found comes first, what was run last"
    findings = text[places[0] : places[1]]
    assert re.findall(r"<li>(Head [^ ]+ finds the head word of [^ ]+ [^ ]+)", findings) == [
        *("Head 1\u20111 finds the head word of a direct", "Head 1\u20112 finds the head word of any dependent"),
    ]
    assert '<a class="where" href="#tiny-2f-trees-syntax">trees</a>' in findings
    assert 'id="tiny-2f-trees-syntax"' in text
    assert "Beside the paper" not in text, "no claims were judged"
    assert "/secret" not in text
    assert "&lt;f&gt;" in text
    assert text.count("let library = 1;") == 1
    empty = whole_page(results(), [])
    assert 'id="explorer"' not in empty


def test_what_is_of_several_models_or_steps_has_its_own_section(results, tmp_path):
    surface = {"model": ["tiny", "other"], "measure": ["to_sep"] * 2, "heads": [2, 2], "mean": [0.5, 0.25]}
    best = {"step": [0, 9], "scheme": ["ud"] * 2, "relation": ["all"] * 2, "total": [7, 7], "accuracy": [0.1, 0.5]}
    best |= {"layer": [1, 1], "head": [2, 1]}
    found = results(
        **{"compare/few/surface": pl.DataFrame(surface), "series/run/trees/syntax/best": pl.DataFrame(best)}
    )
    figures = {
        "compare/few/tiny/other/figures/compare_divergence": "A & B",
        "series/run/trees/figures/series_syntax": "C",
    }
    paths = [tmp_path / "results" / f"{name}.html" for name in figures]
    for path, title in zip(paths, figures.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(title, json.dumps({"title": {"text": title}}), "let a = 1;"), "utf-8")
    captions = {"compare_divergence": "{{ snakemake.wildcards.model }} and {{ snakemake.wildcards.other }}"}
    found = Results(tmp_path / "results", [*(tmp_path / "results").rglob("*.parquet"), *paths])
    text = whole_page(found, [], captions)
    for heading in ("Models on few", "Training of run on trees"):
        assert f">{heading}</h3>" in text
    assert "a head of tiny gives it 50.0\u00a0% on average, one of other 25.0\u00a0%." in text
    assert "the best head finds 10\u00a0% at step 0 (1\u20112) and 50\u00a0% at step 9 (1\u20111)." in text
    assert "<figcaption>tiny and other</figcaption>" in text
    assert 'aria-label="A &amp; B"' in text
    assert 'data-name="compare-few-surface.csv"' in text
    assert 'data-name="series-run-trees-syntax-best.csv"' in text


def test_the_page_asks_nothing_of_another_machine(results):
    text = whole_page(results(), [shown(results(), "trees", "treebank")])
    assert "default-src 'none'" in text
    markup = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)""", markup)
    assert addresses
    assert all(address.startswith("#") for address in addresses)


def test_each_figure_and_table_of_snakemakes_report_has_a_caption_and_a_category():
    text = "\n".join(path.read_text("utf-8") for path in sorted(RULES.glob("*.smk")))
    captions = re.findall(r"""caption="../report/(\w+)\.rst",\s+category="[^"]+",""", text)
    drawn = re.findall(r"""drawing\(\s*"(\w+)",\s*"[^"]+",\s*"[^"]+",?""", text)
    files = {path.stem for path in (REPOSITORY / "workflow" / "report").glob("*.rst")}
    assert files == {*captions, *drawn}
    assert len(re.findall(r"\breport\(\n", text)) == len(captions) + 1, "and that of drawing()"


def test_the_config_has_defaults_for_the_report():
    config = {"models": [{"name": "m", "source": str(REPOSITORY)}], "corpora": []}
    corpus = {"name": "c", "kind": "text", "path": str(REPOSITORY / "config" / "demo" / "text.txt")}
    assert complete(config | {"corpora": [corpus]})["report"] == {"examples": 3, "tokens": 24}
    with pytest.raises(InputError, match=r"report\.tokens: expected 64 or less, found 100"):
        complete(config | {"corpora": [corpus], "report": {"tokens": 100}})
