"""Corrections that make a log fit its robot, one mistake after the other or several at once.

Exchanged columns, signs and degrees hide each other from a diagnosis: a beam search from the log as it is adds at each
step the mistakes whose undoing takes most off the torque error of a fit.

Corrections are found on the first part of the log and proven on its last.

A diagnosis names one mistake at a time. Where several hide each other (a sign, columns that are exchanged, degrees), a
beam search over them looks for the few that explain the torques of the first part best. What either finds is kept only
where the log is then without gross mistakes, and where each correction, taken back alone, makes the torque error of the
last part larger.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.corrections import NOTHING, Corrections, corrections_from
from steelyard.decisions.fit_plan import HeldOut
from steelyard.errors import SteelyardError
from steelyard.fit import consistent, least_squares, validate
from steelyard.information import accumulate
from steelyard.job_options import INSPECT, words_of
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.pipeline.inspection import Inspection, inspect
from steelyard.prepare import prepare
from steelyard.prepare.reading import log_side, read_logs, read_undone, write_log_side

BEAM, LIKELY, DEPTH = 3, 12, 5  # states that a search goes on from, that it fits, mistakes at once
MANY = 600  # samples that it looks at
BETTER = 0.05  # share of the error that a step must take off: the mirror image of a wrist takes none
ALIKE = 1.3  # ratio of errors below which two explanations are equally good
LIKENESS = 0.1  # of the nominal model's torques beside torque errors
UNIT = 10.0  # ratio of torques beyond which they are in another unit
TURN = np.pi / 180


@dataclass(frozen=True)
class _State:
    """Columns of positions and of torques that joints take, their signs, and whether positions are in degrees."""

    q: tuple[int, ...]
    tau: tuple[int, ...]
    turned_q: frozenset[int] = frozenset()
    turned_tau: frozenset[int] = frozenset()
    degrees: bool = False

    @property
    def mistakes(self) -> int:
        """How many there are: columns that are elsewhere, and joints that are turned."""
        moved = sum((a, b) != (k, k) for k, (a, b) in enumerate(zip(self.q, self.tau, strict=True)))
        return moved + len(self.turned_q | self.turned_tau) + self.degrees

    def of(self, log: Log) -> Log:
        """A filtered log with this undone."""
        signs = [
            np.where([j in turned for j in range(log.nv)], -1.0, 1.0) for turned in (self.turned_q, self.turned_tau)
        ]
        motion = signs[0] * (TURN if self.degrees else 1.0)
        parts = {key: getattr(log, key)[:, self.q] * motion for key in "qva"}
        return log.replace(**parts, tau=log.require("tau")[0][:, self.tau] * signs[1])

    def next(self, *, reorder: bool) -> Iterator["_State"]:
        """States with one mistake more."""
        yield replace(self, degrees=not self.degrees)
        dofs = range(len(self.q))
        for j in dofs:
            q, tau = self.turned_q ^ {j}, self.turned_tau ^ {j}
            yield from (
                replace(self, turned_q=q),
                replace(self, turned_tau=tau),
                replace(self, turned_q=q, turned_tau=tau),
            )
        for i, j in combinations(dofs, 2) if reorder else ():
            q, tau = (tuple(order[{i: j, j: i}.get(k, k)] for k in dofs) for order in (self.q, self.tau))
            yield from (replace(self, q=q, tau=tau), replace(self, tau=tau), replace(self, q=q))
            turned = [frozenset({i: j, j: i}.get(k, k) for k in own) for own in (self.turned_q, self.turned_tau)]
            yield _State(q, tau, turned[0], turned[1], self.degrees)

    def corrections(self, labels: Sequence[str]) -> Corrections:
        """The words that say the same."""
        belongs = [",".join(labels[order.index(k)] for k in range(len(labels))) for order in (self.q, self.tau)]
        plain = ",".join(labels)
        orders = [f"{channel}:{names}" for channel, names in zip(("q", "tau"), belongs, strict=True) if names != plain]
        order = belongs[:1] if len(orders) == 2 and belongs[0] == belongs[1] else orders
        both = self.turned_q & self.turned_tau
        turned = (("", both), ("q:", self.turned_q - both), ("tau:", self.turned_tau - both))
        scale = [f"{channel}{labels[j]}=-1" for channel, own in turned for j in sorted(own)]
        return Corrections(order=tuple(order), scale=tuple(scale), unit=("q=deg",) * self.degrees)


def searched(log: Log, start: Corrections, robot: Robot, notes: list[str]) -> Corrections:
    """Corrections with the few more that explain the torques of a log best; none more where two explain them alike.

    log: with `start` made; notes: on what was not decided are added.
    """
    ready = prepare(log, robot, refuse=False)
    if ready.filtered is None or log.nq != log.nv or log.tau is None or robot.loops:
        return start
    seen = _as_large(ready.clear[:: max(1, len(ready.clear) // MANY)], robot)
    reorder = not (start.scale or start.offset or start.delay or start.unwrap)  # words whose joints would be others
    none = _State(tuple(range(log.nv)), tuple(range(log.nv)))
    rough, known, beam = {none: _rough(none, seen, robot)}, {none: _score(none, seen, robot)}, [none]
    for _ in range(DEPTH):
        better: dict[_State, float] = {}
        for one in beam:
            for state in set(one.next(reorder=reorder)) - rough.keys():  # mirror images of wrists are no better
                rough[state] = _rough(state, seen, robot)
                if rough[state] < (1 - BETTER) * rough[one]:
                    better[state] = rough[state]
        if not better:
            break
        known |= {state: _score(state, seen, robot) for state in sorted(better, key=better.__getitem__)[:LIKELY]}
        beam = sorted(known, key=known.__getitem__)[:BEAM]
    alike = [state for state in known if known[state] < ALIKE * min(known.values())]
    fewest = min(state.mistakes for state in alike)
    best, *others = [state for state in alike if state.mistakes == fewest]
    if others:
        words = [" ".join(words_of(each.corrections(log.labels), INSPECT)) for each in (best, *others)]
        notes.append(f"several corrections explain this log alike: {' or '.join(words)}")
        return start
    return start.joined(best.corrections(log.labels))


def _rough(state: _State, log: Log, robot: Robot) -> float:
    """Relative torque error of least squares, which is quick, and no body can be too strange for it."""
    mended = state.of(log)
    noise = least_squares(accumulate(robot, mended, armature=True)).noise
    return float(np.mean(noise / _rms(mended))) + _unlike(mended, robot)


def _score(state: _State, log: Log, robot: Robot) -> float:
    """Relative torque error of bodies that can exist."""
    mended = state.of(log)
    estimate = consistent(accumulate(robot, mended, armature=True))
    return float(np.mean(validate(estimate, mended).relative)) + _unlike(mended, robot)


def _as_large(log: Log, robot: Robot) -> Log:
    """A log with torques as large as the nominal model's where they are in another unit, which the prior would mind."""
    (tau,) = log.require("tau")
    ratio = np.linalg.norm(validate(robot, log).predicted) / (np.linalg.norm(tau) or 1.0)
    return log.replace(tau=tau * ratio) if not 1 / UNIT < ratio < UNIT else log


