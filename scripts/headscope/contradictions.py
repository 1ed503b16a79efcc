"""What a config says that cannot be: names, files and keys that do not go together."""

import importlib.util
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from headscope.files import find_files
from headscope.languages import has_stanford
from headscope.sources import package_of
from headscope.steps import LABEL, every_step, is_series, label_of, step_of, steps_of

FORMATS = {
    "text": ("paragraphs", "wikitext"),
    "treebank": ("conllu", "conllx", "word-head-label", "paragraphs", "words"),
    "coreference": ("corefud", "conll2012", "paragraphs"),
}
MANY_FILES = {("coreference", "corefud"), ("coreference", "conll2012")}
RESERVED = ("compare", "series")  # folders of results beside those of models
TRAIN = "train"  # the mlm_head of a model that is to be fitted one
COMPARED = "compare"  # the folder of results that are of no single model
MODEL_VECTORS = "model"  # the word vectors of probes that are in no file


def contradictions(config: dict, base: Path, packages_here: bool) -> Iterator[tuple[list, str]]:
    """
    Yield what is wrong in a config that the schema allows: the path of the key, and a sentence.

    Parameters
    ----------
    config
        With every default.
    base, packages_here
        As `complete` of `headscope.config` takes them.
    """
    models = [model["name"] for model in every_step(config["models"])]
    series = [model["name"] for model in config["models"] if is_series(model)]
    for section in ("models", "corpora"):
        names = [entry["name"] for entry in config[section]]
        for name in (name for name, times in Counter(names).items() if times > 1):
            yield [section], f"expected names that differ, found {name} {names.count(name)} times; rename one"
        for alike in _alike_but_for_case(names):
            yield [section], f"expected names that differ in more than case, found {' and '.join(alike)}; rename one"
    for number in (number for number, name in enumerate(models) if name == COMPARED):
        yield ["models", number, "name"], f"expected another name, for {COMPARED} holds what compares models; rename it"
    for number, model in enumerate(config["models"]):
        found = _series_problems(model) if is_series(model) else _source_problems(model, packages_here)
        problems = (*_model_problems(model, base), *found)
        yield from (([*("models", number), key], text) for key, text in problems)
    for number, corpus in enumerate(config["corpora"]):
        yield from (([*("corpora", number), key], text) for key, text in _corpus_problems(corpus, base))
        yield from (
            (["corpora", number, "models"], f"unknown model {name}; the models are {', '.join(models)}")
            for name in corpus["models"]
            if name not in models + series
        )
    yield from _pair_problems(config["compare"]["divergence"], models, series)
    yield from _training_problems(config)
    yield from _probe_problems(config, base)
    for number, head in enumerate(config["figure_1"]["heads"]):
        if head["model"] not in models:
            path = ["figure_1", "heads", number, "model"]
            yield path, f"unknown model {head['model']}; the models are {', '.join(models)}"


def _alike_but_for_case(names):
    """Names that are one folder where the file system does not tell upper from lower case."""
    by_folder = {}
    for name in dict.fromkeys(names):
        by_folder.setdefault(name.casefold(), []).append(name)
    return [alike for alike in by_folder.values() if len(alike) > 1]


def _pair_problems(pairs, models, series):
    """What pairs of models to compare lack: two models that differ, each pair once."""
    seen = set()
    for number, pair in enumerate(pairs):
        path = ["compare", "divergence", number]
        for name in pair:
            if name in series:
                yield path, f"{name} is a series; name one of its steps, such as {name}@LABEL"
            elif name not in models:
                yield path, f"unknown model {name}; the models are {', '.join(models)}"
        if len({*pair}) < 2:
            yield path, f"expected two models that differ, found {pair[0]} twice; its heads are compared in clusters"
        if frozenset(pair) in seen:
            yield path, f"expected each pair once, found {' and '.join(pair)} again, in this or the other order"
        seen.add(frozenset(pair))


def _training_problems(config):
    """What a fitted head lacks: two texts, for those models that want one."""
    texts = [corpus["name"] for corpus in config["corpora"] if corpus["kind"] == "text"]
    wanting = [model["name"] for model in config["models"] if model["mlm_head"] == TRAIN]
    section = config["train_mlm_head"]
    for key in ("corpus", "held_out") if wanting else ():
        if section[key] not in texts:
            yield (
                ["train_mlm_head", key],
                f"expected the name of a text corpus, since mlm_head of {', '.join(wanting)} is {TRAIN}; found "
                f"{section[key]!r}; the texts are {', '.join(texts) or 'none'}",
            )
    if wanting and section["corpus"] == section["held_out"] in texts:
        yield (
            ["train_mlm_head", "held_out"],
            f"expected another text than corpus, found {section['held_out']!r} for both",
        )


