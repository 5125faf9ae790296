"""Sums of all kinds of rows of one job, log by log."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.dynamics import choose
from steelyard.errors import LogError
from steelyard.identifiable import Basis, on_tree
from steelyard.information import balances
from steelyard.information.engines import CHUNK, Sums
from steelyard.information.kinds import BASE, OF_JOINTS, WEAK, WRENCH, groups_of, link_of
from steelyard.information.raw import Raw, raw_columns
from steelyard.information.rows import Row, channels_of, recorded_direction, rows_of, weights_of, wrench_of
from steelyard.information.squares import Squares
from steelyard.information.stores import Grams, Triangles
from steelyard.information.sums import Information
from steelyard.information.windows import require_windows
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.terms import ParameterLayout


@dataclass(frozen=True, eq=False)
class Job:
    """What is to be summed: see `accumulate`. kept: (k,) columns."""

    robot: Robot
    layout: ParameterLayout
    basis: Basis
    kept: np.ndarray
    kinds: tuple[str, ...]
    sums: str
    coulomb_width: float
    cutoff: float
    engine: str
    sample_weights: Any = None

    @cached_property
    def raw(self) -> Raw:
        """The columns that are summed over samples."""
        return raw_columns(self.robot, self.layout, self.kept)

    @cached_property
    def rows(self) -> list[Row]:
        return rows_of(self.raw.robot, self.raw.layout, self.raw.columns)

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        return tuple(name for kind in self.kinds for name in groups_of(self.robot, kind))

    def chunk(self, channels, start: int, stop: int) -> tuple:
        """Samples of q, v, a, tau, direction, samples last. What no row needs may be missing; the direction of motion
        is then found from v."""
        q, v, a, tau, direction = (None if x is None else np.ascontiguousarray(x[start:stop].T) for x in channels)
        return q, v, a, tau, np.tanh(np.asarray(v) / self.coulomb_width) if direction is None else direction


class Collector:
    """Sums over logs of all rows of a job. before: samples that the job has seen elsewhere.

    independent: samples whose noise is. complete: whether the sums hold whole logs only.
    """

    def __init__(self, job: Job, before: int = 0):
        self.job, self.count, self.independent, self.complete = job, 0, 0.0, True
        fast = "joints" in job.kinds and job.sums == "gram" and not job.robot.loops
        self.joints = Sums(job.robot, job.layout, job.kept, job.coulomb_width, job.engine, before) if fast else None
        make = Triangles if job.sums == "qr" else Grams
        k = len(job.raw.columns)
        self.others: dict[str, Grams | Triangles] = {
            kind: make(len(groups_of(job.robot, kind)), k) for kind in job.kinds if not (fast and kind == "joints")
        }

    def add(self, log: Log):
        """Add a log. Raises LogError, before anything is added, when it cannot be used."""
        job = self.job
        names = channels_needed(job)
        if job.robot.loops:
            log.require(*names)
            log = on_tree(job.robot, log)
        found = dict(zip(names, channels_of(job.robot, log, names), strict=True))
        wrenches = {
            kind: wrench_of(log, link_of(kind)) for kind in job.kinds if kind == BASE or kind.startswith(WRENCH)
        }
        if set(job.kinds) & set(WEAK):
            require_windows(log, job.cutoff)
        q, v, a, tau = (found.get(name) for name in ("q", "v", "a", "tau"))
        channels = q, v, a, tau, recorded_direction(log, job.coulomb_width, job.layout)
        weights = weights_of(job.sample_weights, log)
        if weights is not None and tuple(job.kinds) != ("joints",):
            raise LogError(f"log {log.name!r} has masked torques, which go with rows of joints alone.")
        if job.robot.loops and weights is not None:
            weights = weights[:, choose(job.robot).independent]
        self.complete = False
        if self.joints is not None:
            self.joints.add(*channels, weights)
        for kind, kept in self.others.items():
            if kind in WEAK:
                for piece in balances.weak_rows(job, kind, log.t, channels, CHUNK):
                    kept.add(*piece)
            else:
                self._add_samples(kind, kept, channels, wrenches.get(kind), weights)
        self.count += len(log)
        self.independent += log.effective_samples
        self.complete = True

    def _add_samples(self, kind: str, kept: Grams | Triangles, channels, wrench, weights=None):
        for start in range(0, len(channels[0]), CHUNK):
            chunk = self.job.chunk(channels, start, start + CHUNK)
            if kind == "joints" and self.job.robot.loops:
                pieces = balances.independent_rows(self.job, chunk)
            elif kind == "joints":
                pieces = balances.joint_rows(self.job, chunk)
            elif kind == "power":
                pieces = balances.power_rows(self.job, chunk)
            else:
                pieces = balances.wrench_rows(self.job, kind, chunk, wrench[start : start + CHUNK].T)
            part = None if weights is None else weights[start : start + CHUNK]
            for group, places, y, target in pieces:
                kept.add(group, places, y, target, None if part is None else part[:, group])

    def _mixed(self, kind: str):
        """Sums of one kind in the columns asked for."""
        squares, moment, energy, triangles, counts = self.others[kind].total()
        mixed = None if triangles is None else self.job.raw.mixed_factors(triangles)
        return *self.job.raw.mixed(squares, moment), energy, mixed, counts

    def information(self) -> Information:
        """What was collected. Raises LogError when that is nothing, or beyond the range of numbers."""
        job = self.job
        if self.count == 0:
            raise LogError("No samples to accumulate: the log is empty.")
        share = self.independent / self.count
        totals = [self._mixed(kind) if kind in self.others else _of_engine(self.joints) for kind in job.kinds]
        parts, moment, energy, triangles, counts = zip(*totals, strict=True)
        squares = Squares.stacked(parts)
        if not all(np.isfinite(x).all() for x in (squares.flat, *energy)):
            raise LogError("The sums are beyond the range of numbers: check units and outliers of the log.")
        return Information(
            squares=squares,
            moment=np.concatenate(moment),
            energy=np.concatenate(energy),
            counts=np.concatenate(counts),
            weights=np.ones(len(job.group_names)),
            columns=job.kept,
            group_names=job.group_names,
            layout=job.layout,
            basis=job.basis,
            robot=job.robot,
            coulomb_width=job.coulomb_width,
            independence=1.0 if set(job.kinds) <= set(WEAK) else share,
            engine="numpy" if self.joints is None else self.joints.engine,
            factors=np.concatenate(triangles) if job.sums == "qr" else None,
        )


def _of_engine(joints: Sums | None):
    """Sums of joint torques as those of other kinds are."""
    assert joints is not None, "rows that no engine sums are among the others"
    return *joints.total(), None, joints.counts


def channels_needed(job: Job) -> tuple[str, ...]:
    """Channels of joints that the rows of a job use; the wrenches beside them."""
    users = any(extra.function is not None for extra in job.layout.extras)
    torque = ("tau",) if set(job.kinds) & set(OF_JOINTS) else ()
    return "q", "v", *torque, *(() if set(job.kinds) <= set(WEAK) and not users else ("a",))
