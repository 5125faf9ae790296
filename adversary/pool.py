"""Cases in processes, each case ended when its processor time is over: what comes out does not depend on other work."""

import multiprocessing
import signal
import time
import traceback
from collections.abc import Iterable, Iterator
from importlib import import_module

from adversary.suite import Row


def run(name: str, seeds: Iterable[int], *, workers: int) -> Iterator[Row]:
    """Rows of the cases of a suite by name, as they are done."""
    seeds = list(seeds)
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers, max(len(seeds), 1)), initializer=_start) as pool:
        yield from pool.imap_unordered(_row, [(name, seed) for seed in seeds])


def _start() -> None:
    signal.signal(signal.SIGPROF, _late)


def _late(*_) -> None:
    raise TimeoutError("the time of the case is over")


def _row(case: tuple[str, int]) -> Row:
    name, seed = case
    suite = import_module(f"adversary.{name}").SUITE
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, suite.limit)
    try:
        found = suite.one(seed)
    except Exception as error:  # the adversary looks for exactly these
        found = {"raised": type(error).__name__, "message": str(error), "where": traceback.format_exc(limit=-2)}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"seed": seed, "seconds": round(time.process_time() - began, 4), **found}
