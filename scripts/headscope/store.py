"""
The shard: attention maps in Parquet, written whole or not at all and read into NumPy without a copy.

One row per (example, layer, head), in that order within an example: `example: uint32, layer: uint8 or uint16,
head: uint16, size: uint16, weights: large_binary`. The weights are little-endian float16 (or float32), row-major
(query, key), size × size; layers and heads from 1. In a row group examples of one size stand together, the
largest first, so their order is not that of their numbers. The schema's metadata holds format version, dtype, layers,
heads and the fingerprints of model and corpus.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headscope.errors import InputError
from headscope.files import replacing, settle_on_disk

FORMAT_VERSION = "1"
DTYPES = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}
ROW_GROUP_BYTES = 16 * 2**20  # reached, then exceeded by up to a batch


class Maps(NamedTuple):
    """Attention maps of examples of one size: numbers (example,), weights (example, layer, head, query, key)."""

    examples: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class ShardInfo:
    """What a shard says of itself: what it holds and what it was made from."""

    dtype: str
    layers: int
    heads: int
    model: str
    corpus: str

    def metadata(self) -> dict[bytes, bytes]:
        """Return the key-value metadata of the Parquet schema."""
        return {f"headscope.{key}".encode(): str(value).encode() for key, value in asdict(self).items()} | {
            b"headscope.format": FORMAT_VERSION.encode()
        }

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of a shard of this many layers."""
        layer = pa.uint8() if self.layers < 2**8 else pa.uint16()
        columns = {
            "example": pa.uint32(),
            "layer": layer,
            "head": pa.uint16(),
            "size": pa.uint16(),
            "weights": pa.large_binary(),
        }
        return pa.schema(columns, self.metadata())


class ShardWriter:
    """Collects maps and writes them in row groups of a few tens of MB; see `writing_shard`."""

    def __init__(self, path, info: ShardInfo):
        self._path = path
        self._info = info
        self._schema = info.schema()
        self._waiting: list[tuple[int, pa.RecordBatch]] = []
        self._waiting_bytes = 0
        self._parquet = pq.ParquetWriter(
            path,
            self._schema,
            compression="none",
            use_dictionary=False,
            write_statistics=["example", "layer", "head", "size"],
            write_page_checksum=True,
        )

    def write(self, maps: Maps):
        """
        Take maps of the shard's dtype; the array must not change afterwards (it is not copied).

        Raises
        ------
        ValueError
            If dtype or shape is not the shard's.
        """
        weights, info = maps.weights, self._info
        _, layers, heads, size, keys = weights.shape
        if weights.dtype != DTYPES[info.dtype] or (layers, heads, keys) != (info.layers, info.heads, size):
            raise ValueError(f"{weights.dtype} maps of shape {weights.shape} do not fit into {info}")
        self._waiting.append((-size, self._rows(maps.examples, np.ascontiguousarray(weights))))
        self._waiting_bytes += weights.nbytes
        if self._waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _rows(self, examples, weights) -> pa.RecordBatch:
        _, layers, heads, size, _ = weights.shape
        rows = len(examples) * layers * heads
        offsets = np.arange(rows + 1, dtype=np.int64) * size * size * weights.itemsize
        columns = [
            np.repeat(examples.astype(np.uint32), layers * heads),
            np.tile(np.repeat(np.arange(1, layers + 1), heads), len(examples)),
            np.tile(np.arange(1, heads + 1), len(examples) * layers),
            np.full(rows, size),
        ]
        types = self._schema.types
        arrays = [pa.array(column, type) for column, type in zip(columns, types[:4], strict=True)]
        bytes_ = pa.Array.from_buffers(types[4], rows, [None, pa.py_buffer(offsets), pa.py_buffer(weights)])
        return pa.record_batch([*arrays, bytes_], schema=self._schema)

    def _flush(self):
        if self._waiting:
            by_size = sorted(self._waiting, key=itemgetter(0))  # so that a reader gets all of one size at once
            table = pa.Table.from_batches([rows for _, rows in by_size])
            self._parquet.write_table(table, row_group_size=table.num_rows)
            settle_on_disk(self._path)
        self._waiting, self._waiting_bytes = [], 0

    def close(self):
        """Write what waits, and the footer."""
        self._flush()
        self._parquet.close()


@contextmanager
def writing_shard(path, info: ShardInfo):
    """Yield a `ShardWriter`; on success the shard stands under `path`, on an error nothing does."""
    with replacing(path) as temporary:
        writer = ShardWriter(temporary, info)
        try:
            yield writer
        except BaseException:
            writer._parquet.close()
            raise
        writer.close()


