"""Parquet tables: the columns of a CSV table, typed; structures are `arm/q`, lists of one length are `q[0], q[1], ...`.

LeRobot data sets keep their signals in such lists (`observation.state`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.extras import extra
from steelyard.log.arrays import require_size
from steelyard.log.channels import factor
from steelyard.log.raw_channels import Raw, ReadRequest
from steelyard.log.table_columns import layout

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Field
    from pyarrow.parquet import ParquetFile


def read(path: Path, request: ReadRequest) -> Raw:
    """Read a table. Checksums of pages are verified where the file has them. Raises LogError for a file that is cut
    short or damaged, for lists of varying length, and for columns with missing values."""
    with _opened(path) as file:
        widths = _widths(file)
        leaves = [(name, i) for name, width in widths.items() for i in range(width or 1)]
        headers = [name if widths[name] is None else f"{name}[{i}]" for name, i in leaves]
        plan = layout(headers, request)
        start, stop = request.rows or (0, file.metadata.num_rows)
        require_size(8 * (stop - start) * len(plan.indices), str(path))
        wanted = list(dict.fromkeys(leaves[index][0] for index in plan.indices))
        table = _rows(file, [name.replace("/", ".") for name in wanted], start, stop)
        flat = {name: _matrix(_column(table, name), widths[name], f"{path}, column {name!r}") for name in wanted}
        return plan.build([flat[leaves[index][0]][:, leaves[index][1]] for index in plan.indices])


def column(path: Path, name: str) -> NDArray[Any]:
    """(n,) numbers of one column. Raises LogError."""
    with _opened(path) as file:
        require_size(8 * file.metadata.num_rows, str(path))
        return _matrix(file.read(columns=[name])[name], None, f"{path}, column {name!r}")[:, 0]


def length(path: Path) -> int:
    """Rows of a table, from its footer alone. Raises LogError for a file that is not a whole one."""
    with _opened(path) as file:
        return file.metadata.num_rows


@contextmanager
def _opened(path: Path) -> "Iterator[ParquetFile]":
    with extra("Reading Parquet"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path, page_checksum_verification=True, thrift_string_size_limit=2**24) as file:
            yield file
    except (ArrowException, OSError, ValueError, KeyError) as error:
        raise LogError(f"{path} is not a whole Parquet file: {str(error)[:300]}") from error


def _rows(file: "ParquetFile", columns: list[str], start: int, stop: int):
    """Rows from start to stop, of the row groups that hold them alone."""
    ends = np.cumsum([file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)])
    held = [i for i, end in enumerate(ends) if end > start and end - file.metadata.row_group(i).num_rows < stop]
    if len(held) == len(ends):
        return file.read(columns=columns).slice(start, stop - start)
    before = int(ends[held[0]]) - file.metadata.row_group(held[0]).num_rows if held else 0
    return file.read_row_groups(held, columns=columns).slice(start - before, stop - start)


def _widths(file: "ParquetFile") -> dict[str, int | None]:
    """Numeric columns; None for plain ones, the number of elements for lists."""
    numeric = [found for field in file.schema_arrow for found in _numeric_columns(field, field.name)]
    widths = {name: _first_length(file, name) if lists else None for name, lists in numeric}
    # longer lists are no columns
    return {name: width for name, width in widths.items() if width is None or 0 < width <= 4096}


def _numeric_columns(field: "Field", name: str) -> Iterator[tuple[str, bool]]:
    from pyarrow import types

    kind = field.type
    if types.is_struct(kind):
        for inner in kind:
            yield from _numeric_columns(inner, f"{name}/{inner.name}")
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if _numeric(kind.value_type):
            yield name, True
    elif _numeric(kind):
        yield name, False


def _first_length(file: "ParquetFile", name: str) -> int:
    """Elements of the first list of a column. The counts in the metadata would tell without reading, but where these
    are damaged, Arrow ends the whole process instead of raising (`ColumnChunkMetaData`)."""
    from pyarrow import Table

    for batch in file.iter_batches(batch_size=1, columns=[name.replace("/", ".")]):
        first = _column(Table.from_batches([batch]), name)[0].as_py()
        return 0 if first is None else len(first)
    return 0


def _numeric(kind) -> bool:
    from pyarrow import types

    return types.is_floating(kind) or types.is_integer(kind) or types.is_timestamp(kind) or types.is_duration(kind)


def _column(table, name: str) -> "ChunkedArray":
    top = next((column for column in table.column_names if name == column or name.startswith(f"{column}/")), None)
    if top is None:
        raise LogError(f"column {name!r} is listed in the table but cannot be found in it; write the file again")
    column, rest = table[top], name[len(top) + 1 :]
    if not rest:
        return column
    from pyarrow import chunked_array

    for part in rest.split("/"):
        if column.null_count:
            raise LogError(f"column {top!r} lacks {column.null_count} of {len(column)} values; leave these rows out")
        column = chunked_array([chunk.field(part) for chunk in column.chunks])
    return column


def _matrix(column: "ChunkedArray", width: int | None, where: str) -> NDArray[Any]:
    from pyarrow import types

    if column.null_count:
        raise LogError(f"{where} lacks {column.null_count} of {len(column)} values; leave these rows out")
    if width is not None:
        whole = column.combine_chunks()
        lengths = np.diff(np.asarray(whole.offsets)) if hasattr(whole, "offsets") else width
        if np.any(lengths != width):
            raise LogError(f"{where} holds lists of varying length; a log needs one length")
        values = whole.flatten()
        if values.null_count:
            raise LogError(f"{where} lacks {values.null_count} values; leave these rows out")
        return values.to_numpy(zero_copy_only=False).reshape(-1, width)
    if types.is_timestamp(column.type) or types.is_duration(column.type):
        unit = factor("t", column.type.unit)
        ticks = column.cast("int64").to_numpy()
        return ((ticks - ticks[:1]) * unit)[:, None]  # seconds from the first: an epoch costs digits
    return column.to_numpy()[:, None]
