"""The binary shard against the same maps as list<float16>, written and read by the same library."""

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import Row, paired_ratio, shown
from headscope.store import Maps, Shard, ShardInfo, writing_shard

EXAMPLES, LAYERS, HEADS, SIZE = 32, 6, 12, 128
PLAIN = {"compression": "none", "use_dictionary": False}


def measure():
    generator = np.random.default_rng(0)
    scores = 3 * generator.standard_normal((EXAMPLES, LAYERS, HEADS, SIZE, SIZE), np.float32)
    weights = np.exp(scores)
    weights = (weights / weights.sum(-1, keepdims=True)).astype("<f2")
    maps = Maps(np.arange(1, EXAMPLES + 1), weights)
    rows = EXAMPLES * LAYERS * HEADS
    with tempfile.TemporaryDirectory(dir=".") as folder:
        ours, theirs = Path(folder) / "binary.parquet", Path(folder) / "list.parquet"

        def write_binary():
            with writing_shard(ours, ShardInfo("float16", LAYERS, HEADS, "m", "c")) as shard:
                shard.write(maps)

        def write_list(**options):
            flat = pa.array(weights.reshape(-1))
            offsets = pa.array(np.arange(rows + 1, dtype=np.int64) * SIZE * SIZE)
            table = pa.table({"weights": pa.LargeListArray.from_arrays(offsets, flat)})
            pq.write_table(table, theirs, **options)
            with open(theirs, "rb") as file:
                os.fsync(file.fileno())

        def read_binary():
            return [batch.weights for batch in Shard(ours)]

        def read_list():
            return pq.read_table(theirs)["weights"].combine_chunks().values.to_numpy()

        results = []
        for name, options in (("", {}), (", uncompressed and without dictionary", PLAIN)):
            writing = paired_ratio(write_binary, partial(write_list, **options))
            np.testing.assert_array_equal(read_binary()[0].ravel(), read_list())
            reading = paired_ratio(read_binary, read_list)
            results += [(name, writing, reading)]
    (_, *by_default), (tuned, *plainly) = results
    return [
        Row("writing maps, `list<float16>` as pyarrow writes it ÷ binary shard", shown(by_default[0]), "at least 5×"),
        Row("reading maps into NumPy, the same", shown(by_default[1]), "at least 8×"),
        Row(f"writing maps, `list<float16>`{tuned} ÷ binary shard", shown(plainly[0]), ""),
        Row("reading maps into NumPy, the same", shown(plainly[1]), ""),
    ]
