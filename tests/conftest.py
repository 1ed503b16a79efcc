import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests' models are small, and several tests run side by side

import pytest
from checkpoints import DEMO_TEXT, save_bert, save_gpt2

from headscope.corpora.text import read_pairs
from headscope.encoding import read_encoded, write_encoded
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.tokenizing import encode_pairs

LONGEST_FIRST = (
    "test_kills.py",
    "test_storage_workflow.py",
    "test_probes_workflow.py",
    "test_slurm.py",
    "test_conda.py",
)


def pytest_collection_modifyitems(items):
    """Of files that are run side by side (--no-loadscope-reorder), one that takes minutes must not be the last."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def bert(bert_folder):
    return load(bert_folder, "bert")


@pytest.fixture(scope="session")
def bert_described(bert):
    return describe(bert, "bert", "tiny", None)


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory):
    return load(save_gpt2(tmp_path_factory.mktemp("gpt2")), "gpt2")


@pytest.fixture(scope="session")
def encoded(bert, bert_described, tmp_path_factory):
    """Twelve pairs of the demo text, of lengths from 6 to 64 tokens."""
    pairs, _ = read_pairs(DEMO_TEXT)
    pairs = pairs.head(12)
    words = [3, 60, 60, 60, 12, 12, 7, 7, 7, 60, 25, 3]
    shorter = [
        {**row, "first": " ".join(row["first"].split()[:count]), "second": " ".join(row["second"].split()[:count])}
        for row, count in zip(pairs.iter_rows(named=True), words, strict=True)
    ]
    table, _ = encode_pairs(type(pairs)(shorter, pairs.schema), bert.tokenizer, 64)
    path = tmp_path_factory.mktemp("encoded") / "examples.parquet"
    write_encoded(table, path, bert_described.tokenizer)
    return read_encoded(path)
