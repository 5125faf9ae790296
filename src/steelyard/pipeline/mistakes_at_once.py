"""Several mistakes of a log at once: exchanged columns, signs and degrees, which hide each other from a diagnosis.

A beam search from the log as it is: each step adds the mistakes whose undoing takes most off the torque error of a fit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from steelyard.corrections import Corrections
from steelyard.fit import consistent, least_squares, validate
from steelyard.information import accumulate
from steelyard.job_options import INSPECT, words_of
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.prepare import prepare

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
