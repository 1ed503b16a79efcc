"""Every architecture of the matrix from its checkpoint to the tables, the laws that its maps obey, and the refusals."""

from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from architectures import ARCHITECTURES, FULL, LIMIT, REFUSED
from checkpoints import DEMO_TEXT, REPOSITORY, save_checkpoint, wordpiece
from models_page import models_page
from torch.utils._python_dispatch import TorchDispatchMode

from headscope.attention import attention_maps, extract_shard
from headscope.corpora.text import PAIRS, read_pairs
from headscope.corpora.trees import read_trees
from headscope.divergence import merge_divergence
from headscope.divergence_counts import count_divergence
from headscope.encoding import Kind, read_encoded, word_rows, write_encoded
from headscope.errors import InputError
from headscope.gradients.counting import count_gradients, ready_for_gradients
from headscope.keys import KEYS
from headscope.mlm.heads import NoHeadError, load_head
from headscope.models.describing import describe
from headscope.models.loaded import LoadedModel
from headscope.models.loading import load
from headscope.norms.architectures import why_not
from headscope.norms.counts import count_norms
from headscope.norms.tables import merge_norms
from headscope.probes.embeddings import mean_embeddings
from headscope.probes.laying import attended
from headscope.refusals import REASONS, why_no_maps
from headscope.store import Shard
from headscope.surface import MEASURES, merge_surface
from headscope.surface_counts import count_surface
from headscope.syntax.accuracy import Options, merge_syntax, read_scored
from headscope.syntax.scoring import count_syntax
from headscope.tokenizing import encode_pairs, encode_words
from headscope.writing import write_table

WORDS_OF_A_SIDE = (12, 12, 4)


def pairs_of_text() -> pl.DataFrame:
    """Three pairs, two of one length or nearly, and one of few words that a window covers or nearly."""
    pairs = read_pairs(DEMO_TEXT)[0].head(len(WORDS_OF_A_SIDE))
    rows = [
        (row["example"], row["where"], *(" ".join(row[side].split()[:count]) for side in ("first", "second")))
        for row, count in zip(pairs.iter_rows(named=True), WORDS_OF_A_SIDE, strict=True)
    ]
    return pl.DataFrame(rows, PAIRS, orient="row")


class Run:
    """One architecture, loaded and described, and its examples and maps as they are asked for."""

    def __init__(self, architecture, folder: Path, tokenizer=None):
        self.architecture, self.folder, self.name = architecture, folder, architecture.family
        self.model = load(architecture.save(folder, tokenizer), self.name)
        self.described = describe(self.model, self.name, "tiny", None)

    def encoded(self, table, name):
        """The examples as the stages read them."""
        write_encoded(table, self.folder / f"{name}.parquet", self.described.tokenizer)
        return read_encoded(self.folder / f"{name}.parquet")

    @cached_property
    def pairs(self):
        table, skipped = encode_pairs(pairs_of_text(), self.model.tokenizer, 4 * LIMIT)
        assert skipped.is_empty()
        return self.encoded(table, "pairs")

    @cached_property
    def trees(self):
        return read_trees(REPOSITORY / "config" / "demo" / "treebank.conllu")[0].head(6)

    @cached_property
    def sentences(self):
        table, skipped = encode_words(self.trees, self.model.tokenizer, 4 * LIMIT)
        assert skipped.is_empty()
        return self.encoded(table, "sentences")

    def shard(self, encoded):
        """The maps of all examples through a shard on disk."""
        path = self.folder / "shard.parquet"
        extract_shard(self.model, self.described, encoded, path, "float32")
        return Shard(path, model=self.described.weights, corpus=encoded.corpus)

    def maps(self, encoded, budget_mb=24.0):
        """The maps of each example, (layer, head, query, key), by its number."""
        layers_and_heads = self.described.layers * self.described.heads
        batches = attention_maps(self.model, encoded, layers_and_heads, budget_mb)
        return {
            number: weights
            for batch in batches
            for number, weights in zip(batch.examples.tolist(), batch.weights, strict=True)
        }


WITH_TOKENIZERS = [(architecture, False) for architecture in ARCHITECTURES]
WITH_TOKENIZERS += [(architecture, True) for architecture in ARCHITECTURES if architecture.in_python]


