"""Which library an array belongs to: functions of this package take those of NumPy and of JAX."""

from types import ModuleType
from typing import Any


def is_numpy_array(x: Any) -> bool:
    """Whether x is an array or a scalar of NumPy."""
    import numpy as np  # here: help and completion do without

    return isinstance(x, np.ndarray | np.generic)


def array_namespace(*arrays: Any) -> ModuleType:
    """The module with the functions for these arrays, by the Python array API standard.

    NumPy follows the standard itself since 2.1; array-api-compat, which serves the others, would load parts of NumPy
    that cost a tenth of a second at start. Raises TypeError for what is no array, and for arrays of several libraries.
    """
    import numpy as np

    if arrays and all(isinstance(x, np.ndarray | np.generic) for x in arrays):
        return np
    from array_api_compat import array_namespace as namespace

    return namespace(*arrays)
