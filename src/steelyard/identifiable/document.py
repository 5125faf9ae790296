"""The analysis of a robot as plain values, for programs."""

from collections.abc import Iterable
from dataclasses import asdict

import numpy as np

from steelyard.identifiable.excitation import Excitation
from steelyard.identifiable.result import Identifiability
from steelyard.identifiable.thresholds import THRESHOLDS


def document(
    result: Identifiability, *, links: Iterable[str] = (), motors: Iterable[str] = (), data: Excitation | None = None
) -> dict:
    """All that the table and its sections say. links: those explained in words; motors: sentences on shared ones; data:
    excitation by a log.

    base_parameters: expression may end in how many more terms there are; regroups has them all, factor and name.
    parameters: status is a name of `Status` (ALONE, BASE, COMBINED, UNIDENTIFIABLE), value what the model states.
    """
    parameters = zip(result.names, result.units, result.values, result.status, strict=True)
    found = {
        "robot": result.robot.name,
        "count": result.count,
        "size": result.size,
        "method": result.method,
        "bodies": list(result.mechanism.layout.body_names),
        "parameters": [
            {"name": name, "unit": unit, "value": float(value), "status": status.name}
            for name, unit, value, status in parameters
        ],
        "base_parameters": [
            {"name": name, "expression": text, "regroups": _terms(result, row)}
            for name, text, row in zip(result.base_names, result.expressions(), result.basis.regrouping, strict=True)
        ],
        "dimensions": [asdict(each) for each in result.dimensions or ()],
        "explained": {link: result.explain(link) for link in links},
        "shared_motors": list(motors),
        "notes": list(result.mechanism.notes),
    }
    if data is not None:
        found["excitation"] = {
            "rank": data.rank,
            "condition": data.condition if data.agrees else None,
            "level": {name: float(level) for name, level in zip(data.names, data.level, strict=True)},
            "weakest": list(data.weakest),
        }
    return found


def _terms(result: Identifiability, row) -> list:
    """What a base parameter regroups, row (p,) of its factors in SI units; factors that are rounding left out."""
    size = np.abs(row) * result.mechanism.scale
    return [[float(row[j]), result.names[j]] for j in np.flatnonzero(size > THRESHOLDS.negligible * size.max())]
