import re

import polars as pl
import pytest
from checkpoints import REPOSITORY
from result_columns import BY_MODEL, MADE_BY

from headscope.comparison.tables import SURFACE
from headscope.corpora.documents import DOCUMENTS, MENTIONS
from headscope.corpora.text import PAIRS
from headscope.corpora.trees import TREES
from headscope.encoding import ENCODED, Kind
from headscope.errors import InputError
from headscope.store import ShardInfo
from headscope.tables import BLOCK, filled, read_table, result_tables, table_at

DOCS = REPOSITORY / "docs"
OUTPUT = re.compile(r'_csv="(results/[^"]+)\.csv"')


def of_rules() -> set[str]:
    """The paths of all tables that rules write as CSV, without ending."""
    rules = "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "workflow/rules").glob("*.smk"))
    paths = set(OUTPUT.findall(rules))
    any_analysis = "results/compare/{corpus}/{analysis}"
    assert any_analysis in paths
    return paths - {any_analysis} | {f"results/{name.replace('/', '/{corpus}/', 1)}" for name in BY_MODEL}


def test_every_table_of_the_rules_is_documented_and_no_other():
    assert {table.path for table in result_tables().values()} == of_rules()


def test_every_table_is_checked_against_a_real_run_or_its_schema():
    checked = set().union(*MADE_BY.values(), BY_MODEL, ["compare/surface"])
    assert checked == result_tables().keys()
    for test in MADE_BY:
        text = (REPOSITORY / "tests" / f"{test}.py").read_text("utf-8")
        assert "check_columns(finished, __file__)" in text, test
    assert result_tables()["compare/surface"].schema == SURFACE
    for name, like in BY_MODEL.items():
        assert result_tables()[name].schema == pl.Schema({"model": pl.String} | result_tables()[like].schema)


@pytest.mark.parametrize("page", sorted({table.page for table in result_tables().values()}))
def test_a_page_has_the_columns_of_its_tables(page):
    text = (DOCS / page).read_text("utf-8")
    assert {name for _, name, _ in BLOCK.findall(text)} == {
        table.name for table in result_tables().values() if table.page == page
    }
    assert filled(text) == text, "run make docs"
    for table in result_tables().values():
        if table.page == page:
            for name, column in table.columns.items():
                assert f"| `{name}` | {column.type} | {column.unit or '–'} | {column.meaning} |" in text


def columns_of(section: str) -> dict[str, str]:
    """The columns of the table in a section of the page of file formats: name and type."""
    text = (DOCS / "files.md").read_text("utf-8").split(f"\n## {section}", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", text, re.MULTILINE))


def test_the_page_of_formats_has_the_columns_of_shards_and_examples():
    shard = ShardInfo("float16", 12, 12, "model", "corpus")
    documented = {name: kind.partition(" ")[0] for name, kind in columns_of("Attention maps").items()}
    assert list(documented.items()) == [(name, str(kind)) for name, kind in shard.columns().items()]
    files = {"Encoded examples": ENCODED, "Text": PAIRS, "Trees": TREES, "Documents": DOCUMENTS}
    for section, schema in files.items():
        assert list(columns_of(section).items()) == [(name, str(kind)) for name, kind in schema.items()]
    assert result_tables()["coreference/mentions"].schema == MENTIONS
    text = (DOCS / "files.md").read_text("utf-8")
    assert all(f"`{key.decode()}`" in text for key in shard.metadata())
    assert f"`headscope.format` ({ShardInfo.FORMAT})" in text.replace("\n", " ")
    assert all(f"{kind.value} " in text for kind in Kind)


def test_a_column_has_a_type_and_a_meaning():
    for table in result_tables().values():
        for name, column in table.columns.items():
            assert column.type in {"String", "Boolean"} or column.type.startswith(("UInt", "Int", "Float")), name
            assert column.meaning, name
            if column.type.startswith("Float"):
                assert column.unit or name in {"stress", "depth"}, f"{table.name}: {name} has no unit"


def test_a_table_is_told_by_its_path():
    assert table_at("/far/results/m/c/surface/heads.csv").name == "surface/heads"
    assert table_at("results/compare/c/surface.parquet").name == "compare/surface"
    assert table_at("results/compare/claims.parquet").name == "compare/claims"
    assert table_at("results/m/c/claims.parquet").name == "claims"
    assert table_at("results/series/s/c/surface/heads.parquet").name == "series/surface/heads"
    with pytest.raises(InputError, match="expected the file of a result table below results/"):
        table_at("results/m/c/surface/tails.csv")


def test_a_table_comes_back_with_its_types(tmp_path):
    path = tmp_path / "results" / "m" / "c" / "skipped.csv"
    path.parent.mkdir(parents=True)
    path.write_text("example,where,reason\n,a.txt:3,alone\n7,a.txt:9,too long\n", "utf-8")
    table = read_table(path)
    assert table.rows() == [(None, "a.txt:3", "alone"), (7, "a.txt:9", "too long")]
    assert table.schema == result_tables()["skipped"].schema
    path.write_text("example,where\n7,a.txt:9\n", "utf-8")
    with pytest.raises(
        InputError, match=r"expected the columns example, where, reason, found example, where; it is of"
    ):
        read_table(path)
    with pytest.raises(InputError, match="expected the table surface/heads, found no file; run the workflow first"):
        read_table(path.parent / "surface" / "heads.parquet")
