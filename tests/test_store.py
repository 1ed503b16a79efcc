import os

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from headscope import store
from headscope.errors import InputError
from headscope.files import replacing
from headscope.store import Maps, Shard, ShardInfo, Shards, writing_shard

INFO = ShardInfo("float16", layers=2, heads=3, model="model", corpus="corpus")


def random_maps(examples, size, dtype="float16", seed=0):
    weights = np.random.default_rng(seed).random((len(examples), 2, 3, size, size), np.float32)
    weights /= weights.sum(-1, keepdims=True)
    return Maps(np.array(examples, dtype=np.uint32), weights.astype(store.DTYPES[dtype]))


def write(path, *batches, info=INFO):
    with writing_shard(path, info) as shard:
        for maps in batches:
            shard.write(maps)
    return path


def as_written(shard):
    return {
        example: weights
        for maps in shard
        for example, weights in zip(maps.examples.tolist(), maps.weights, strict=True)
    }


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("row_group_bytes", [1, 3000, 2**25])
def test_maps_come_back_to_the_bit(tmp_path, monkeypatch, dtype, row_group_bytes):
    monkeypatch.setattr(store, "ROW_GROUP_BYTES", row_group_bytes)
    batches = [random_maps([7, 2], 9, dtype), random_maps([5], 9, dtype, 1), random_maps([1, 3, 4], 4, dtype, 2)]
    info = ShardInfo(dtype, 2, 3, "model", "corpus")
    path = write(tmp_path / "s.parquet", *batches, info=info)
    shard, shards = Shard(path, "model", "corpus"), Shards([path], "model", "corpus")
    assert shard.info == info
    found = as_written(shard)
    assert list(found) == [7, 2, 5, 1, 3, 4]
    for maps in batches:
        for example, weights in zip(maps.examples.tolist(), maps.weights, strict=True):
            assert found[example].dtype == store.DTYPES[dtype]
            np.testing.assert_array_equal(found[example], weights)
            np.testing.assert_array_equal(shards.example(example), weights)


def test_reading_copies_nothing_out_of_arrow(tmp_path):
    (maps,) = Shard(write(tmp_path / "s.parquet", random_maps([1, 2], 5)))
    assert not maps.weights.flags.owndata


def test_rows_are_example_layer_head_and_row_major(tmp_path):
    maps = random_maps([4, 9], 3)
    table = pl.read_parquet(write(tmp_path / "s.parquet", maps))
    assert table.schema == {
        "example": pl.UInt32,
        "layer": pl.UInt8,
        "head": pl.UInt16,
        "size": pl.UInt16,
        "weights": pl.Binary,
    }
    expected = [(example, layer, head) for example in (4, 9) for layer in (1, 2) for head in (1, 2, 3)]
    assert table.select("example", "layer", "head").rows() == expected
    cell = table.row(-1, named=True)["weights"]
    np.testing.assert_array_equal(np.frombuffer(cell, "<f2").reshape(3, 3), maps.weights[1, 1, 2])


def test_polars_reads_a_map_in_one_line(tmp_path):
    maps = random_maps([4, 9], 3)
    path = write(tmp_path / "s.parquet", maps)
    one = pl.scan_parquet(path).filter(example=9, layer=2, head=1)
    weights = one.select(pl.col("weights").bin.reinterpret(dtype=pl.Array(pl.Float16, (3 * 3)))).collect().to_series()
    np.testing.assert_array_equal(weights.to_numpy().reshape(3, 3), maps.weights[0 + 1, 1, 0])


def test_many_layers_take_a_wider_column():
    assert str(ShardInfo("float16", 255, 1, "", "").schema().field("layer").type) == "uint8"
    assert str(ShardInfo("float16", 256, 1, "", "").schema().field("layer").type) == "uint16"


def test_an_empty_shard_is_a_shard(tmp_path):
    assert list(Shard(write(tmp_path / "s.parquet"), "model", "corpus")) == []


def test_maps_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match="do not fit"):
        write(tmp_path / "s.parquet", random_maps([1], 3, "float32"))
    with pytest.raises(ValueError, match="do not fit"):
        write(tmp_path / "s.parquet", random_maps([1], 3)._replace(weights=np.zeros((1, 2, 3, 3, 4), "<f2")))
    assert list(tmp_path.iterdir()) == []


def test_an_error_on_the_way_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError), writing_shard(tmp_path / "s.parquet", INFO) as shard:
        shard.write(random_maps([1], 3))
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_dead_process_left_is_cleared_and_a_live_one_is_let_be(tmp_path):
    with replacing(tmp_path / "file") as temporary:
        mine = temporary.name
        temporary.write_text("")
    dead = tmp_path / mine.replace(f".{os.getpid()}.", f".{2**22 + 1}.")
    alive = tmp_path / mine.replace(f".{os.getpid()}.", ".1.")
    dead.touch()
    alive.touch()
    with replacing(tmp_path / "file") as temporary:
        temporary.write_text("")
    assert sorted(tmp_path.iterdir()) == sorted([alive, tmp_path / "file"])


@pytest.mark.parametrize("keep", [0, 3, 100, -30, -1])
def test_a_truncated_shard_is_refused_by_name(tmp_path, keep):
    path = write(tmp_path / "s.parquet", random_maps([1, 2], 9))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"s.parquet: expected a whole shard of attention maps, found"):
        Shard(path)


def test_a_flipped_bit_is_found(tmp_path):
    path = write(tmp_path / "s.parquet", random_maps([1, 2], 40))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 8
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"s.parquet: row group 1 is damaged"):
        list(Shard(path))


def test_another_format_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(ShardInfo, "FORMAT", "99")
    path = write(tmp_path / "s.parquet", random_maps([1], 3))
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"s.parquet: expected .*format version 1, found format version 99"):
        Shard(path)


def test_a_parquet_file_of_another_kind_is_refused(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"other.parquet: .*found a Parquet file that is no shard"):
        Shard(tmp_path / "other.parquet")


def test_a_shard_of_other_columns_is_refused(tmp_path):
    table = pq.read_table(write(tmp_path / "s.parquet", random_maps([1], 3)))
    pq.write_table(table.drop_columns(["size"]), tmp_path / "s.parquet")
    with pytest.raises(InputError, match=r"s.parquet: expected the columns of a shard"):
        Shard(tmp_path / "s.parquet")


def test_a_shard_of_another_model_or_corpus_is_refused(tmp_path):
    path = write(tmp_path / "s.parquet", random_maps([1], 3))
    with pytest.raises(InputError, match="maps of model new, found those of model model"):
        Shard(path, model="new", corpus="corpus")
    with pytest.raises(InputError, match="maps of corpus new, found those of corpus corpus"):
        Shard(path, model="model", corpus="new")


def test_an_example_is_found_in_whichever_shard_has_it(tmp_path):
    first, second = random_maps([1, 2], 4), random_maps([3], 4, seed=1)
    paths = [write(tmp_path / "1.parquet", first), write(tmp_path / "2.parquet", second), write(tmp_path / "3.parquet")]
    shards = Shards(paths, "model", "corpus")
    np.testing.assert_array_equal(shards.example(3), second.weights[0])
    assert [maps.examples.tolist() for maps in shards] == [[1, 2], [3]]
    with pytest.raises(InputError, match="example 4: expected it in one of 3 shards"):
        shards.example(4)
