"""
A whole report of a tiny model on hostile corpora of all three kinds, made by the scripts in this process.

As the rules would, but without Snakemake, whose jobs each begin with an interpreter and its imports.
"""

import importlib
import os
from contextlib import contextmanager
from pathlib import Path

from checkpoints import REPOSITORY, save_bert

from headscope.config import complete

FORMULA, COLOURED = "=cmd|x(A1)!", "\N{ESCAPE}[31mred"
HOSTILE, QUOTED = "</script><script>x()//", "\"'><img/src=x>"
TEXT, TREES, DOCUMENTS = "few", "trees", "documents"
KINDS = {TEXT: "text", TREES: "treebank", DOCUMENTS: "coreference"}
LOADING = {
    "dtype": "float32",
    "attention": "eager",
    "allow_pickle": False,
    "allow_remote_code": False,
    "random_init": None,
}
SENTENCES, STORIES = 12, 3
STORED = {"live": None, "shard": "1-of-1"}  # maps are read from the one shard


def job(script, **arguments):
    """Run the main function of a script."""
    for value in arguments.values():
        for path in [value] if isinstance(value, str) else value if isinstance(value, list) else []:
            if isinstance(path, str) and "/" in path:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
    importlib.import_module(script).main(**arguments)


@contextmanager
def inside(folder):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def write_corpora(folder: Path):
    """Text, trees and documents of the demo whose words are markup, a spreadsheet's formula, a terminal's colour."""
    demo = REPOSITORY / "config" / "demo"
    paragraphs = (demo / "text.txt").read_text("utf-8").split("\n\n")[0].splitlines()[:4]
    (folder / "few.txt").write_text("\n".join([f"{HOSTILE} {paragraphs[0]}", *paragraphs[1:]]) + "\n", "utf-8")
    trees = (demo / "treebank.conllu").read_text("utf-8").split("\n\n")[:SENTENCES]
    trees[0] = with_words(trees[0], (HOSTILE, QUOTED))
    (folder / "trees.conllu").write_text("\n\n".join(trees) + "\n\n", "utf-8")
    stories = (demo / "coreference.conllu").read_text("utf-8").split("# newdoc")[1 : STORIES + 1]
    stories[0] = with_words(stories[0], (FORMULA, COLOURED))
    (folder / "documents.conllu").write_text("".join(f"# newdoc{story}" for story in stories), "utf-8")


def with_words(sentences: str, words) -> str:
    """Replace the first words of CoNLL-U."""
    lines = sentences.split("\n")
    numbered = [place for place, line in enumerate(lines) if line and line[0].isdigit()]
    for place, word in zip(numbered, words, strict=False):
        number, _, *rest = lines[place].split("\t")
        lines[place] = "\t".join([number, word, *rest])
    return "\n".join(lines)


def whole_config(model: Path) -> dict:
    """The config of the run, complete."""
    corpora = [
        {"name": TEXT, "kind": "text", "path": "few.txt", "max_tokens": 32},
        {"name": TREES, "kind": "treebank", "path": "trees.conllu"},
        {"name": DOCUMENTS, "kind": "coreference", "path": "documents.conllu"},
    ]
    config = {
        "models": [{"name": "tiny", "source": str(model)}],
        "corpora": [corpus | {"shards": 1} for corpus in corpora],
        "syntax": {"resamples": 100, "rare": 2},
        "coreference": {"resamples": 100},
    }
    return complete(config)


def make_report(folder: Path) -> Path:
    """Make the run below a folder and return its page."""
    (folder / "private").mkdir()
    checkpoint = save_bert(folder / "private" / "bert")
    with inside(folder):
        write_corpora(folder)
        config = whole_config(checkpoint)
        description = "models/tiny/description.json"
        job("describe_model", description=description, name="tiny", checkpoint=str(checkpoint), source=str(checkpoint),
            revision=None, loading=LOADING)  # fmt: skip
        for corpus, kind in KINDS.items():
            _encode(description, checkpoint, corpus, kind)
        _analyse(description, config)
        _judge(description, config)
        return _write(description, config)


