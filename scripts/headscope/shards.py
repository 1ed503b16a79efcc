"""
What shards of every format share: Parquet of arrays as bytes, written whole or not at all, read without a copy.

A format says of itself what it holds (`Header`). Its cells are the bytes of little-endian floats, rows of one size
stand together in a row group, the largest first, pages carry checksums, and the schema's metadata holds format version,
dtype, shape and the fingerprints of model and corpus.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, fields
from operator import itemgetter
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headscope.errors import InputError
from headscope.files import read_ahead, replacing, settle_on_disk
from headscope.seals import FOOTER, refuse_damaged, seal

DTYPES = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}
Read = TypeVar("Read")


class Header:
    """
    What a shard says of itself. A format is a frozen dataclass of this, with `dtype`, `model` and `corpus`.

    `HOLDS` is what messages call its content, `FORMAT` the version of the format.
    """

    HOLDS: ClassVar[str]
    FORMAT: ClassVar[str]

    def columns(self) -> dict[str, pa.DataType]:
        """Return the columns of a shard of this shape."""
        raise NotImplementedError

    def metadata(self) -> dict[bytes, bytes]:
        """Return the key-value metadata of the Parquet schema."""
        return {f"headscope.{key}".encode(): str(value).encode() for key, value in asdict(self).items()} | {
            b"headscope.format": self.FORMAT.encode()
        }

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of a shard of this shape."""
        return pa.schema(self.columns(), self.metadata())


class RowGroupWriter:
    """Collects rows and writes them in row groups of a few tens of MB; see `writing`."""

    def __init__(self, path, header: Header, row_group_bytes: int):
        self._path = path
        self._schema = header.schema()
        self._row_group_bytes = row_group_bytes  # reached, then exceeded by up to a batch
        self._waiting: list[tuple[int, pa.RecordBatch]] = []
        self._waiting_bytes = 0
        self._parquet = pq.ParquetWriter(
            path,
            self._schema,
            compression="none",
            use_dictionary=False,
            write_statistics=[field.name for field in self._schema if not pa.types.is_large_binary(field.type)],
            write_page_checksum=True,
        )

    def _take(self, size: int, columns: list[pa.Array]):
        """Take rows of one size."""
        rows = pa.record_batch(columns, schema=self._schema)
        self._waiting.append((-size, rows))
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= self._row_group_bytes:
            self._flush()

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

    def abandon(self):
        """Close the file without what waits."""
        self._parquet.close()


def as_cells(values: np.ndarray, rows: int) -> pa.LargeBinaryArray:
    """Return an array as so many cells of equally many bytes, without a copy where it is contiguous."""
    values = np.ascontiguousarray(values)
    offsets = np.arange(rows + 1, dtype=np.int64) * (values.nbytes // max(rows, 1))
    return pa.Array.from_buffers(pa.large_binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(values)])


@contextmanager
def writing(path, writer: Callable):
    """Yield `writer(temporary path)`; on success the shard stands under `path`, on an error nothing does."""
    with replacing(path) as temporary:
        shard = writer(temporary)
        try:
            yield shard
        except BaseException:
            shard.abandon()
            raise
        shard.close()
        seal(temporary, mark=FOOTER)


def write_behind(shard, batches: Iterable, done: Callable[[int], None]):
    """Write each batch while the next is computed; `done` is called with the number of its examples."""
    with ThreadPoolExecutor(max_workers=1) as disk:
        pending = None
        for batch in batches:
            if pending:
                pending.result()
            pending = disk.submit(shard.write, batch)
            done(len(batch.examples))
        if pending:
            pending.result()


class ShardFile:
    """
    A shard of any format opened for reading.

    Raises
    ------
    InputError
        If the file is no whole shard of this format and version, or not of the model or corpus that was asked for.
    """

    def __init__(self, path, header: type[Header], model: str | None = None, corpus: str | None = None):
        self._path = path
        refuse_damaged(path, f"shard of {header.HOLDS}")
        try:
            self._parquet = pq.ParquetFile(path, page_checksum_verification=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}: expected a whole shard of {header.HOLDS}, found: {error}; delete it and run again"
            ) from error
        self.info = self._read_header(header)
        for what, wanted, found in (("model", model, self.info.model), ("corpus", corpus, self.info.corpus)):
            if wanted is not None and wanted != found:
                raise InputError(
                    f"{path}: expected {header.HOLDS} of {what} {wanted}, found those of {what} {found}; the {what} "
                    "has changed since: delete the shard and run again"
                )

    def _read_header(self, header: type[Header]):
        schema = self._parquet.schema_arrow
        said = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        version = said.get("headscope.format")
        if version != header.FORMAT:
            found = f"format version {version}" if version else "a Parquet file that is no shard"
            raise InputError(
                f"{self._path}: expected {header.HOLDS} of format version {header.FORMAT}, found {found}; "
                "extract it again with this version of headscope"
            )
        keys = {field.name: f"headscope.{field.name}" for field in fields(header)}
        info = None
        if said.keys() >= set(keys.values()):
            info = header(**{field.name: field.type(said[keys[field.name]]) for field in fields(header)})
        columns = schema.remove_metadata()
        if info is None or info.dtype not in DTYPES or columns != info.schema().remove_metadata():
            raise InputError(
                f"{self._path}: expected the columns of a shard of {header.HOLDS}, found {', '.join(schema.names[:8])}"
                "; extract it again"
            )
        return info

    def _groups(self, read: Callable[[int], Read]) -> Iterator[Read]:
        """Yield what `read` makes of each row group, in order; the next is read meanwhile."""
        return read_ahead(read, range(self._parquet.num_row_groups))

    def _read_rows(self, group: int, columns: list[str] | None = None) -> pa.Table:
        try:
            return self._parquet.read_row_group(group, columns)
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{self._path}: row group {group + 1} is damaged ({error}); delete the shard and run again"
            ) from error

    def _numbers(self, cells: pa.ChunkedArray, shape: tuple[int, ...]) -> np.ndarray:
        """View the bytes of cells as arrays of this shape (cell, ...): the Arrow buffer itself where it is one."""
        chunks = [self._view(chunk, shape) for chunk in cells.chunks if len(chunk)]
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)

    def _view(self, cells: pa.LargeBinaryArray, shape: tuple[int, ...]) -> np.ndarray:
        dtype, numbers = DTYPES[self.info.dtype], int(np.prod(shape))
        _, offsets, values = cells.buffers()
        starts = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
        if (np.diff(starts) != numbers * dtype.itemsize).any():
            raise InputError(
                f"{self._path}: expected {' × '.join(map(str, shape))} numbers in each cell, found another number; "
                "extract it again"
            )
        return np.frombuffer(values, dtype, count=len(cells) * numbers, offset=starts[0]).reshape(-1, *shape)


def runs_of_one_size(rows: pa.Table) -> Iterator[tuple[pa.Table, int]]:
    """Cut rows into runs of one `size`, each with that size."""
    sizes = rows["size"].to_numpy()
    starts = np.flatnonzero(np.diff(sizes, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(sizes)], strict=True):
        yield rows.slice(start, stop - start), int(sizes[start])
