"""Maps straight from the model give what stored float32 maps give, in every script that reads any; so do tensors."""

from importlib import import_module

import numpy as np
import polars as pl
import pytest
import torch
from checkpoints import REPOSITORY, save_bert

from headscope.between.agreement import common_maps
from headscope.coreference.scoring import Task, predicted_words
from headscope.description import Description
from headscope.divergence_counts import cross_sums, pair_sums
from headscope.encoding import read_encoded
from headscope.errors import InputError
from headscope.live import LiveMaps
from headscope.maps_source import open_maps
from headscope.models.loading import load
from headscope.probes.laying import attended
from headscope.store import Shard, Shards
from headscope.surface_counts import Scratch, surface_sums
from headscope.syntax.scoring import predicted_heads

DEMO = REPOSITORY / "config" / "demo"
LOADING = {"dtype": "float32", "attention": "eager", "allow_pickle": False, "allow_remote_code": False}
CORPORA = {"few": None, "trees": "mean", "documents": "mean"}  # and how their words are folded
SENTENCES, DOCUMENTS = 12, 3
HOW = {"device": "cpu", "budget_mb": 0}


def script(which, /, *files, **arguments):
    """Run the main function of a script; `files` are (argument, path) of what it shall write."""
    import_module(which).main(**arguments, **dict(files))


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A text, a treebank and documents in the tokens of two tiny models: `given(path)` is a path in their folder."""
    folder = tmp_path_factory.mktemp("given")
    paragraphs = (DEMO / "text.txt").read_text("utf-8").split("\n\n")
    (folder / "few.txt").write_text("\n\n".join([paragraphs[0], "A short one.\nAnd another, shorter."]), "utf-8")
    sentences = (DEMO / "treebank.conllu").read_text("utf-8").split("\n\n")[:SENTENCES]
    (folder / "trees.conllu").write_text("\n\n".join(sentences) + "\n\n", "utf-8")
    documents = (DEMO / "coreference.conllu").read_text("utf-8").split("# newdoc")[1 : DOCUMENTS + 1]
    (folder / "documents.conllu").write_text("".join("# newdoc" + text for text in documents), "utf-8")
    script("read_text", *out(folder, "pairs", "skipped"), text=folder / "few.txt", name="few", format="paragraphs")
    script(
        "read_treebank",
        *out(folder, "trees", "skipped"),
        treebank=folder / "trees.conllu",
        name="trees",
        format="conllu",
        most_bad=0.1,
        language="en",
    )
    script(
        "read_coreference",
        *out(folder, "documents", "mentions", "skipped"),
        corpus=[folder / "documents.conllu"],
        names=["documents"],
        format="corefud",
        discontinuous="join",
    )
    for model, seed in (("tiny", 0), ("other", 1)):
        (folder / model).mkdir()
        checkpoint = save_bert(folder / model, seed)
        loading = LOADING | {"random_init": None}
        script(
            "describe_model",
            *out(folder, f"{model}/description"),
            name=model,
            checkpoint=str(checkpoint),
            source="tiny",
            revision=None,
            loading=loading,
        )
        common = {
            "description": folder / model / "description",
            "checkpoint": str(checkpoint),
            "allow_remote_code": False,
            "max_tokens": 64,
        }
        pairs, trees = {"pairs": folder / "pairs", "segments": "pair"}, {"trees": folder / "trees"}
        documents = {"documents": folder / "documents", "mentions": folder / "mentions"}
        for corpus, encode, of in (
            ("few", "encode_text", pairs),
            ("trees", "encode_words", trees),
            ("documents", "encode_documents", documents),
        ):
            files = {"encoded": folder / model / corpus, "skipped": folder / model / f"{corpus}.skipped"}
            script(encode, *files.items(), **common, **of)
    script(
        "embed_words",
        *out(folder, "vectors", "coverage", "coverage_csv"),
        description=folder / "tiny" / "description",
        encoded=folder / "tiny" / "trees",
        trees=folder / "trees",
        checkpoint=str(folder / "tiny"),
        loading=LOADING | {"random_init": None},
    )
    return folder


def out(folder, *names):
    """Output files of these names, all below one folder."""
    return [(name.rpartition("/")[2], folder / name) for name in names]


class Stored:
    """The maps of the models in `parts` shards for each of `jobs` jobs."""

    def __init__(self, given, folder, jobs, parts):
        self.given, self.folder, self.jobs, self.parts = given, folder, jobs, parts
        for model in ("tiny", "other"):
            for corpus, fold in CORPORA.items():
                for job in self.names():
                    script(
                        "extract_attention",
                        description=given / model / "description",
                        encoded=given / model / corpus,
                        attention=self.paths(model, corpus, job),
                        checkpoint=str(given / model),
                        loading=LOADING | {"random_init": None},
                        shard=job,
                        dtype="float32",
                        fold=fold,
                        **HOW,
                    )

    def names(self):
        return [f"{job}-of-{self.jobs}" for job in range(1, self.jobs + 1)]

    def paths(self, model, corpus, job):
        return [self.folder / f"{model}.{corpus}.{job}.{part}.parquet" for part in range(self.parts)]

    def of(self, corpus, job=None, model="tiny"):
        """What the rules pass to a script: the shards, and None for how they would be made."""
        jobs = [job] if job else self.names()
        return [path for one in jobs for path in self.paths(model, corpus, one)], None


class Live(Stored):
    """No maps at all; what is needed to make them."""

    def __init__(self, given, jobs):
        self.given, self.jobs = given, jobs

    def of(self, corpus, job=None, model="tiny"):
        loading = LOADING | {"random_init": None}
        checkpoint = str(self.given / model)
        return [], {"checkpoint": checkpoint, "loading": loading, "fold": CORPORA[corpus]}


def all_tables(given, maps, folder):
    """Every table that the scripts which read maps write from them, and the merged ones, by name."""
    folder.mkdir()
    shared = {}

    def of_run(corpus, *files, model="tiny"):
        return {"description": given / model / "description", "encoded": given / model / corpus} | {
            name: given / name for name in files
        }

    def count(name, corpus, outputs, *files, **more):
        for job in maps.names():
            attention, live = maps.of(corpus, job)
            paths = {output: folder / f"{name}.{output}.{job}" for output in outputs}
            how = {"attention": attention, "live": live, "shard": job} | more | HOW
            script(name, *paths.items(), **of_run(corpus, *files), **how)
        return {output: [folder / f"{name}.{output}.{job}" for job in maps.names()] for output in outputs}

    def merge(name, corpus, outputs, *files, **more):
        paths = {key: folder / f"{name}.{output}" for output in outputs for key in (output, f"{output}_csv")}
        paths = {key: path.with_suffix(".csv") if key.endswith("_csv") else path for key, path in paths.items()}
        script(name, *paths.items(), **of_run(corpus, *files), **more)
        shared.update({f"{name}.{output}": paths[output] for output in outputs})
        return paths

    def whole(corpus, model="tiny"):
        attention, live = maps.of(corpus, model=model)
        return {"attention": attention, "live": live}

    seeded = {"resamples": 100, "seed": 0}
    heads = merge(
        "merge_surface", "few", ["heads", "uniform"], neighbours="existing", **count("count_surface", "few", ["counts"])
    )
    chosen = {"example": 2, "chosen": [], "tokens": 12}
    merge("choose_maps", "few", ["maps"], heads=heads["heads"], **whole("few"), **chosen, **HOW)
    sums = count("count_divergence", "few", ["sums", "examples"], smoothing="none")
    merge("merge_divergence", "few", ["divergence"], **sums)
    hits = count("count_syntax", "trees", ["hits"], "trees")
    syntax = merge("merge_syntax", "trees", ["heads", "table1"], every="words", offsets=[-2, 2], **seeded, **hits)
    shown = {"scheme": "ud", "relations": [], "rare": 1}
    merge("choose_sentences", "trees", ["examples"], "trees", table1=syntax["table1"], **whole("trees"), **shown, **HOW)
    hits = count("count_coreference", "documents", ["hits"], "documents", "mentions")
    outputs = ["heads", "table2", "distances", "scored_mentions"]
    coreference = merge("merge_coreference", "documents", outputs, "mentions", **seeded, **hits)
    of_documents = {"table2": coreference["table2"], "document": None} | whole("documents")
    merge("choose_passage", "documents", ["links", "passage"], "documents", "mentions", **of_documents, **HOW)
    for corpus in ("few", "trees"):
        other, other_live = maps.of(corpus, model="other")
        against = {
            "other_description": given / "other" / "description",
            "other_encoded": given / "other" / corpus,
            "other_attention": other,
            "other_live": other_live,
        }
        sums = count("count_compare_divergence", corpus, ["sums", "examples"], smoothing="none", **against)
        added = pl.concat(map(pl.read_parquet, sums["sums"])).group_by(pl.exclude("steps"), maintain_order=True).sum()
        shared[f"compared {corpus}"] = folder / f"compared.{corpus}"
        added.write_parquet(shared[f"compared {corpus}"])
    laid = {"sentences": folder / "sentences.arrow", "index": folder / "index"}
    of_trees = of_run("trees", "trees", "vectors")
    script("lay_out_sentences", *laid.items(), **of_trees, **whole("trees"), scheme="ud", **HOW)
    learned = {"learned": folder / "attention.safetensors", "training": folder / "training.csv"}
    settings = {"epochs": 2, "patience": 2, "batch_words": 60, "learning_rate": 0.01}
    script(
        "train_probe",
        *learned.items(),
        **of_run("trees", "vectors"),
        **laid,
        probe="attention+words",
        seeds=1,
        curve=[],
        device="cpu",
        **settings,
    )
    probes = {"training_trees": given / "trees", "probes": [learned["learned"]], "counts": folder / "scored"}
    script("score_probes", **of_trees, **whole("trees"), **probes, scheme="ud", offsets=[-2, 2], **HOW)
    shared["score_probes"] = folder / "scored"
    return {name: pl.read_parquet(path) for name, path in shared.items()}


@pytest.fixture(scope="module")
def stored(given, tmp_path_factory):
    return Stored(given, tmp_path_factory.mktemp("stored"), 1, 1)


@pytest.fixture(scope="module")
def expected(given, stored, tmp_path_factory):
    return all_tables(given, stored, tmp_path_factory.mktemp("expected") / "tables")


@pytest.mark.parametrize("source", ["live", "five shards of three jobs"])
def test_every_table_is_that_of_one_stored_float32_shard(given, expected, tmp_path, source):
    """One job or several, one shard for each or some without an example: to the bit on one processor, to 1e-6 here."""
    if source == "live":
        maps = Live(given, 2)
    else:
        (tmp_path / "maps").mkdir()
        maps = Stored(given, tmp_path / "maps", 3, 5)
        assert any(not list(Shard(path)) for path in maps.of("documents")[0]), "an empty one is among them"
    found = all_tables(given, maps, tmp_path / "tables")
    assert found.keys() == expected.keys()
    assert len(found) == 16
    for name, table in expected.items():
        assert not table.is_empty(), name
        floats = [column for column, kind in table.schema.items() if kind.is_float()]
        assert found[name].drop(floats).equals(table.drop(floats)), name
        for column in floats:
            np.testing.assert_allclose(found[name][column], table[column], rtol=0, atol=1e-6, err_msg=name)


def test_one_example_is_run_alone(given, stored, monkeypatch):
    described, encoded = Description.read(given / "tiny" / "description"), read_encoded(given / "tiny" / "few")
    attention, live = Live(given, 1).of("few")
    maps = open_maps(attention, described, encoded, live, "cpu")
    run = []
    forward = type(maps._model).forward
    monkeypatch.setattr(
        type(maps._model), "forward", lambda self, ids, *more: run.append(len(ids)) or forward(self, ids, *more)
    )
    expected = Shards(stored.of("few")[0], described.weights, encoded.corpus).example(2)
    np.testing.assert_allclose(maps.example(2), expected, atol=1e-6)
    assert run == [1]
    with pytest.raises(InputError, match="example 99: expected one of"):
        maps.example(99)


def test_live_maps_refuse_the_tokens_of_another_model(given):
    described, encoded = Description.read(given / "tiny" / "description"), read_encoded(given / "tiny" / "few")
    with pytest.raises(InputError, match="expected examples in its own tokens"):
        LiveMaps(load(given / "tiny", "tiny"), described, encoded._replace(tokenizer="another"), None)


@pytest.fixture(scope="module")
def batches(given, stored):
    """The stored maps of each corpus, some float16: what a GPU would hand on as tensors."""
    return {corpus: [maps for path in stored.of(corpus)[0] for maps in Shard(path)] for corpus in CORPORA}


def as_tensor(weights):
    return torch.from_numpy(weights.copy())


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_surface_and_divergence_of_tensors_are_those_of_arrays(given, batches, dtype):
    kinds = dict(read_encoded(given / "tiny" / "few").table.select("example", "kinds").iter_rows())
    weights = batches["few"][0].weights[0].astype(dtype)
    of_example = np.array(kinds[batches["few"][0].examples[0]], np.uint8)
    sums = [surface_sums(maps, of_example, Scratch()) for maps in (weights, as_tensor(weights))]
    np.testing.assert_allclose(sums[1] / len(of_example), sums[0] / len(of_example), rtol=0, atol=1e-6)
    for smoothing in ("none", "paper"):
        pairs = [pair_sums(maps, smoothing) for maps in (weights, as_tensor(weights))]
        np.testing.assert_allclose(pairs[1] / len(of_example), pairs[0] / len(of_example), rtol=0, atol=1e-6)
        turned = weights[:, ::-1].copy()
        across = [cross_sums(*maps, smoothing) for maps in ((weights, turned), (as_tensor(weights), as_tensor(turned)))]
        np.testing.assert_allclose(across[1] / len(of_example), across[0] / len(of_example), rtol=0, atol=1e-6)


def with_ties(shape, generator):
    """Weights of few values: many ties, and queries and keys without any weight, as causal heads have them."""
    weights = generator.integers(0, 4, shape).astype(np.float32) / 4
    weights[..., 0, :], weights[..., :, -1] = 0, 0
    return weights


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_syntactic_heads_of_tensors_are_those_of_arrays_ties_included(dtype, size):
    weights = with_ties((3, 2, 4, size, size), np.random.default_rng(size)).astype(dtype)
    np.testing.assert_array_equal(predicted_heads(as_tensor(weights)), predicted_heads(weights))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_antecedents_of_tensors_are_those_of_arrays_ties_included(given, dtype):
    mentions = pl.read_parquet(given / "mentions").filter(example=1)
    words = int(mentions["last"].max())
    task = Task.of(mentions, words)
    weights = with_ties((3, 4, words + 2, words + 2), np.random.default_rng(0)).astype(dtype)
    arrays, tensors = (predicted_words(maps, task, slice(1, words + 1)) for maps in (weights, as_tensor(weights)))
    assert arrays.keys() == tensors.keys()
    for candidates, picked in arrays.items():
        np.testing.assert_array_equal(tensors[candidates], picked, err_msg=candidates)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_words_for_probes_and_between_models_are_parted_alike(given, batches, dtype):
    encoded, trees = read_encoded(given / "tiny" / "trees"), pl.read_parquet(given / "trees")
    sizes = dict(trees.select("example", pl.col("words").list.len()).iter_rows())
    arrays = [maps._replace(weights=maps.weights.astype(dtype)) for maps in batches["trees"]]
    tensors = [maps._replace(weights=as_tensor(maps.weights)) for maps in arrays]
    for one, other in zip(*(attended(maps, encoded, sizes) for maps in (arrays, tensors)), strict=True):
        assert isinstance(other.weights, torch.Tensor)
        np.testing.assert_array_equal(other.weights, one.weights)
        np.testing.assert_allclose(other.specials, one.specials, rtol=0, atol=1e-6)
    kinds = dict(encoded.table.select("example", "kinds").iter_rows())[arrays[0].examples[0]]
    for level in ("token", "word"):
        one, other = (common_maps(maps[0].weights[0], kinds, level) for maps in (arrays, tensors))
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-6)
