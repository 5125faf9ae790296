"""Tables of several clocks, as plotters export topics: a row a stamp, cells empty where a signal has no sample."""

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import choices
from steelyard.log.channels import HELD, sampled
from steelyard.log.csv_header import TableHead, has_commas, is_number, with_comma
from steelyard.log.table_columns import Layout
from steelyard.numbers import to_float

FEWEST = 2  # samples of a signal
FAR = 3  # own median steps between samples, beyond which no line is drawn between them


def sparse_columns(head: TableHead, plan: Layout) -> tuple[list[NDArray[np.float64]], str] | None:
    """Columns at the rows of the positions, from a table where the cells of a signal may be empty together.

    Args:
        head: of the table.
        plan: which columns are used.

    Returns:
        Each used column (n,): other signals lie on lines between their own samples, what holds has its last value, and
        NaN stands where there is no sample near; and a note. None for what is no such table.
    """
    signals = _signals(plan)
    cells = _cells(head, plan.indices)
    if cells is None or "t" not in signals or "q" not in signals:
        return None
    values, given = cells
    there = {key: given[:, places] for key, places in signals.items()}
    if any((each.any(axis=1) & ~each.all(axis=1)).any() for each in there.values()):
        return None
    rows = {key: np.flatnonzero(each[:, 0]) for key, each in there.items()}
    t = values[:, signals["t"][0]]
    if min(map(len, rows.values())) < FEWEST or not there["t"][given.any(axis=1)].all():
        return None
    if not np.all(np.diff(t[rows["t"]]) >= 0):
        return None
    start, stop = (pick(t[each[end]] for each in rows.values()) for pick, end in ((max, 0), (min, -1)))
    base = rows["q"][(t[rows["q"]] >= start) & (t[rows["q"]] <= stop)]
    if len(base) < FEWEST:
        return None
    result = np.empty((len(base), values.shape[1]))
    moved = []
    for key, places in signals.items():
        own = rows[key]
        if np.isin(base, own).all():
            result[:, places] = values[base][:, places]
            continue
        moved.append(key)
        result[:, places] = _at(t[base], t[own], values[own][:, places], holds=key in HELD)
    note = f"rows: {len(base)} of {len(values)} have positions and are the samples"
    return list(result.T), note + (f"; {choices(moved)} interpolated to their stamps" if moved else "")


def _signals(plan: Layout) -> dict[str, list[int]]:
    """Places among the used columns of each signal."""
    result: dict[str, list[int]] = {}
    for place, column in enumerate(plan.columns):
        result.setdefault(column.channel, []).append(place)
    place = len(plan.columns)
    for number, (_, indices) in enumerate(plan.of_frames):
        result[f"wrench or sensor {number + 1}"] = list(range(place, place + len(indices)))
        place += len(indices)
    return result


def _cells(head: TableHead, used: list[int]) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """(n, k) numbers and whether there is one; None where a cell is neither empty nor a number."""
    comma = has_commas(head, used)
    number = with_comma if comma else to_float
    values, given = [], []
    for _, cells in head.rows():
        if len(cells) <= max(used):
            return None
        chosen = [cells[index] for index in used]
        if not all(not cell or is_number(cell, comma) for cell in chosen):
            return None
        values.append(np.array([number(cell) if cell else np.nan for cell in chosen]))
        given.append(np.array([bool(cell) for cell in chosen]))
    return (np.stack(values), np.stack(given)) if values else None


def _at(at: NDArray, t: NDArray, values: NDArray, *, holds: bool) -> NDArray[np.float64]:
    result, t = sampled(at, t, values, holds=holds), np.unique(t)
    if not holds and len(t) >= FEWEST:
        after = np.clip(np.searchsorted(t, at), 1, len(t) - 1)
        result[(t[after] - t[after - 1] > FAR * np.median(np.diff(t))) & ~np.isin(at, t)] = np.nan
    return result