def named(value):
    architecture, in_python = value
    return f"{architecture.family}, tokenizer in Python" if in_python else architecture.family


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    made = {}

    def run_of(architecture, in_python=False):
        key = architecture.family, in_python
        if key not in made:
            tokenizer = architecture.in_python(tmp_path_factory.mktemp("tokenizer")) if in_python else None
            made[key] = Run(architecture, tmp_path_factory.mktemp("checkpoint"), tokenizer)
        return made[key]

    return run_of


@pytest.fixture(params=ARCHITECTURES, ids=lambda architecture: architecture.family)
def run(request, runs):
    return runs(request.param)


@pytest.fixture(params=WITH_TOKENIZERS, ids=named)
def run_of_each_tokenizer(request, runs):
    return runs(*request.param)


def test_it_is_described_as_it_runs(run):
    declared, described = run.architecture, run.described
    assert described.architecture == declared.network
    assert described.views == list(declared.views)
    assert (described.layers, described.heads, described.width) == (len(declared.views), 4, 32)
    assert described.limit == LIMIT
    assert described.segments == declared.segments
    assert described.causal == declared.causal


def test_a_pair_is_framed_as_the_model_was_trained(run_of_each_tokenizer):
    run = run_of_each_tokenizer
    table, declared = run.pairs.table, run.architecture
    shape, side = [], "AB"
    row = table.row(0, named=True)
    first = len(run.model.tokenizer(pairs_of_text()["first"][0], add_special_tokens=False)["input_ids"])
    for token, kind in zip(row["tokens"], row["kinds"], strict=True):
        if kind in (Kind.TEXT, Kind.PUNCTUATION):
            shape.append(side[0])
            first -= 1
            side = side[1:] if first == 0 else side
        else:
            shape.append(token)
    told = [part for part, before in zip(shape, [None, *shape[:-1]], strict=True) if part not in "AB" or part != before]
    assert " ".join(told) == declared.pair
    expected = {"[CLS]": Kind.CLS, "<cls>": Kind.CLS, "<s>": Kind.CLS} | dict.fromkeys(
        ("[SEP]", "<sep>", "</s>"), Kind.SEP
    )
    for token, kind, part in zip(row["tokens"], row["kinds"], shape, strict=True):
        if part not in "AB":
            assert kind == expected[token]
    if declared.segments:
        sides = {part: set() for part in "AB"}
        for part, segment in zip(shape, row["segments"], strict=True):
            sides.setdefault(part, set()).add(segment)
        assert (sides["A"], sides["B"]) == ({0}, {1})


def test_each_word_of_a_sentence_owns_its_tokens(run_of_each_tokenizer):
    run = run_of_each_tokenizer
    for row, words in zip(run.sentences.table.iter_rows(named=True), run.trees["words"], strict=True):
        inside = word_rows(row["kinds"])
        assert row["tokens"][inside] == words.to_list()
        assert np.unique(row["words"]).tolist() == list(range(len(row["kinds"])))
        kinds = [Kind(kind) for kind in [*row["kinds"][: inside.start], *row["kinds"][inside.stop :]]]
        framed = [part for part in run.architecture.pair.split() if part not in ("A", "B")]
        assert len(kinds) == {0: 0, 1: 1, 2: 1, 3: 2, 4: 2}[len(framed)]
        cls = run.architecture.cls
        assert cls is None or row["kinds"][cls] == Kind.CLS


def test_maps_are_zero_outside_of_what_a_layer_sees_and_rows_sum_to_one(run_of_each_tokenizer):
    run = run_of_each_tokenizer
    for weights in run.maps(run.pairs).values():
        size = weights.shape[-1]
        assert np.isfinite(weights).all()
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        for layer, view in zip(weights, run.architecture.views, strict=True):
            assert (layer[:, ~view.mask(size)] == 0).all()
        seen = (weights > 0).any(1)  # by some head
        for layer, view in zip(seen, run.architecture.views, strict=True):
            assert (layer | ~view.mask(size)).mean() > 0.99, "what it sees is nowhere else: the view is no wider"


