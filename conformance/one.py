"""All stages of one robot, each with its time limit."""

import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import steelyard as sy
from conformance import dynamics, files, identification
from conformance.outcome import FAIL, LATE, Outcome
from steelyard.errors import SteelyardError

STAGES: dict[str, Callable[[Path], Outcome]] = {
    "regressor": dynamics.regressor,
    "identifiability": dynamics.structure,
    "identification": identification.identification,
    "urdf": files.urdf,
    "mjcf": files.mjcf,
    "check": files.check,
}


BROKEN = (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RuntimeError, OSError, SyntaxError)


class OutOfTime(Exception):
    """Raised within a stage by the alarm."""


def stages(path: Path, limit: float) -> dict[str, Outcome]:
    """Outcome of each stage; of a model that does not load, the refusal only."""
    try:
        sy.load(path)
    except SteelyardError as error:
        return {"load": files.refusal(error)}
    return {name: timed(stage, path, limit) for name, stage in STAGES.items()}


def timed(stage: Callable[[Path], Outcome], path: Path, limit: float) -> Outcome:
    """One stage within a limit in seconds of processor time, which a busy machine does not lengthen.

    What other engines raise is a failure with their message.
    """
    signal.signal(signal.SIGPROF, _alarm)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = stage(path)
    except OutOfTime:
        outcome = Outcome(LATE, reason=f"more than {limit:.0f} s")
    except SteelyardError as error:
        outcome = files.refusal(error)
    except BROKEN as error:
        outcome = Outcome(FAIL, reason=f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return replace(outcome, seconds=time.process_time() - start)


def _alarm(signum, frame):
    raise OutOfTime
