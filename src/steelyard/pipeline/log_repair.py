"""Corrections that make a log fit its robot, one mistake after the other as diagnoses name them.

They are found on the first part of the log, and kept only where it is then without gross mistakes, and where each
correction, taken back alone, makes the torque error of the last part larger.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from steelyard.corrections import NOTHING, Corrections, corrections_from
from steelyard.decisions.fit_plan import HeldOut
from steelyard.errors import SteelyardError
from steelyard.fit import consistent, validate
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.pipeline.inspection import Inspection, inspect
from steelyard.pipeline.posterior_of_logs import REAL
from steelyard.prepare import prepare
from steelyard.prepare.reading import log_side, read_logs, read_undone, write_log_side

HELD_OUT = HeldOut(0.5)  # corrections are chosen on the first half of the log; the rest proves them
GROSS = ("model_class", "limits")  # warnings that may hide several mistakes at once
ROUNDS = 4  # corrections that are found one after the other
Reader = Callable[[Corrections], Log]


@dataclass(frozen=True)
class LogRepair:
    """corrections: all, those that were there before included; why: what proved a correction, by its word; notes: on
    what was found and is not proven."""

    corrections: Corrections
    why: dict[str, str]
    notes: tuple[str, ...] = ()


def fix_log(
    path, robot: Robot, *, channels: Mapping[str, Any] | None = None, given: Corrections = NOTHING
) -> tuple[Robot, list[str]]:
    """Write the side file of a log with what is proven to be wrong with it, channels and known corrections. Returns the
    robot as the log shows it, and lines on what was written and what was not."""
    before = log_side(path)
    start = before.corrections.joined(given)
    write_of = replace(before, channels={**before.channels, **(channels or {})}, corrections=start)
    robot, _ = read_logs([path], robot, channels=channels, corrections=given)

    def read(corrections: Corrections) -> Log:
        return read_undone(path, robot, beside=replace(write_of, corrections=corrections))

    found = repair(read, robot, start)
    lines = list(found.notes)
    after = replace(write_of, corrections=found.corrections)
    if after == before:
        return robot, [*lines, f"{before.path.name}: nothing more to undo, not written"]
    write_log_side(after, found.why)
    lines.append(f"{before.path.name}: written, {after.said}")
    return robot, lines + ([f"it replaces what undid {before.said}"] if before.said else [])


def repair(read: Reader, robot: Robot, start: Corrections = NOTHING) -> LogRepair:
    """Corrections of a log, none new where none is proven. read: the log with given corrections made. start:
    corrections that are there already, and stay."""
    first = partial(_part, read, 0)
    found = _diagnosed(first, start, robot)
    if _gross(inspect(first(found), robot)):
        return LogRepair(start, {}, ("no corrections explain this log: nothing was written for it to be undone",))
    return _proven(partial(_part, read, 1), first, robot, start, found, [])


def _part(read: Reader, which: int, corrections: Corrections) -> Log:
    return HELD_OUT.parts(read(corrections))[which]


def _gross(seen: Inspection) -> bool:
    told = (*seen.findings, *seen.faults)
    return any(each.severity == "fatal" or each.code in GROSS for each in told)


def _diagnosed(first: Reader, start: Corrections, robot: Robot) -> Corrections:
    """What diagnoses of the first part ask for, one after the other, the gravest first."""
    found = start
    for _ in range(ROUNDS):
        seen = inspect(first(found), robot)
        told = sorted((*seen.findings, *seen.faults), key=lambda each: each.severity != "fatal")
        asked = next((each for told_one in told if (each := _asked(told_one.options)) is not None), None)
        if asked is None or found.joined(asked) == found:
            return found
        found = found.joined(asked)
    return found


def _asked(options: Sequence[str]) -> Corrections | None:
    """The corrections that options of the command line ask for, None for options that are none."""
    asked: dict[str, list[str]] = {}
    for word in options:
        name = word.removeprefix("--").replace("-", "_")
        if word.startswith("--"):
            asked.setdefault(name, [])
        elif asked:
            asked[next(reversed(asked))].append(word)
    if not asked or not set(asked) <= {each.name for each in fields(Corrections)}:
        return None
    return corrections_from({name: words or True for name, words in asked.items()})


def _clear(log: Log, robot: Robot) -> Log:
    ready = prepare(log, robot, refuse=False)
    return ready.log if ready.filtered is None else ready.clear


def _proven(last: Reader, first: Reader, robot: Robot, start: Corrections, found: Corrections, notes) -> LogRepair:
    """Of new corrections those that the last part of the log needs."""
    why: dict[str, str] = {}
    while True:
        new = list(_words(start, found))
        whole = _held_out(first, last, robot, found)
        for name, word in new:
            without = _held_out(first, last, robot, _without(found, name, word))
            better = [a <= (1 - REAL) * b for a, b in zip(whole, without, strict=True)]
            if better[0] or (better[1] and whole[0] <= (1 + REAL) * without[0]):
                model, k = ("", 0) if better[0] else (" of the nominal model", 1)
                why[word] = f"Torque error{model} on the part held out: {whole[k]:.2%}, without it {without[k]:.2%}."
                continue
            notes.append(f"not written: {name} {word}, which takes nothing off the torque error on the part held out")
            found, why = _without(found, name, word), {}
            break
        else:
            return LogRepair(found, why, tuple(notes))


def _words(start: Corrections, found: Corrections) -> Iterator[tuple[str, str]]:
    for each in fields(Corrections):
        old, now = getattr(start, each.name), getattr(found, each.name)
        if isinstance(now, tuple):
            yield from ((each.name, word) for word in now[len(old) :])
        elif now != old:
            yield each.name, each.name if now is True else str(now)


def _without(found: Corrections, name: str, word: str) -> Corrections:
    value = getattr(found, name)
    rest = tuple(each for each in value if each != word) if isinstance(value, tuple) else getattr(NOTHING, name)
    return replace(found, **{name: rest})


def _held_out(first: Reader, last: Reader, robot: Robot, corrections: Corrections) -> tuple[float, float]:
    """Relative torque error on the last part of a fit to the first, and of the nominal model."""
    try:
        fitted, judged = (_clear(part(corrections), robot) for part in (first, last))
        estimate = consistent(accumulate(robot, fitted, armature=True))
        return validate(estimate, judged).relative_error, validate(robot, judged).relative_error
    except SteelyardError:  # such a log cannot be fitted at all
        return np.inf, np.inf