def test_a_batch_gives_the_maps_of_each_example_alone(run_of_each_tokenizer):
    """Examples of other lengths never meet in a batch, so nothing is padded: what could differ is rounding."""
    run = run_of_each_tokenizer
    rows = run.pairs.table
    twins = pl.concat([rows.with_columns(example=rows["example"] + 3 * number) for number in range(3)]).sort("example")
    together = run.maps(run.encoded(twins, "twins"), budget_mb=1000)
    for number, weights in run.maps(run.pairs, budget_mb=1e-9).items():
        for twin in range(3):
            np.testing.assert_allclose(together[number + 3 * twin], weights, atol=2e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_side_that_a_tokenizer_pads_on_changes_nothing(run_of_each_tokenizer, side, monkeypatch):
    run = run_of_each_tokenizer
    monkeypatch.setattr(run.model.tokenizer, "padding_side", side)
    assert encode_pairs(pairs_of_text(), run.model.tokenizer, 4 * LIMIT)[0].equals(run.pairs.table)
    assert encode_words(run.trees, run.model.tokenizer, 4 * LIMIT)[0].equals(run.sentences.table)
    again = describe(run.model, run.name, "tiny", None)
    assert again.views == run.described.views


class Softmaxes(TorchDispatchMode):
    """Keeps what every softmax returns."""

    def __init__(self):
        super().__init__()
        self.results = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if operation is torch.ops.aten._softmax.default:
            self.results.append(result)
        return result


def ids_and_segments(run):
    row = run.pairs.table.row(2, named=True)
    return torch.tensor([row["ids"]]), torch.tensor([row["segments"]], dtype=torch.int64)


def test_maps_are_the_softmaxes_of_the_layers_in_their_order(run):
    with torch.no_grad(), Softmaxes() as seen:
        _, maps = run.model.states_and_maps(*ids_and_segments(run))
    softmaxes = [result for result in seen.results if result.shape == maps[0].shape]
    assert len(softmaxes) == len(maps)
    for weights, softmax in zip(maps, softmaxes, strict=True):
        assert torch.equal(weights, softmax)


def test_the_output_depends_on_every_weight(run):
    if run.architecture.family == "XLNet":
        pytest.skip("XLNet returns its maps with dimensions in another order, cut off from what it computes with")
    model = ready_for_gradients(load(run.folder, run.name))
    states, maps = model.states_and_maps(*ids_and_segments(run))
    gradients = torch.autograd.grad(states.pow(2).sum(), maps)
    for layer, gradient in zip(run.architecture.views, gradients, strict=True):
        visible = torch.from_numpy(layer.mask(gradient.shape[-1]))
        assert (gradient[0, :, visible] != 0).float().mean() > 0.9


def test_the_maps_are_those_of_the_attention_that_transformers_uses_by_default(run):
    """Windows, groups and positions are the same under `sdpa`: it gives the same states, though no maps."""
    if not run.model.network._supports_sdpa:
        with pytest.raises(InputError, match="expected files that transformers"):
            load(run.folder, run.name, attention="sdpa")
        return
    ids, _ = ids_and_segments(run)
    fast = load(run.folder, run.name, attention="sdpa")
    with torch.inference_mode():
        expected, found = (model.network(input_ids=ids).last_hidden_state for model in (fast, run.model))
    torch.testing.assert_close(found, expected, atol=1e-4 * float(expected.abs().max()), rtol=1e-4)
    with pytest.raises(InputError, match="use attention: eager in the model's config entry"):
        describe(fast, run.name, "tiny", None)


def test_surface_patterns_are_those_that_the_model_can_have(run_of_each_tokenizer):
    run = run_of_each_tokenizer
    declared, counts = run.architecture, count_surface(run.shard(run.pairs), run.pairs)
    heads, uniform = merge_surface(lambda: iter([counts]), run.pairs, run.described)
    assert heads.height == 4 * len(declared.views)
    kinds = {Kind(kind) for row in run.pairs.table["kinds"] for kind in row}
    absent = {"to_next"} if declared.causal else set()
    absent |= set() if Kind.CLS in kinds else {"to_cls", "entropy_from_cls"}
    absent |= set() if Kind.SEP in kinds else {"to_sep", "sep_to_sep", "other_to_sep"}
    assert {name for name in MEASURES if heads[name].null_count()} == absent
    assert all(heads[name].null_count() == heads.height for name in absent)
    assert heads.select(pl.exclude("layer", "head", "^.*_se$").fill_null(0).is_finite().all()).row(0) == (True,) * 11
    to_first = np.mean([weights[..., 0].mean(-1) for weights in run.maps(run.pairs).values()], axis=0)
    np.testing.assert_allclose(heads["to_first"], to_first.ravel(), rtol=1e-4)
    the_cls_alone = declared.cls == 0 and declared.pair.split().count(declared.pair.split()[0]) == 1
    assert heads["to_first"].equals(heads["to_cls"], check_names=False) == the_cls_alone
    for layer, view in enumerate(declared.views, start=1):
        entropy = uniform.filter(layer=layer)["entropy"].item()
        expected = [np.log(view.mask(size).sum(-1)).mean() for size in run.pairs.lengths()]
        assert entropy == pytest.approx(np.mean(expected))
        if view != FULL:
            assert entropy < np.mean(np.log(run.pairs.lengths())) - 0.5
        assert (heads.filter(layer=layer)["entropy"] <= np.log(run.pairs.lengths().max())).all()


def test_a_windowed_layer_has_a_smaller_uniform_entropy_than_one_that_is_not(runs):
    for architecture in ARCHITECTURES:
        if len({view.reach for view in architecture.views}) > 1:
            run = runs(architecture)
            counts = count_surface(run.shard(run.pairs), run.pairs)
            _, uniform = merge_surface(lambda counts=counts: iter([counts]), run.pairs, run.described)
            entropies = {view.reach is None: uniform["entropy"][row] for row, view in enumerate(architecture.views)}
            assert entropies[False] < entropies[True] - 0.5


def test_syntax_is_scored_on_every_word_and_in_the_direction_that_a_head_sees(run_of_each_tokenizer):
    run = run_of_each_tokenizer
    hits = count_syntax(run.shard(run.sentences), run.sentences, run.trees)
    write_table(hits, run.folder / "hits.parquet")
    scored = read_scored([run.folder / "hits.parquet"], "ud", run.described, run.sentences)
    by_head, table1 = merge_syntax({"ud": scored}, Options(resamples=100))
    relations = run.trees["ud_relations"].explode()
    total = int((~relations.is_in(["root", "punct"])).sum())
    assert table1.filter(relation="all")["total"].item() == total, "whatever the model sees"
    assert by_head.filter(relation="all")["total"].unique().to_list() == [total]
    to_the_right = ~(scored.offsets < 0)
    found = np.stack([scored.hits.of_head(number) for number in range(2 * 4 * len(run.architecture.views))])
    rows, columns = np.split(found, 2)  # dependent_to_head, head_to_dependent
    assert rows.any()
    assert columns.any()
    if run.architecture.causal:
        assert not rows[:, to_the_right].any(), "a word finds its head on its left only"
        assert not columns[:, scored.offsets < 0].any(), "and a head its dependents on its left only"
    else:
        assert rows[:, scored.offsets > 0].any()
        assert columns[:, scored.offsets < 0].any()


def test_divergence_is_that_of_every_two_heads(run_of_each_tokenizer):
    run = run_of_each_tokenizer
    sums, examples = count_divergence(run.shard(run.pairs), run.described)
    table = merge_divergence([sums], [examples], run.pairs, run.described)
    heads = 4 * len(run.architecture.views)
    divergence = table["divergence"].to_numpy().reshape(heads, heads)
    np.testing.assert_array_equal(divergence, divergence.T)
    assert (np.diag(divergence) == 0).all()
    apart = divergence[~np.eye(heads, dtype=bool)]
    assert (apart > 0).all()
    assert (apart < np.log(2)).all()


def test_norms_are_computed_or_refused_word_for_word(run):
    assert why_not(run.described.architecture) == run.architecture.norms
    if run.architecture.norms:
        with pytest.raises(InputError) as refused:
            count_norms(run.model, run.described, run.pairs)
        assert str(refused.value) == run.architecture.norms
        return
    counts = count_norms(run.model, run.described, run.pairs)
    layers, _ = merge_norms(lambda: iter([counts]), run.pairs, run.described)
    shares = layers.group_by("layer").agg(pl.col("weight_share", "norm_share").sum())
    np.testing.assert_allclose(shares.select("weight_share", "norm_share"), 1, rtol=1e-5)


def test_gradients_are_computed_or_refused_word_for_word(run):
    model = ready_for_gradients(load(run.folder, run.name))
    if run.architecture.gradients:
        with pytest.raises(NoHeadError) as refused:
            load_head(run.folder, run.described, model, {}, None)
        assert str(refused.value) == run.architecture.gradients
        return
    head = load_head(run.folder, run.described, model, {}, None)
    counts = count_gradients(model, head, run.described, run.pairs, seed=0)
    assert counts.height == 3 * 4 * len(run.architecture.views)
    sums = counts.select(KEYS).to_numpy()
    assert np.isfinite(sums).all()
    assert (sums.sum(1) > 0).all()


def test_probes_get_words_vectors_and_hidden_states(run):
    sizes = dict(zip(run.trees["example"], run.trees["words"].list.len(), strict=True))
    parts = list(attended(run.shard(run.sentences), run.sentences, sizes))
    assert sum(len(part.examples) for part in parts) == run.trees.height
    vectors = mean_embeddings(run.model, run.name, pl.Series(["5 6", "7"]))
    assert vectors.shape[0] == 2
    states = run.model.hidden_states(torch.tensor([run.sentences.table["ids"][0].to_list()]))
    assert len(states) == len(run.architecture.views) + 1


def test_layers_are_counted_as_they_run(runs):
    """A network of which a layer is skipped has one less, whatever its config says."""
    bert = runs(ARCHITECTURES[0])
    model = load(bert.folder, "bert")
    del model.network.encoder.layer[1]
    described = describe(model, "bert", "tiny", None)
    assert model.network.config.num_hidden_layers == 3
    assert (described.layers, len(described.views)) == (2, 2)


def test_layers_without_maps_are_refused_under_whatever_name(runs):
    bert = runs(ARCHITECTURES[0])
    model = load(bert.folder, "bert")

    class SomeLayers(torch.nn.Module):
        config = model.network.config

        def forward(self, input_ids, **asked):
            output = model.network(input_ids, **asked)
            output["attentions"] = (output.get("attentions") or ())[::2]
            return output

    with pytest.raises(InputError, match=r"SomeLayers: expected attention maps of each of its 3 layers, found 2; "):
        describe(LoadedModel(SomeLayers(), model.tokenizer, model.device), "bert", "tiny", None)


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.family)
def test_an_architecture_without_maps_is_refused_by_its_config(refused, tmp_path):
    """No weights lie there: it is refused before they are looked for, and before a tokenizer is."""
    config = refused.config()
    config.save_pretrained(tmp_path)
    with pytest.raises(InputError) as said:
        load(tmp_path, "m")
    sentence = str(said.value)
    assert sentence.startswith(
        "model m: expected an architecture with a map of attention weights for every layer and head, found "
        f"{config.model_type}: "
    )
    assert refused.says in sentence
    assert "\n" not in sentence


