"""The compiled core, where the installation has it."""

import os
import threading
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from steelyard.errors import OptionError

MOST_THREADS = 16
CHUNK = 512  # samples a pass: the working arrays of an arm stay in the second-level cache
LONG_CHUNK = 4096  # the same of few numbers a sample
NUMBERS = 1 << 20  # in one working array


@cache
def core() -> ModuleType | None:
    """The module of compiled loops, or None with a warning, once, where it was not built."""
    try:
        return import_module("steelyard._core")
    except ImportError:
        warnings.warn(
            "steelyard was installed without its compiled core, because no C++ compiler was found: sums over "
            "samples are the same and five to twenty times slower; the posterior of identify, intervals, Kalman "
            "filters and payloads online are missing. Install g++ or clang, then steelyard again.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def require_core() -> ModuleType:
    """The module of compiled loops. Raises OptionError where it was not built."""
    found = core()
    if found is None:
        raise OptionError(
            "This needs the compiled core, which this installation lacks (engine='native', fit.posterior and identify, "
            "intervals, Kalman filters, payloads online): install g++ or clang, then steelyard again."
        )
    return found


def threads() -> int:
    """Threads of a loop over samples: as many as cores may be used."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS, asked for small matrices only, leaves its threads alone: they wait for each other, at
    three times the processor time."""
    if os.environ.get("OPENBLAS_NUM_THREADS") == "1":
        return nullcontext()
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own, which must be there to be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


def for_each(job: Callable[[Any], object], items: Iterable):
    """Call `job(item)` for every item, on as many threads as cores may be used; raises the first error.

    The threads of `concurrent.futures` load the logging library, which costs more than a short log's sums.
    """
    work, errors, lock = iter(list(items)), [], threading.Lock()

    def take():
        while not errors:
            with lock:
                item = next(work, lock)
            if item is lock:
                return
            try:
                job(item)
            except BaseException as error:
                errors.append(error)

    others = [threading.Thread(target=take) for _ in range(threads() - 1)]
    for each in others:
        each.start()
    take()
    for each in others:
        each.join()
    if errors:
        raise errors[0]
