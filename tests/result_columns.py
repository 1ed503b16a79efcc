"""The columns that a real run's tables have, against the list that the manual is written from."""

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from headscope.tables import read_table, result_tables, table_at

MADE_BY = {  # which tables a workflow test makes; together all of them
    "test_workflow": {
        *(f"surface/{name}" for name in ("heads", "uniform", "maps")),
        *(f"clusters/{name}" for name in ("divergence", "map", "tests")),
        *(f"norms/{name}" for name in ("layers", "heads", "shares", "claims")),
        *("claims", "compare/claims", "skipped"),
    },
    "test_gradients_workflow": {f"gradients/{name}" for name in ("layers", "heads", "loss")},
    "test_treebank_workflow": {f"syntax/{name}" for name in ("heads", "table1", "examples")},
    "test_coreference_workflow": {
        f"coreference/{name}" for name in ("heads", "table2", "distances", "mentions", "links", "passage")
    },
    "test_probes_workflow": {f"probes/{name}" for name in ("table3", "curve", "weights", "coverage")},
    "test_series_workflow": {
        *(f"series/{name}" for name in ("syntax/best", "syntax/traced", "surface/heads", "surface/layers")),
        *(f"compare/{name}" for name in ("divergence", "nearest", "layers", "pairs", "left_out")),
    },
}
BY_MODEL = {  # these have the columns of another, with the model in front
    "compare/syntax": "syntax/table1",
    "compare/coreference": "coreference/table2",
    "compare/probes": "probes/table3",
}


def check_columns(folder: Path, test: str):
    """Every table of a run, Parquet and CSV, has the columns and types of the list; those of this test are there."""
    found = set()
    for path in sorted(folder.glob("results/**/*.parquet")):
        table = table_at(path)
        assert pl.read_parquet_schema(path) == table.schema, f"{path} and scripts/headscope/tables.yaml differ"
        if path.with_suffix(".csv").is_file():
            assert_frame_equal(read_table(path.with_suffix(".csv")), read_table(path))
        found.add(table.name)
    assert MADE_BY[Path(test).stem] <= found <= result_tables().keys()
