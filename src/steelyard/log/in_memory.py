"""Recordings that are in memory already: tables by arrays, and data frames of pandas, polars and Arrow."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.arguments import found
from steelyard.errors import LogError
from steelyard.log.arrays import build
from steelyard.log.raw_channels import Raw, ReadRequest
from steelyard.log.table_columns import layout


class _NamedArrays:
    """Arrays by name, as a file of arrays has them."""

    def __init__(self, arrays: Mapping[str, Any]):
        self._arrays = arrays
        self.path = Path("the given arrays")

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(map(str, self._arrays))

    def __getitem__(self, key: str) -> NDArray[Any]:
        return np.asarray(self._arrays[key])


def is_frame(source: Any) -> bool:
    """Whether something is a data frame: named columns that become NumPy arrays."""
    return hasattr(source, "columns") and not isinstance(source, Mapping)


def read(source: Any, request: ReadRequest) -> Raw:
    """A mapping from names to arrays, of (n, columns) or of one column each (None: not there), or a data frame.

    Raises LogError.
    """
    if isinstance(source, Mapping):
        source = {str(key): value for key, value in source.items() if value is not None}
        if any(np.ndim(value) == 2 for value in source.values()):
            return build(_NamedArrays(source), request)
    elif not is_frame(source):
        raise LogError(
            f"A log is a path, a Log, a data frame, or arrays by name such as {{'t': t, 'q': q, 'tau': tau}}; found "
            f"{found(source)}."
        )
    headings = getattr(source, "column_names", None) or getattr(source, "columns", source)
    names = [str(name) for name in headings]
    plan = layout(names, request)
    if plan.index is not None and np.asarray(source[names[plan.index]]).dtype.kind not in "iuf":
        plan = replace(plan, index=None)  # episodes called by words
    return plan.build([_column(source, names[index]) for index in plan.indices])


def _column(source: Any, name: str) -> NDArray[np.float64]:
    """(n,) numbers of a column. Raises LogError naming it."""
    try:
        values = source[name]
        found = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LogError(f"column {name!r} is not numbers: {str(error)[:200]}") from error
    if found.ndim != 1:
        raise LogError(f"column {name!r} has shape {found.shape}; give one number a sample, or arrays (n, columns)")
    return found