def _encode(description, checkpoint, corpus, kind):
    examples, encoded = f"examples/{corpus}/", f"encoded/tiny/{corpus}/"
    said = {"skipped": f"{examples}skipped.parquet"}
    common = {name: f"{encoded}{name}.parquet" for name in ("examples", "skipped")}
    common["encoded"] = common.pop("examples")
    common |= {"description": description, "checkpoint": str(checkpoint), "allow_remote_code": False}
    if kind == "text":
        job("read_text", text="few.txt", pairs=f"{examples}pairs.parquet", name="few.txt", format="paragraphs", **said)
        job("encode_text", pairs=f"{examples}pairs.parquet", max_tokens=32, segments="pair", **common)
    elif kind == "treebank":
        job("read_treebank", treebank="trees.conllu", trees=f"{examples}trees.parquet", name="trees.conllu",
            format="conllu", most_bad=0.05, language="en", **said)  # fmt: skip
        job("encode_words", trees=f"{examples}trees.parquet", max_tokens=None, **common)
    else:
        tables = {name: f"{examples}{name}.parquet" for name in ("documents", "mentions")}
        job("read_coreference", corpus=["documents.conllu"], names=["documents.conllu"], format="corefud",
            discontinuous="join", **tables, **said)  # fmt: skip
        job("encode_documents", max_tokens=None, **tables, **common)
    job("list_skipped", stages=[said["skipped"], common["skipped"]], **both(corpus, skipped="skipped"))
    job("extract_attention", description=description, encoded=common["encoded"], checkpoint=str(checkpoint),
        attention=[f"attention/tiny/{corpus}/1-of-1.parquet"], loading=LOADING, shard="1-of-1", dtype="float16",
        fold=None if kind == "text" else "mean", device="cpu", budget_mb=0)  # fmt: skip


def both(corpus, **tables):
    """The arguments for tables that are written as Parquet and as CSV."""
    return {
        f"{name}{suffix}": f"results/tiny/{corpus}/{table}.{ending}"
        for name, table in tables.items()
        for suffix, ending in (("", "parquet"), ("_csv", "csv"))
    }


def of(corpus, description, *needs):
    """The arguments that most jobs on a corpus have."""
    files = {name: f"examples/{corpus}/{name}.parquet" for name in ("trees", "documents", "mentions")}
    files["attention"] = [f"attention/tiny/{corpus}/1-of-1.parquet"]
    chosen = {name: files[name] for name in needs}
    return {"description": description, "encoded": f"encoded/tiny/{corpus}/examples.parquet"} | chosen


def _analyse(description, config):
    counts = {name: f"counts/{name}.parquet" for name in ("surface", "sums", "added", "syntax", "coreference")}
    job("count_surface", counts=counts["surface"], **STORED, **of(TEXT, description, "attention"))
    surface = both(TEXT, heads="surface/heads", uniform="surface/uniform")
    job("merge_surface", counts=[counts["surface"]], neighbours="existing", **surface, **of(TEXT, description))
    job("count_divergence", sums=counts["sums"], examples=counts["added"], smoothing="none", device="cpu",
        budget_mb=0, **STORED, **of(TEXT, description, "attention"))  # fmt: skip
    divergence = both(TEXT, divergence="clusters/divergence")
    job("merge_divergence", sums=[counts["sums"]], examples=[counts["added"]], **divergence, **of(TEXT, description))
    clusters = {key: config["clusters"][key] for key in ("starts", "seed")} | {"permutations": 100}
    job("map_heads", divergence=divergence["divergence"], heads=surface["heads"], **clusters,
        thresholds=config["clusters"]["behaviours"],
        **both(TEXT, mapped="clusters/map", tests="clusters/tests"))  # fmt: skip
    job("count_syntax", hits=counts["syntax"], **STORED, **of(TREES, description, "trees", "attention"))
    how = {"resamples": 100, "seed": 0}
    job("merge_syntax", hits=[counts["syntax"]], every="words", offsets=[-5, 5], **how, **of(TREES, description),
        **both(TREES, heads="syntax/heads", table1="syntax/table1"))  # fmt: skip
    job(
        "count_coreference",
        hits=counts["coreference"],
        **STORED,
        **of(DOCUMENTS, description, "documents", "mentions", "attention"),
    )
    tables = both(DOCUMENTS, heads="coreference/heads", table2="coreference/table2", distances="coreference/distances",
                  scored_mentions="coreference/mentions")  # fmt: skip
    job("merge_coreference", hits=[counts["coreference"]], **how, **of(DOCUMENTS, description, "mentions"), **tables)


