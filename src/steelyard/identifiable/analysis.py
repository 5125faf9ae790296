"""The result of an analysis of identifiability: what an experiment can reveal, as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from steelyard.drives.drive import Drive
from steelyard.errors import OptionError
from steelyard.identifiable.basis import Basis, RankDecisions
from steelyard.identifiable.contacts import Hidden, Stances
from steelyard.identifiable.lifting import nearest_consistent
from steelyard.identifiable.mechanism import Experiment, Mechanism
from steelyard.identifiable.null_space import Block, basis_of_blocks, dependent_columns, regrouped
from steelyard.identifiable.recursion import Recursion, null_space_recursion
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Robot


@dataclass(frozen=True)
class Scale:
    """One common factor of masses, friction and gains that commands and motion do not show.

    gains: by joint, the number of its drive that would fix it: kp, kd or gain. limits: by joint, the stated limit of
    its drive, N m: reached in a log, it would fix it.
    """

    joints: tuple[str, ...]  # that share it
    bodies: tuple[str, ...]  # that their torques depend on
    fixed_by: tuple[str, ...] = ()  # what says it, each by itself if not `together`; empty where nothing does
    together: bool = False  # whether all of `fixed_by` are needed
    parameters: tuple[str, ...] = ()  # base parameters that are known only up to it; empty where it is fixed
    loaded: tuple[str, ...] = ()  # bodies on which a payload of known mass in one more log would fix it, tips first
    weighed: tuple[str, ...] = ()  # bodies, or "all", whose mass alone would fix it
    balanced: tuple[str, ...] = ()  # bodies whose mass and centre of mass together would fix it, tips first
    gains: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def fixed(self) -> bool:
        """Whether something says it."""
        return bool(self.fixed_by)


class Status(Enum):
    """Identifiable alone; in combination and chosen as base; in combination; unidentifiable."""

    ALONE = "identifiable alone"
    BASE = "identifiable in combination with others, chosen as base parameter"
    COMBINED = "identifiable in combination with others"
    UNIDENTIFIABLE = "unidentifiable"

    @property
    def symbol(self) -> str:
        return {"ALONE": "★", "BASE": "●", "COMBINED": "○", "UNIDENTIFIABLE": "×"}[self.name]


@dataclass(frozen=True, eq=False)
class Setup:
    """The options of `identifiability`, as given;"""

    base: str | ArrayLike | None = None
    motion: str = "dynamic"
    sensors: tuple[str, ...] = ("joints",)
    motors: bool = False
    locked: Iterable[str] = ()
    friction: tuple[str, ...] = ()
    armature: bool = False
    tolerance: float = THRESHOLDS.axis_rounding
    drives: Mapping[str, Drive] = field(default_factory=dict)  # by joint, of logs of commands
    contacts: Stances | None = None  # None for forces that are known


@dataclass(frozen=True)
class Dimensions:
    """Of one body: spans of its velocities V and of its parameters' combinations K, with what gravity adds, and the
    number of ways to hand inertia to its parent unnoticed."""

    body: str
    velocities: int
    combinations: int
    velocities_with_gravity: int
    combinations_with_gravity: int
    transfers: int


@dataclass(frozen=True, eq=False)
class Analysis:
    """Combinations of p parameters that an experiment reveals; parameters in the order of `names`, SI units.

    method: "recursive" (paper C, provable), "recursive, coupled joints sampled" (the same, with the conditions of
    mimic joints and unusual rotors sampled over their coordinates), "numeric" (rank of a stacked random regression) or
    "numeric, closed loops" and "numeric, in contact". hidden: what unknown forces of contacts keep from sight.
    decisions: its closest rank decisions. scales: one a group of joints that share a common factor, where logs have
    commands of drives instead of torques. Large results stay sparse in `blocks` until a dense matrix is asked for.
    """

    robot: Robot
    setup: Setup
    mechanism: Mechanism
    experiment: Experiment
    method: str
    decisions: RankDecisions
    blocks: tuple[Block, ...]
    dense: Basis | None
    recursion: Recursion | None
    scales: tuple[Scale, ...] = ()
    hidden: Hidden | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """(p,) one name a parameter: `link2.Ixx`, `rotor(joint1).Im`, `joint3.viscous`."""
        return self.mechanism.names

    @property
    def units(self) -> tuple[str, ...]:
        return self.mechanism.units

    @property
    def values(self) -> np.ndarray:
        """(p,) what the model states for all parameters."""
        return self.mechanism.values

    @property
    def size(self) -> int:
        """Number of parameters p."""
        return self.mechanism.size

    @property
    def count(self) -> int:
        """Number r of identifiable combinations."""
        return self.size - sum(b.count for b in self.blocks) if self.dense is None else self.dense.count

    @cached_property
    def columns(self) -> np.ndarray:
        """(r,) base parameters: one column for each identifiable combination."""
        if self.dense is not None:
            return self.dense.columns
        return np.setdiff1d(np.arange(self.size), dependent_columns(self.blocks))

    @property
    def base_names(self) -> tuple[str, ...]:
        return tuple(self.names[c] for c in self.columns)

    @cached_property
    def basis(self) -> Basis:
        """Base columns, regrouping (r, p) and null space (p, p - r), dense."""
        return basis_of_blocks(self.mechanism, self.blocks) if self.dense is None else self.dense

    @property
    def null_space(self) -> np.ndarray:
        """(p, p - r) changes of parameters that this experiment cannot notice; the identity on the dependent ones."""
        return self.basis.null_space

    def regroup(self, theta) -> np.ndarray:
        """Base parameters (..., r) of full parameters (..., p), SI units, in time linear in the number of bodies."""
        theta = self._full(theta)
        if self.dense is not None:
            return self.dense.regroup(theta)
        moved = regrouped(self.mechanism, self.blocks, theta / self.mechanism.scale)
        return (moved * self.mechanism.scale)[..., self.columns]

    def lift(self, base, prior=None, *, method: str = "consistent") -> np.ndarray:
        """Full parameters with given base parameters, nearest to a prior: least sum of squares in kg and robot lengths.

        Args:
            base: (r,) base parameters, SI units.
            prior: (p,) full parameters; the model's own by default.
            method: "consistent", with bodies that can exist, and friction and armature that are not negative where the
                base parameters leave them open; or "linear", without these conditions.

        Returns:
            (p,).

        Raises:
            OptionError: base parameters of another number, or another method.
            FitError: no bodies that can exist have these base parameters, as is usual for those of noisy data.

        Source: paper B, Theorem 3.
        """
        if method not in ("consistent", "linear"):
            raise OptionError(f"method is 'consistent' or 'linear'; got {method!r}.")
        prior = self.values if prior is None else self._full(prior)
        base = np.asarray(base, dtype=float)
        if base.shape != (self.count,):
            raise OptionError(f"There are {self.count} base parameters; got an array of shape {base.shape}.")
        scale = self.mechanism.scale
        matrix = self.basis.regrouping * scale
        change = np.linalg.lstsq(
            matrix / scale[self.columns, None], (base - self.regroup(prior)) / scale[self.columns]
        )[0]
        linear = prior + scale * change
        return linear if method == "linear" else nearest_consistent(self.mechanism, self.null_space, linear, prior)

    def project(self, theta) -> np.ndarray:
        """The part (..., p) of parameters that matters: the smallest that this experiment cannot tell from them."""
        scale = self.mechanism.scale
        Q = np.linalg.qr(self.null_space / scale[:, None])[0]
        scaled = self._full(theta) / scale
        return scale * (scaled - (scaled @ Q) @ Q.T)

    @cached_property
    def status(self) -> tuple[Status, ...]:
        """(p,) how each parameter can be known (paper C, Table 3)."""
        return statuses(self)

    @cached_property
    def scaled(self) -> np.ndarray:
        """(p,) whether a parameter shows only up to a scale that nothing fixes, by itself or in a sum."""
        open_ = {name for scale in self.scales for name in scale.parameters}
        if not open_:
            return np.zeros(self.size, dtype=bool)
        negligible = max(THRESHOLDS.negligible, 10 * self.decisions.dropped)
        entering = np.abs(relative_regrouping(self)) > negligible
        return np.any(entering[[name in open_ for name in self.base_names]], axis=0)

    @cached_property
    def dimensions(self) -> tuple[Dimensions, ...] | None:
        """Of each body, as in the last lines of the paper's tables; None for a numeric analysis."""
        if self.recursion is None:
            return None
        still = replace(self.mechanism, gravity=np.zeros(6))
        without = null_space_recursion(still, self.experiment)
        assert without is not None
        found = []
        for i, node in enumerate(self.mechanism.nodes):
            if node.name in self.mechanism.layout.body_names and len(node.columns):
                kept = np.isin(node.columns, self.columns).sum()
                dims = (*without.dimensions(i), *self.recursion.dimensions(i))
                found.append(Dimensions(node.name, *dims, 10 - int(kept)))
        return tuple(found)

    def _full(self, theta) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        if theta.shape[-1:] != (self.size,):
            raise OptionError(f"Parameters are (..., {self.size}), in the order of `names`; got {theta.shape}.")
        return theta

    def __repr__(self) -> str:
        found = f"{type(self).__name__}('{self.robot.name}', {self.count} of {self.size} parameters, {self.method}"
        open_ = sum(not scale.fixed for scale in self.scales)
        return f"{found}{f', {open_} of {len(self.scales)} scales open' if self.scales else ''})"


