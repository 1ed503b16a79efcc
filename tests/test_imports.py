"""A job starts with what it uses: which slow packages each script imports. A row a kind of script, none left out."""

import json
import os
import subprocess
import sys
from fnmatch import fnmatch

import pytest
from checkpoints import REPOSITORY

SCRIPTS = REPOSITORY / "scripts"
SLOW = {
    *("altair", "matplotlib", "pandas", "polars", "pyarrow", "requests", "safetensors", "scipy", "sklearn", "stanza"),
    *("torch", "transformers", "vl_convert", "huggingface_hub", "pooch", "jsonschema"),
}
COMES_WITH = {  # what a package imports of itself, in this version or that
    "transformers": {"huggingface_hub", "requests", "safetensors", "scipy"},
    "stanza": {"huggingface_hub", "requests", "safetensors", "scipy", "torch", "transformers", "polars"},
    "altair": {"jsonschema"},
    "sklearn": {"pandas", "pyarrow"},
}
ROWS = {  # the scripts of a kind, and what they import
    "bundle_library": {"vl_convert"},
    "describe_machine fetch_corpus fetch_model": set(),
    "fetch_stanza parse_dependencies resolve_coreference": {"polars", "stanza", "torch", "transformers"},
    "read_* join_* judge_* list_* look_up_* render_*": {"polars"},
    "compare_* merge_[!p]*": {"polars"},
    "choose_* count_syntax count_coreference lay_out_sentences": {"polars", "pyarrow"},
    "count_surface count_divergence count_compare_divergence": {"polars", "pyarrow", "torch"},
    "draw_* write_report": {"altair", "polars", "vl_convert"},
    "map_heads": {"polars", "scipy", "sklearn"},
    "merge_probes score_probes train_probe": {"polars", "pyarrow", "safetensors", "torch"},
    "score_structural train_structural": {"polars", "pyarrow", "safetensors", "scipy", "torch"},
    "describe_model": {"torch", "transformers"},
    "check_mlm_head count_gradients count_norms embed_words train_mlm_head": {"polars", "torch", "transformers"},
    "encode_* extract_*": {"polars", "pyarrow", "torch", "transformers"},
}
IMPORT = """
import importlib, json, sys
for script in sys.argv[1:]:
    importlib.import_module(script)
print(json.dumps(sorted(sys.modules)))
"""


def scripts_of(row):
    return sorted(path.stem for path in SCRIPTS.glob("*.py") if any(fnmatch(path.stem, kind) for kind in row.split()))


def test_every_script_stands_in_one_row():
    listed = sorted(script for row in ROWS for script in scripts_of(row))
    assert listed == sorted(path.stem for path in SCRIPTS.glob("*.py"))


@pytest.mark.parametrize("row", ROWS)
def test_a_script_imports_what_it_uses_and_nothing_slow_besides(row):
    command = [sys.executable, "-c", IMPORT, *scripts_of(row)]
    run = subprocess.run(
        command, cwd=SCRIPTS, env=os.environ | {"PYTHONPATH": str(SCRIPTS)}, capture_output=True, text=True, check=True
    )
    modules = {module.partition(".")[0] for module in json.loads(run.stdout.splitlines()[-1])}
    loaded = modules & SLOW
    drawn_in = set().union(*(COMES_WITH.get(package, set()) for package in ROWS[row]))
    assert loaded - drawn_in - ROWS[row] == set(), "imported, and not used by scripts of this row"
    assert ROWS[row] <= loaded, "no longer imported: strike it out of the row"
    assert "snakemake" not in modules
