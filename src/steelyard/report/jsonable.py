"""Plain JSON values: no arrays, no NaN, no infinity."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def jsonable(value) -> Any:
    """Dicts, lists, strings and finite numbers only; NaN and infinity become None.

    Raises TypeError for objects that have no plain form.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no plain JSON form")