def statuses(result: "Analysis") -> tuple[Status, ...]:
    """(p,) status of each parameter."""
    base = np.zeros(result.size, dtype=bool)
    base[result.columns] = True
    tied, seen = _tied_and_seen(result)
    kinds = (Status.UNIDENTIFIABLE, Status.COMBINED), (Status.ALONE, Status.BASE)
    return tuple(kinds[b][t if b else s] for b, t, s in zip(base.tolist(), tied.tolist(), seen.tolist(), strict=True))


def _tied_and_seen(result):
    """Whether a column is tied to others by a null vector (p,), and whether changing it alone is noticed (p,)."""
    negligible = max(THRESHOLDS.negligible, 10 * result.decisions.dropped)
    regrouping = relative_regrouping(result)
    tied = np.zeros(result.size, dtype=bool)
    others = regrouping.copy()
    others[np.arange(len(result.columns)), result.columns] = 0.0
    tied[result.columns] = np.abs(others).max(axis=1, initial=0.0) > negligible
    return tied, np.abs(regrouping).max(axis=0, initial=0.0) > negligible


def relative_regrouping(result) -> np.ndarray:
    """(r, p) regrouping in the mechanism's units."""
    return result.basis.regrouping / result.mechanism.scale[result.columns, None] * result.mechanism.scale