class Shard:
    """
    A shard opened for reading.

    Raises
    ------
    InputError
        If the file is no whole shard of this format version, or not of the model or corpus that was asked for.
    """

    def __init__(self, path, model: str | None = None, corpus: str | None = None):
        self._path = path
        try:
            self._parquet = pq.ParquetFile(path, page_checksum_verification=True)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(
                f"{path}: expected a whole attention shard, found: {error}; delete it and run again"
            ) from error
        self.info = self._read_info()
        for what, wanted, found in (("model", model, self.info.model), ("corpus", corpus, self.info.corpus)):
            if wanted is not None and wanted != found:
                raise InputError(
                    f"{path}: expected attention maps of {what} {wanted}, found those of {what} {found}; the {what} "
                    "has changed since: delete the shard and run again"
                )

    def _read_info(self) -> ShardInfo:
        schema = self._parquet.schema_arrow
        said = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        version = said.get("headscope.format")
        if version != FORMAT_VERSION:
            found = f"format version {version}" if version else "a Parquet file that is no shard"
            raise InputError(
                f"{self._path}: expected an attention shard of format version {FORMAT_VERSION}, found {found}; "
                "extract it again with this version of headscope"
            )
        info = ShardInfo(**{field.name: field.type(said[f"headscope.{field.name}"]) for field in fields(ShardInfo)})
        if info.dtype not in DTYPES or schema.remove_metadata() != info.schema().remove_metadata():
            raise InputError(f"{self._path}: expected the columns of a shard, found {schema.names}; extract it again")
        return info

    def __iter__(self) -> Iterator[Maps]:
        """Yield the maps of the whole shard, at most a row group at a time; the next is read meanwhile."""
        groups = range(self._parquet.num_row_groups)
        with ThreadPoolExecutor(max_workers=1) as disk:
            reading = [disk.submit(self._read_group, group) for group in groups[:1]]
            for group in groups:
                maps = reading.pop().result()
                reading = [disk.submit(self._read_group, following) for following in groups[group + 1 : group + 2]]
                yield from maps

    def example(self, number: int) -> np.ndarray | None:
        """Return the maps of one example, (layer, head, query, key), or None where the shard does not hold it."""
        for group in range(self._parquet.num_row_groups):
            seen = self._parquet.metadata.row_group(group).column(0).statistics
            if seen.min <= number <= seen.max:
                for maps in self._read_group(group):
                    if number in maps.examples:
                        return maps.weights[maps.examples.tolist().index(number)]
        return None

    def _read_group(self, group: int) -> list[Maps]:
        try:
            rows = self._parquet.read_row_group(group)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(
                f"{self._path}: row group {group + 1} is damaged ({error}); delete the shard and run again"
            ) from error
        per_example = self.info.layers * self.info.heads
        if rows.num_rows % per_example:
            raise InputError(
                f"{self._path}: expected {per_example} rows an example, found {rows.num_rows} in a row "
                "group; extract it again"
            )
        return [
            Maps(run["example"].to_numpy()[::per_example], self._weights(run["weights"], size))
            for run, size in _runs_of_one_size(rows)
        ]

    def _weights(self, cells: pa.ChunkedArray, size: int) -> np.ndarray:
        """View the bytes of consecutive cells as maps: the Arrow buffer itself where it is one chunk."""
        chunks = [self._view(chunk, size) for chunk in cells.chunks if len(chunk)]
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)

    def _view(self, cells: pa.LargeBinaryArray, size: int) -> np.ndarray:
        dtype = DTYPES[self.info.dtype]
        _, offsets, values = cells.buffers()
        starts = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
        if (np.diff(starts) != size * size * dtype.itemsize).any():
            raise InputError(
                f"{self._path}: a map of size {size} does not have {size} × {size} weights; extract it again"
            )
        weights = np.frombuffer(values, dtype, count=len(cells) * size * size, offset=starts[0])
        return weights.reshape(-1, self.info.layers, self.info.heads, size, size)


def _runs_of_one_size(rows: pa.Table) -> Iterator[tuple[pa.Table, int]]:
    sizes = rows["size"].to_numpy()
    starts = np.flatnonzero(np.diff(sizes, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(sizes)], strict=True):
        yield rows.slice(start, stop - start), int(sizes[start])


def find_example(paths, number: int, model: str, corpus: str) -> np.ndarray:
    """
    Return the maps of one example (layer, head, query, key) from whichever shard holds it.

    Raises
    ------
    InputError
        If none does.
    """
    for path in paths:
        weights = Shard(path, model, corpus).example(number)
        if weights is not None:
            return weights
    raise InputError(
        f"example {number}: expected it in one of {len(paths)} shards, found it in none; extract them again"
    )