def _unlike(log: Log, robot: Robot) -> float:
    """A share of what the nominal model's torques lack in likeness to the log's; it decides between mirror images."""
    (tau,) = log.require("tau")
    predicted = validate(robot, log).predicted
    sizes = np.linalg.norm(predicted) * np.linalg.norm(tau)
    return LIKENESS * (1 - float(np.sum(predicted * tau) / (sizes or 1.0)))


def _rms(log: Log) -> np.ndarray:
    """(nv,) of torques."""
    return np.sqrt(np.mean(log.require("tau")[0] ** 2, axis=0)) + np.finfo(float).tiny


HELD_OUT = HeldOut(0.5)  # corrections are chosen on the first half of the log; the rest proves them
REAL = 0.05  # share of the held-out torque error that a correction must take off
GROSS = ("model_class", "limits")  # warnings that may hide several mistakes at once
ROUNDS = 4  # corrections that are found one after the other
Reader = Callable[[Corrections], Log]


@dataclass(frozen=True)
class Repair:
    """corrections: all, those that were there before included; why: what proved a correction, by its word; notes: on
    what was found and is not proven."""

    corrections: Corrections
    why: dict[str, str]
    notes: tuple[str, ...] = ()


def fix_log(
    path, robot: Robot, *, channels: Mapping[str, Any] | None = None, given: Corrections = NOTHING
) -> tuple[Robot, list[str]]:
    """Write the side file of a log with what is proven to be wrong with it; the log stays as it is.

    Args:
        path: of the log.
        robot: whose it is.
        channels: as of `read_log`; written, too.
        given: corrections that are known, written as well.

    Returns:
        The robot as the log shows it, and lines on what was written and what was not.
    """
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


def repair(read: Reader, robot: Robot, start: Corrections = NOTHING) -> Repair:
    """Corrections of a log.

    Args:
        read: the log with given corrections made.
        robot: whose it is, as its file says.
        start: corrections that are there already, and stay.

    Returns:
        The Repair, without new corrections where none is proven.
    """
    first = partial(_part, read, 0)
    found, notes = start, []
    for begin in (lambda: start, lambda: searched(first(start), start, robot, notes)):
        found = _diagnosed(first, begin(), robot)
        if not _gross(inspect(first(found), robot)):
            break
    else:
        return Repair(start, {}, (*notes, "no corrections explain this log: nothing was written for it to be undone"))
    return _proven(partial(_part, read, 1), first, robot, start, found, notes)


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


def _error(robot: Robot, fitted: Log, judged: Log) -> tuple[float, float]:
    """Relative torque error on one log of a fit to another, and of the nominal model."""
    estimate = consistent(accumulate(robot, fitted, armature=True))
    return tuple(validate(model, judged).relative_error for model in (estimate, robot))  # type: ignore[return-value]


def _clear(log: Log, robot: Robot) -> Log:
    ready = prepare(log, robot, refuse=False)
    return ready.log if ready.filtered is None else ready.clear


def _proven(last: Reader, first: Reader, robot: Robot, start: Corrections, found: Corrections, notes) -> Repair:
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
            return Repair(found, why, tuple(notes))


def _words(start: Corrections, found: Corrections) -> Iterator[tuple[str, str]]:
    """Name and word of each correction that is new."""
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
    try:
        return _error(robot, *(_clear(part(corrections), robot) for part in (first, last)))
    except SteelyardError:  # such a log cannot be fitted at all
        return np.inf, np.inf
