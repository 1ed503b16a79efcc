"""What was run: models, corpora, counts, config, times; nothing that names a machine or a folder on it."""

import csv
import re
from collections import defaultdict
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from headscope.description import Description
from headscope.pages import Column, Part
from headscope.report.words import count

BENCHMARK = ".benchmark.tsv"
TIMES = (
    "Wall time of the jobs of this config that ran last, as far as their logs are here; some ran at the same time, "
    "some perhaps on other machines."
)
ADDRESS = re.compile(r"([A-Za-z][\w+.-]*://)(?:[^/?#]*@)?([^?#]*)(.*)", re.DOTALL)  # scheme, path, query
LOCAL = re.compile(r"(?:[\w+.-]*\+)?file:", re.IGNORECASE)


class Job(NamedTuple):
    """The benchmark of one job: its rule, its wildcards by name, wall time in seconds, most memory in MiB."""

    rule: str
    wildcards: dict[str, str]
    seconds: float
    memory: float | None


def shareable(value):
    """Return a config, or a part of it, without what is of this machine or secret: see `_shareable_path`."""
    match value:
        case str():
            return _shareable_path(value)
        case dict():
            return {key: shareable(part) for key, part in value.items()}
        case list() | tuple():
            return [shareable(part) for part in value]
    return value


def _shareable_path(text: str) -> str:
    """
    Return a path or address that others may see; a line or more words may stand behind it.

    A path that leads out of the folder of the run (absolute, `~`, `..`, `file:`) keeps its last part; an address loses
    the name, password and query in it, which may be keys. Anything else stays.
    """
    address = ADDRESS.fullmatch(text)
    if address and not LOCAL.match(text):
        scheme, place, query = address.groups()
        return f"{scheme}{place}{'?…' if query else ''}"
    path = PureWindowsPath(text)  # knows both slashes
    leads_out = text.startswith("~") or ".." in path.parts or PurePosixPath(text).is_absolute() or path.is_absolute()
    return f"…/{path.name}" if leads_out or LOCAL.match(text) else text


def jobs(folder: Path, benchmarked: dict[str, list[str]], named: dict) -> list[Job]:
    """
    Read the benchmarks that the jobs of a config left below a folder of logs, in the order of their paths.

    Parameters
    ----------
    benchmarked
        The names of wildcards in the path of a benchmark, by the name of its rule.
    named
        What the config has: `models`, `corpora` with the number of their jobs, `series`. A benchmark of anything else
        is of another config that was run in the same place, and left out.
    """
    found = []
    for path in sorted(folder.rglob(f"*{BENCHMARK}")):
        rule, *values = str(path.relative_to(folder)).removesuffix(BENCHMARK).split("/")
        names = benchmarked.get(rule)
        if names is None or len(names) != len(values):
            continue
        wildcards = dict(zip(names, values, strict=True))
        if not _is_of(wildcards, named):
            continue
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                memory = row.get("max_rss", "")
                known = memory.replace(".", "", 1).isdigit()
                found.append(Job(rule, wildcards, float(row["s"]), float(memory) if known else None))
    return found


def _is_of(wildcards: dict[str, str], named: dict) -> bool:
    known = {"model": named["models"], "other": named["models"], "corpus": named["corpora"], "series": named["series"]}
    if any(value not in known[name] for name, value in wildcards.items() if name in known):
        return False
    return "shard" not in wildcards or wildcards["shard"].endswith(f"-of-{named['corpora'][wildcards['corpus']]}")


def time_of(benchmarks: list[Job], model: str, corpus: str) -> dict[str, str]:
    """Return the wall time of all jobs of a model on a corpus as a fact; nothing where no log of one is here."""
    pair = {"model": model, "corpus": corpus}.items()
    seconds = [job.seconds for job in benchmarks if pair <= job.wildcards.items()]
    return {"Time of its jobs": f"{sum(seconds):.0f} s, as far as their logs are here"} if seconds else {}


def time_part(benchmarks: list[Job]) -> Part | None:
    """Return a table of the time and memory of each rule, the longest first; None where no logs are here."""
    if not benchmarks:
        return None
    of_rule = defaultdict(list)
    for job in benchmarks:
        of_rule[job.rule].append(job)
    rows = []
    for rule, done in sorted(of_rule.items(), key=lambda item: (-sum(job.seconds for job in item[1]), item[0])):
        memory = [job.memory for job in done if job.memory is not None]
        total, longest = sum(job.seconds for job in done), max(job.seconds for job in done)
        rows.append([rule, str(len(done)), f"{total:.1f}", f"{longest:.1f}", f"{max(memory):.0f}" if memory else "–"])
    names = ("Jobs", "Seconds, together", "Seconds, longest", "Most memory (MiB)")
    columns = (Column("Rule", is_text=True), *map(Column, names))
    return Part("Time and memory", columns, rows, [TIMES])


def model_facts(described: Description) -> dict[str, str]:
    """Return what is to be known of a model."""
    views = [view for view in described.views if view.causal]
    kinds = {0: "sees both sides", len(described.views): "causal"}
    return {
        "Source": shareable(described.origin),
        "Revision": described.revision or "of a folder or package",
        "Architecture": described.architecture,
        "Shape": f"{count(described.layers, 'layer')} of {count(described.heads, 'head')}, width {described.width:,}, "
        f"{described.parameters:,} parameters",
        "Attention": kinds.get(len(views), f"{len(views)} of {len(described.views)} layers causal"),
        "Fingerprint of weights": described.weights,
        "Fingerprint of tokenizer": described.tokenizer,
    }


def corpus_facts(settings: dict, counted: dict) -> dict[str, str]:
    """
    Return what is to be known of a corpus as a model reads it.

    Parameters
    ----------
    settings
        Its entry in the config.
    counted
        As `headscope.report.examples.counts_of` returns it.
    """
    unit = {"text": "pair of paragraphs", "treebank": "sentence", "coreference": "document"}[settings["kind"]]
    plural = "pairs of paragraphs" if settings["kind"] == "text" else f"{unit}s"
    return {
        "From": shareable(settings["url"] or settings["path"]),
        "Kind": f"{settings['kind']}, format {settings['format']}",
        "Size": f"{count(counted['examples'], unit, plural)}, {counted['tokens']:,} tokens",
        "Cut to the limit": count(counted["truncated"], "example"),
        "Fingerprint": counted["fingerprint"],
    }
