import shutil
import subprocess
import sys
import zipfile

import polars as pl
import pytest
from checkpoints import DEMO_TEXT, REPOSITORY

import headscope
from headscope.attention import extract_shard
from headscope.errors import InputError
from headscope.store import Shard
from headscope.surface import merge_surface
from headscope.surface_counts import count_surface
from headscope.syntax.accuracy import Options, merge_syntax, read_scored, schemes_in
from headscope.syntax.scoring import count_syntax

TREEBANK = REPOSITORY / "config" / "demo" / "treebank.conllu"
SENTENCES = 20


@pytest.fixture(scope="module")
def model(bert_folder):
    return headscope.load_model(bert_folder, name="tiny")


@pytest.fixture(scope="module")
def text(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "few.txt"
    path.write_text("\n\n".join(DEMO_TEXT.read_text("utf-8").split("\n\n")[:2]), "utf-8")
    return headscope.encode_text(model, path)


@pytest.fixture(scope="module")
def trees(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("trees") / "few.conllu"
    path.write_text("\n\n".join(TREEBANK.read_text("utf-8").split("\n\n")[:SENTENCES]) + "\n\n", "utf-8")
    return headscope.encode_treebank(model, path)


def in_a_process(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=REPOSITORY / "scripts", check=True, capture_output=True, text=True).stdout


def test_importing_it_imports_nothing_else():
    assert in_a_process("import sys, headscope; print({'torch', 'polars', 'altair'} & {*sys.modules})") == "set()\n"
    assert in_a_process("import sys, headscope; headscope.read_table; print('torch' in sys.modules)") == "False\n"


def test_every_public_name_is_there_and_in_the_manual():
    page = (REPOSITORY / "docs" / "notebook.md").read_text("utf-8")
    for name in headscope.__all__:
        assert callable(getattr(headscope, name))
        assert f"`{name}" in page, f"docs/notebook.md does not name {name}"
        assert name in dir(headscope)
    with pytest.raises(AttributeError, match="'headscope' has no attribute 'measure'"):
        headscope.measure  # noqa: B018


def test_surface_tables_are_those_of_the_workflow_to_the_bit(model, text, tmp_path):
    extract_shard(model.loaded, model.description, text.encoded, tmp_path / "shard.parquet")
    sums = count_surface(Shard(tmp_path / "shard.parquet"), text.encoded)
    heads, uniform = merge_surface(lambda: iter([sums]), text.encoded, model.description)
    found = headscope.surface_tables(model, text)
    assert found.heads.equals(heads)
    assert found.uniform.equals(uniform)
    assert found.heads.height == 3 * 4


def test_syntax_tables_are_those_of_the_workflow_to_the_bit(model, trees, tmp_path):
    extract_shard(model.loaded, model.description, trees.encoded, tmp_path / "shard.parquet")
    hits = tmp_path / "hits.parquet"
    count_syntax(Shard(tmp_path / "shard.parquet"), trees.encoded, trees.trees).write_parquet(hits)
    scored = {scheme: read_scored([hits], scheme, model.description, trees.encoded) for scheme in schemes_in([hits])}
    heads, table1 = merge_syntax(scored, Options(resamples=100))
    found = headscope.syntax_tables(model, trees, resamples=100)
    assert found.heads.equals(heads)
    assert found.table1.equals(table1)
    assert found.table1["scheme"].unique().sort().to_list() == ["stanford", "ud"]


def test_the_maps_of_one_example_are_those_of_all(model, text):
    tokens, weights = headscope.attention_of(model, text, 2)
    assert tokens == text.encoded.table.filter(example=2)["tokens"].item().to_list()
    assert weights.shape == (3, 4, len(tokens), len(tokens))
    for batch in headscope.attention_of_all(model, text, "float32"):
        for number, maps in zip(batch.examples.tolist(), batch.weights, strict=True):
            if number == 2:
                assert abs(maps - weights).max() < 1e-6


def test_paragraphs_are_paired_as_in_a_file(model, text, caplog):
    paragraphs = DEMO_TEXT.read_text("utf-8").split("\n\n")[0].split("\n")[:3]
    few = headscope.encode_text(model, paragraphs)
    assert few.encoded.table["ids"].to_list() == text.encoded.table["ids"].head(1).to_list()
    assert few.skipped.rows() == [(None, "text:3", "last paragraph of its document, no paragraph to pair it with")]
    assert "1 passed over; see .skipped" in caplog.text
    assert repr(few).startswith("Corpus(1 examples, ")
    assert repr(model) == "Model(tiny: BertModel, 3 layers of 4 heads)"


def test_a_hub_model_is_fetched_once_into_its_folder(bert_folder, tmp_path, monkeypatch):
    commit, asked = "0" * 40, []

    def fetch(source, revision, folder, files, **options):
        asked.append((source, revision, folder, files, options))
        shutil.copytree(bert_folder, folder)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headscope.fetch.fetch_checkpoint", fetch)
    found = headscope.load_model("org/tiny", revision=commit)
    options = {"allow_pickle": False, "allow_remote_code": False, "random_init": False}
    assert asked == [("org/tiny", commit, "downloads/models/tiny", "downloads/models/tiny.json", options)]
    assert (found.description.name, found.description.source, found.description.revision) == (
        "tiny",
        "org/tiny",
        commit,
    )


def test_wrong_input_is_one_sentence(model, text, trees):
    with pytest.raises(InputError, match=r"'few\.txt': expected the path of a file, found none there"):
        headscope.encode_text(model, "few.txt")
    with pytest.raises(InputError, match="expected the path of a file, found none there"):
        headscope.encode_text(model, "A whole text where a path is meant. " * 200)
    with pytest.raises(InputError, match="text: expected two paragraphs or more, found 1; or give a file's path"):
        headscope.encode_text(model, ["One paragraph."])
    with pytest.raises(InputError, match="max_tokens: expected at most 64 tokens, the limit of model tiny, found 128"):
        headscope.encode_text(model, ["One.", "Two."], max_tokens=128)
    with pytest.raises(
        InputError, match=r"expected a text \(encode_text\), found a treebank; syntax_tables takes that"
    ):
        headscope.surface_tables(model, trees)
    with pytest.raises(
        InputError, match=r"expected a treebank \(encode_treebank\), found a text; surface_tables takes"
    ):
        headscope.syntax_tables(model, text)
    with pytest.raises(InputError, match="model source 'no/folder': expected a folder, found none there"):
        headscope.load_model("no/folder")
    with pytest.raises(InputError, match="example 99: expected one of"):
        headscope.attention_of(model, text, 99)
    other = headscope.encode_text(model, ["One.", "Two."])
    other = type(other)(other.encoded._replace(tokenizer="another"), other.skipped)
    with pytest.raises(InputError, match="model tiny: expected examples in its own tokens"):
        headscope.surface_tables(model, other)


def test_the_package_has_every_module_and_the_list_of_tables(tmp_path):
    source = tmp_path / "source"
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, source / name)
    shutil.copytree(
        REPOSITORY / "scripts/headscope",
        source / "scripts/headscope",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*pip, "wheel", *options, str(source)], check=True)
    [wheel] = tmp_path.glob("headscope-*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("headscope/")}
    ours = (REPOSITORY / "scripts").rglob("headscope/**/*")
    wanted = {path.relative_to(REPOSITORY / "scripts") for path in ours if path.is_file() and path.suffix != ".pyc"}
    assert packed == {path.as_posix() for path in wanted}
    subprocess.run([*pip, "install", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)], check=True)
    code = "import headscope; print(headscope.__version__, headscope.result_tables()['skipped'].path)"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "site", check=True, capture_output=True, text=True
    )
    assert found.stdout == f"{headscope.__version__} results/{{model}}/{{corpus}}/skipped\n"


def test_a_chart_is_drawn_from_the_tables(model, text, tmp_path):
    heads, uniform = headscope.surface_tables(model, text)
    for draw, title in ((headscope.figure_2, "Figure 2"), (headscope.figure_4, "Figure 4")):
        chart = draw(heads, uniform, model.description, "few")
        assert chart.title.text.startswith(title)
        assert chart.title.subtitle[0] == f"tiny on few: {text.encoded.table.height} examples, " + (
            f"{uniform['tokens'][0]:,} tokens"
        )
    assert isinstance(heads, pl.DataFrame)