def test_every_refused_architecture_is_one_that_transformers_knows():
    assert set(transformers.CONFIG_MAPPING) >= set(REASONS)
    assert not set(REASONS) & {config.model_type for config in (entry.config(99) for entry in ARCHITECTURES)}


def test_a_bigbird_of_full_attention_is_taken():
    assert why_no_maps({"model_type": "big_bird"}) == why_no_maps(
        {"model_type": "big_bird", "attention_type": "block_sparse"}
    )
    assert why_no_maps({"model_type": "big_bird", "attention_type": "original_full"}) is None


def test_layers_of_other_kinds_are_named():
    layers = ["linear_attention", "full_attention", "conv", "sliding_attention"]
    assert "it has others (conv, linear_attention)" in why_no_maps({"model_type": "new", "layer_types": layers})
    assert why_no_maps({"model_type": "new", "layer_types": layers[1::2]}) is None
    assert why_no_maps({"model_type": "new"}) is None


def test_a_config_that_is_none_is_named(tmp_path):
    for text in ("{", "[1]"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(
            InputError, match=r"model m: expected JSON with the keys of a model in .*config.json, found"
        ):
            load(tmp_path, "m")


def test_a_window_wider_than_the_probe_is_taken_from_gpt_neos_config(tmp_path):
    config = transformers.GPTNeoConfig(
        **{"vocab_size": 700, "hidden_size": 32, "num_heads": 4, "num_layers": 2, "window_size": 256},
        **{"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64, "intermediate_size": 48},
    )
    described = describe(load(save_checkpoint(tmp_path, config, wordpiece()), "neo"), "neo", "tiny", None)
    assert [view.reach for view in described.views] == [None, 255]


def test_xlnet_is_given_the_segments_that_it_was_trained_with(runs):
    xlnet = runs(next(entry for entry in ARCHITECTURES if entry.family == "XLNet"))
    ids, segments = ids_and_segments(xlnet)
    assert segments[0, -1] == 2, "its cls is a segment of its own"
    for row in xlnet.sentences.table["segments"]:
        assert row.to_list() == [0] * (len(row) - 1) + [2], "in sentences too"
    told, untold = (xlnet.model.forward(ids, part)[0] for part in (segments, None))
    assert (told[1] - untold[1]).abs().max() > 1e-3


def test_the_page_of_models_says_what_is_found_here():
    """Written by `make docs`."""
    assert (REPOSITORY / "docs" / "models.md").read_text("utf-8") == models_page()
