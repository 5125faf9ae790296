"""Prepared logs and how they will be fitted, as far as it is decided: the samples that judge, and every decision."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.cards import Card
from steelyard.corrections import corrections_from
from steelyard.drives.drive import Drive
from steelyard.fit import Estimate, consistent, validate
from steelyard.job import Job
from steelyard.log import Log, joined, split_blocks
from steelyard.model import Robot
from steelyard.prepare import Prepared
from steelyard.prepare.undo import corrected


@dataclass(frozen=True)
class Decision:
    """Something that a run decides."""

    code: str
    what: str
    reason: str = ""
    option: str = ""  # that decides otherwise
    evidence: Mapping[str, float] = field(default_factory=dict)  # figures behind it, by name

    @property
    def words(self) -> str:
        """All of it, for people."""
        otherwise = f"To have it otherwise: {self.option}" if self.option else ""
        return " ".join(each for each in (self.what, self.reason, otherwise) if each)


@dataclass(frozen=True)
class HeldOut:
    """Which samples of logs are fitted, and which judge."""

    share: float  # of each log, at its end, that judges

    def parts(self, log: Log, gap: float = 0.0) -> tuple[Log, Log]:
        """The part of a log that is fitted and the one that judges. gap: s between them, over which filters and slow
        errors have a memory. Raises LogError where one would be empty."""
        return split_blocks(log, validation=self.share, gap=gap)

    def fitted(self, logs: Iterable[Log]) -> list[Log]:
        """The parts of logs that are fitted."""
        return [self.parts(log)[0] for log in logs]

    def judging(self, logs: Sequence[Log], gaps: Sequence[float] = ()) -> list[Log]:
        """The parts of logs that judge. gaps: of each log, as of `parts`."""
        return [self.parts(log, gap)[1] for log, gap in zip(logs, gaps or [0.0] * len(logs), strict=True)]

    def error(self, model: Estimate | Robot, logs: Sequence[Log]) -> float:
        """Torque error of a model over torque, on the parts of logs that judge."""
        return validate(model, together(self.judging(logs))).relative_error


def together(judging: Sequence[Log]) -> Log:
    """Samples that judge, as one log."""
    return joined(judging, name="held-out samples")


@dataclass(frozen=True, eq=False, repr=False)
class FitPlan(Card):
    """What is fitted, and how."""

    job: Job
    robot: Robot
    read: tuple[Prepared, ...]  # the logs
    fit: Callable[..., Estimate] = consistent  # an Information, with options
    drives: Mapping[str, Drive] = field(default_factory=dict)  # by joint, of logs of commands
    loads: tuple[tuple[str, float, Log], ...] = ()  # link, mass in kg and log of the robot with that load
    shape: Mapping[str, Any] = field(default_factory=dict)  # columns of `accumulate` in the place of the job's
    weights: Mapping[str, Any] = field(default_factory=dict)  # how much samples count
    rows: Mapping[str, Any] = field(default_factory=dict)  # those that contacts ask for
    gains: np.ndarray | None = None  # (nv,) N m per unit of the torques as they were read
    made: tuple[Decision, ...] = ()  # the decisions

    @property
    def logs(self) -> list[Log]:
        """All samples."""
        return [each.log for each in self.read]

    @property
    def held_out(self) -> HeldOut:
        """Which samples judge."""
        return HeldOut(self.job.validation)

    @cached_property
    def train(self) -> list[Log]:
        """The samples that are fitted before others judge."""
        return self.held_out.fitted(self.logs)

    @property
    def columns(self) -> dict[str, Any]:
        """Options of `accumulate` that say what is estimated."""
        return {**self.job.columns, **self.shape}

    @property
    def options(self) -> dict[str, Any]:
        """All options of `accumulate`."""
        return {**self.columns, **self.weights, **self.rows}

    @property
    def unknown(self) -> np.ndarray:
        """(nv,) whether a joint's torques are in units of its drive, whose gain is to be found."""
        named = [name in self.drives and self.drives[name].torque_per_unit is None for name in self.robot.dof_names]
        return np.array(named, dtype=bool) | self.job.drive_gains

    def corrected(self, **words) -> "FitPlan":
        """The plan of logs with corrections made. words: fields of a `Corrections`."""
        made = corrections_from(words)
        read = (replace(each, log=corrected(self.robot, each.log, made), unfilled=None) for each in self.read)
        return replace(self, read=tuple(read))

    def decided(self, rules: "Iterable[Rule]") -> "FitPlan":
        """The plan after some decisions. rules: make them of a plan, one after the other, each with the fields that it
        changes."""
        plan = self
        for rule in rules:
            for each, changes in rule(plan):
                plan = replace(plan, made=(*plan.made, each), **changes)
        return plan

    def _title(self) -> str:
        return f"What is decided of {len(self.read)} log(s) of '{self.robot.name}'"

    def _rows(self):
        return {each.code: each.what for each in self.made}


Made = Iterator[tuple[Decision, dict]]
Rule = Callable[[FitPlan], Made]