def _probe_problems(config, base):
    """What probes lack: a treebank to learn from, another to be scored on, and a file where one is named."""
    train, vectors = config["probes"]["train"], config["probes"]["vectors"]
    treebanks = [corpus["name"] for corpus in config["corpora"] if corpus["kind"] == "treebank"]
    if train is None:
        return
    if train not in treebanks:
        yield (
            ["probes", "train"],
            f"expected the name of a treebank, or null for no probes, found {train!r}; the treebanks are "
            f"{', '.join(treebanks) or 'none'}",
        )
    elif len(treebanks) == 1:
        yield (
            ["probes", "train"],
            f"expected another treebank beside {train}, for the probes to be scored on, found none; add one to "
            "corpora, or set train: null",
        )
    foreign = [
        f"{corpus['name']} ({corpus['language']})"
        for corpus in config["corpora"]
        if corpus["kind"] == "treebank" and not has_stanford(corpus["language"])
    ]
    if foreign and config["probes"]["scheme"] == "stanford":
        yield (
            ["probes", "scheme"],
            f"expected ud, since the paper's labels are English and there is {', '.join(foreign)}, found stanford",
        )
    if vectors != MODEL_VECTORS and len(find_files(vectors, base)) != 1:
        yield (
            ["probes", "vectors"],
            f"expected {MODEL_VECTORS}, or one file of word vectors from {Path.cwd()} or {base}, found {vectors!r}, "
            f"which is {len(find_files(vectors, base)) or 'no'} files",
        )


def _model_problems(model, base):
    head = model["mlm_head"]
    if model["name"] in RESERVED:
        yield "name", f"results/{model['name']} is no model's; choose another name"
    if model["seed"] and not model["random_init"]:
        yield "seed", f"expected random_init: true beside the seed of random weights, found seed {model['seed']} alone"
    if head not in (None, TRAIN) and not find_files(head, base):
        yield "mlm_head", f"there is no file {head!r}, neither from {Path.cwd()} nor from {base}"


def _series_problems(model):
    """What a series lacks: steps that are there, each with a label that tells its number, and no other number twice."""
    source, revision = model["source"], model["revision"]
    key = "revision" if isinstance(revision, list) else "source"
    steps = {label_of(step["name"]): step for step in steps_of(model)}
    if isinstance(source, str) and package_of(source) is not None:
        yield "revision", "a package has no revisions; remove them"
        return
    if isinstance(source, list) and revision:
        yield "revision", "a list of folders has no revisions; remove them"
    if not steps:
        yield key, f"there is no folder {source!r}; expected one a step"
    if len(steps) < len(steps_of(model)):
        yield key, "expected steps with labels that differ (the names of folders, branches or tags); rename one"
    found = Counter(step_of(label) for label in steps)
    for label, step in steps.items():
        number = step_of(label)
        if not LABEL.fullmatch(label):
            yield key, f"found the label {label!r}; expected letters, digits, `.`, `_` and `-`"
        elif number is None:
            yield key, f"the label {label!r} tells no step; expected one like step1000, checkpoint-500 or 1000"
        elif found[number] > 1:
            yield key, f"expected each step once, found {number} {found[number]} times, once as {label!r}"
        if step["revision"] is None and not Path(step["source"]).is_dir():
            yield key, f"there is no folder {step['source']!r}"
    for other in ("random_init", "mlm_head"):
        if model[other] not in (None, False, TRAIN):
            yield other, f"of a series, expected none, found {model[other]!r}; make one step an entry of its own"


def _source_problems(model, packages_here):
    """What the source of a single model lacks."""
    source = model["source"]
    package = package_of(source)
    if package is not None:
        if model["revision"]:
            yield "revision", "a package has no revision; remove it"
        if not package.isidentifier():
            yield "source", f"expected package:NAME/path with the import name of a package, found {source!r}"
        elif packages_here and importlib.util.find_spec(package) is None:
            yield "source", f"the Python package {package} is not installed here; install it, or name another source"
    elif model["revision"] is None and not Path(source).is_dir():
        yield (
            "source",
            (
                f"there is no folder {source!r}; for a model of the Hugging Face hub, give its revision (the commit) "
                "as well"
            ),
        )


def _corpus_problems(corpus, base):
    if (corpus["path"] is None) == (corpus["url"] is None):
        found = "both" if corpus["path"] else "neither"
        yield "name", f"expected either path or url, found {found}"
    elif corpus["format"] not in FORMATS[corpus["kind"]]:
        allowed = ", ".join(FORMATS[corpus["kind"]])
        yield "format", f"expected one of {allowed} for a {corpus['kind']}, found {corpus['format']!r}"
    elif corpus["url"] and not corpus["sha256"]:
        yield "url", "expected sha256 beside url, so that everyone reads the same file; found none"
    elif corpus["path"]:
        found = find_files(corpus["path"], base)
        if not found:
            yield "path", f"there is no file {corpus['path']!r}, neither from {Path.cwd()} nor from {base}"
        elif len(found) > 1 and (corpus["kind"], corpus["format"]) not in MANY_FILES:
            yield "path", f"expected one file for this kind and format, found {len(found)} by {corpus['path']!r}"
