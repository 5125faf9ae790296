"""The compiled core, where the installation has it."""

import os
import warnings
from functools import cache
from types import ModuleType

from steelyard.errors import OptionError

MOST_THREADS = 16


@cache
def core() -> ModuleType | None:
    """The module of compiled loops, or None with a warning, once, where it was not built."""
    try:
        from steelyard import _core
    except ImportError:
        warnings.warn(
            "steelyard was installed without its compiled core, because no C++ compiler was found: results are the "
            "same, loops over samples five to twenty times slower. Install g++ or clang, then steelyard again.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return _core


def require_core() -> ModuleType:
    """The module of compiled loops. Raises OptionError where it was not built."""
    found = core()
    if found is None:
        raise OptionError("engine='native' needs the compiled core, which this installation lacks; leave out engine.")
    return found


def threads() -> int:
    """Threads of a loop over samples: as many as cores may be used."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)