def _judge(description, config):
    tables = {
        TEXT: {"surface": "surface/heads", "uniform": "surface/uniform", "clusters": "clusters/tests"},
        TREES: {"table1": "syntax/table1"},
        DOCUMENTS: {"table2": "coreference/table2"},
    }
    for corpus, kind in KINDS.items():
        paths = {name: f"results/tiny/{corpus}/{table}.parquet" for name, table in tables[corpus].items()}
        job("judge_claims", description=description, kind=kind, rare=2, **both(corpus, claims="claims"), **paths)
    together = {name: f"results/compare/claims.{ending}" for name, ending in
                (("claims", "parquet"), ("claims_csv", "csv"), ("html", "html"), ("markdown", "md"))}  # fmt: skip
    job("compare_claims", descriptions=[description], runs=[["tiny", corpus] for corpus in KINDS],
        judged=[f"results/tiny/{corpus}/claims.parquet" for corpus in KINDS], **together)  # fmt: skip
    job("bundle_library", library="javascript/vega.js")
    drawn = {ending: f"results/tiny/{TEXT}/figures/figure_2.{ending}" for ending in ("html", "svg", "png")}
    job("draw_figure_2", description=description, heads=f"results/tiny/{TEXT}/surface/heads.parquet", corpus=TEXT,
        uniform=f"results/tiny/{TEXT}/surface/uniform.parquet", library="javascript/vega.js", **drawn)  # fmt: skip


def _write(description, config) -> Path:
    shown = {}
    for corpus, kind in KINDS.items():
        shown[corpus] = {"shown": f"report/tiny/{corpus}.parquet", "counted": f"report/tiny/{corpus}.json"}
        maps = of(corpus, description, "attention")
        job("choose_report_examples", number=SENTENCES, most=12, kind=kind, live=None, **maps, **shown[corpus])
    job("describe_machine", descriptions=[description], described="report/machine.json")
    benchmark = Path("logs/extract_attention/tiny/few/1-of-1.benchmark.tsv")
    benchmark.parent.mkdir(parents=True)
    benchmark.write_text("s\th:m:s\tmax_rss\n2.5\t0:00:02\t300.5\n", "utf-8")
    tables = [
        path for path in Path("results").rglob("*.parquet") if path.name != "claims.parquet" or "compare" in path.parts
    ]
    captions = {"figure_2": "Every head of {{ snakemake.wildcards.model }} on {{ snakemake.wildcards.corpus }}."}
    job(
        "write_report",
        descriptions=[description],
        results=[*map(str, tables), f"results/tiny/{TEXT}/figures/figure_2.html"],
        examples=[files["shown"] for files in shown.values()],
        counts=[files["counted"] for files in shown.values()],
        machine="report/machine.json",
        library="javascript/vega.js",
        html="results/report.html",
        runs=[["tiny", corpus, kind] for corpus, kind in KINDS.items()],
        settings=config,
        captions=captions,
        benchmarked={"extract_attention": ["model", "corpus", "shard"]},
        named={"models": ["tiny"], "corpora": dict.fromkeys(KINDS, 1), "series": []},
    )
    return Path("results/report.html").absolute()
