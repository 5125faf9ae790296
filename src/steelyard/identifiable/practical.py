"""How well recorded data, or a planned motion, shows each identifiable combination, and the basis that they are in."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from steelyard.dynamics.closed_loop.projection import columns, layout_rows, with_motors
from steelyard.dynamics.closed_loop.states import tree_state_of
from steelyard.errors import LogError, OptionError
from steelyard.identifiable.basis import Basis
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.loop_completion import on_tree
from steelyard.identifiable.mechanism import Experiment
from steelyard.identifiable.motor_rotors import with_rotor_columns
from steelyard.identifiable.null_space import basis_of_blocks, find_null_space, preference
from steelyard.identifiable.numeric_rank import closed_basis, with_extras
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.job import FRICTION
from steelyard.model import Robot
from steelyard.native import CHUNK
from steelyard.terms import ParameterLayout, friction_terms, layout_of


@lru_cache(maxsize=32)
def regression_basis(robot: Robot, layout: ParameterLayout, sensors: tuple[str, ...] = ("joints",)) -> Basis:
    """Base parameters of a robot's regression, in the columns of a layout made by `layout_of`.

    sensors: as of `identifiability`; balances of momentum and energy reveal what torques of all joints do.
    """
    if robot.loops:
        mechanism = mechanism_of(robot, motors=bool(layout.rotor_names), reduce=False, terms=layout.terms)
        before, effects = mechanism.layout.size, len(layout.extras)  # extras lie between terms and rotors
        scale = np.insert(mechanism.scale, [before] * effects, 1.0)
        order = np.insert(preference(mechanism), [before] * effects, mechanism.size + np.arange(effects))
        found = closed_basis(robot, layout, scale, order)[0]
        return with_rotor_columns(robot, layout, found) if layout.rotor_names else found
    if sensors != ("joints",):
        from steelyard.identifiable.structural import identifiability  # with tables and sentences that sums do without

        friction = tuple(term for term in layout.terms if term in friction_terms())
        return identifiability(robot, sensors=sensors, friction=friction, armature="armature" in layout.terms).basis
    if layout.extras:
        return with_extras(robot, layout, regression_basis(robot, layout.without_extras))
    made = partial(_made, robot, layout)
    solution = find_null_space(made, Experiment(), THRESHOLDS.axis_rounding)
    assert solution is not None, "only a wrench sensor can keep the recursion from an answer"
    found = basis_of_blocks(solution.mechanism, solution.blocks)
    return with_rotor_columns(robot, layout, found) if layout.rotor_names else found


def _made(robot: Robot, layout: ParameterLayout, tolerance: float):
    return mechanism_of(robot, motors=bool(layout.rotor_names), terms=layout.terms, tolerance=tolerance)


WORDS = 5  # parameters named in one direction


@dataclass(frozen=True, eq=False)
class Excitation:
    """Excitation of r base parameters by data.

    level (r,): share of each column that no combination of the others imitates: 1 is perfect, 0 is not excited.
    """

    names: tuple[str, ...]  # (r,) base parameters
    rms: np.ndarray  # (r,) root mean square of each column, N m per unit
    singular: np.ndarray  # (r,) singular values of the regressor with unit columns over the largest, descending
    directions: np.ndarray  # (r, r) rows, theirs
    level: np.ndarray

    @property
    def structural_rank(self) -> int:
        """Number of combinations that some motion reveals."""
        return len(self.names)

    @property
    def rank(self) -> int:
        """Number of combinations that this data reveals at all."""
        return int(np.count_nonzero(self.singular > THRESHOLDS.excited))

    @property
    def agrees(self) -> bool:
        """Whether this data reveals all that any motion can."""
        return self.rank == self.structural_rank

    @cached_property
    def condition(self) -> float:
        """Condition number of the regressor with unit columns."""
        return float(1.0 / self.singular[-1]) if len(self.singular) and self.singular[-1] > 0 else np.inf

    @cached_property
    def weakest(self) -> tuple[str, ...]:
        """One sentence for each direction that is weak or not excited, weakest first."""
        weak = np.flatnonzero(self.singular < THRESHOLDS.weakly_excited)[::-1]
        return tuple(self._sentence(i) for i in weak)

    def _sentence(self, i: int) -> str:
        direction = self.directions[i] / np.abs(self.directions[i]).max()
        order = [j for j in np.argsort(-np.abs(direction))[:WORDS] if abs(direction[j]) > 0.1]
        direction = direction * np.sign(direction[order[0]])
        named = " ".join(f"{direction[j]:+.2g} {self.names[j]}" for j in order)
        if self.singular[i] <= THRESHOLDS.excited:
            return f"not excited: {named}"
        return f"weakly excited ({self.singular[i]:.1e} of the best): {named}"

    def summary(self) -> str:
        """A few readable lines: ranks, condition, the weakest directions and parameters."""
        verdict = "this data shows all of them" if self.agrees else f"this data shows {self.rank}"
        lines = [f"{self.structural_rank} combinations can be known; {verdict}. Condition number {self.condition:.3g}."]
        order = np.argsort(self.level)[:WORDS]
        lines.append("Least excited: " + ", ".join(f"{self.names[j]} ({self.level[j]:.1e})" for j in order) + ".")
        return "\n".join([*lines, *self.weakest])


def excitation(data, robot: Robot | None = None, *, friction=FRICTION, armature: bool = False) -> Excitation:
    """Excitation of an Information, or of one Log or several.

    Args:
        data: an Information (its own terms and row weights count), or Logs with q, v and a, which need `robot` (torques
            are not used, so a planned motion will do).
        robot: of the logs.
        friction: terms of the regression, as in `accumulate`.
        armature: whether armature is a term, as in `accumulate`.

    Returns:
        The Excitation.

    Raises:
        OptionError: logs without a robot, unknown terms.
        LogError: logs that do not fit the robot.
    """
    if hasattr(data, "gram"):
        info = data.base
        return from_gram(info.G, info.basis, info.layout, max(info.n, 1))
    if robot is None:
        raise OptionError("The excitation of a log needs the robot it moves: excitation(log, robot).")
    robot = with_motors(robot)
    layout = layout_of(robot, friction=friction, armature=armature)
    basis = regression_basis(robot, layout)
    gram, samples = np.zeros((basis.count, basis.count)), 0
    for log in data if isinstance(data, Sequence) else [data]:
        if log.v is None or log.a is None:
            raise LogError(f"Log '{log.name}' has no v or a. Fill them with filters.differentiate first.")
        channels = (on_tree(robot, log) if robot.loops else log).require("q", "v", "a")
        for start in range(0, len(log.t), CHUNK):
            q, v, a = (x[start : start + CHUNK].T for x in channels)
            if robot.loops:
                rows = columns(robot, layout, tree_state_of(robot, q.T, v.T, a.T))
            else:
                rows = layout_rows(robot, layout, q, v, a)
            rows = rows[..., basis.columns].reshape(-1, basis.count)
            gram += rows.T @ rows
        samples += len(log.t)
    return from_gram(gram, basis, layout, max(samples, 1))


def from_gram(gram, basis: Basis, layout: ParameterLayout, samples: int) -> Excitation:
    """Excitation of a Gram matrix (r, r) of base columns, a sum over a number of samples."""
    size = np.sqrt(np.diag(gram))
    unit = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(gram / unit[:, None] / unit)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    singular = np.sqrt(values / max(values.max(initial=0.0), np.finfo(float).tiny))
    inverse = np.divide(1.0, values, out=np.full_like(values, np.inf), where=singular > THRESHOLDS.excited)
    carried = vectors**2
    with np.errstate(invalid="ignore"):
        variance = np.where(carried > 1e-12, carried * inverse, 0.0).sum(axis=1)
    level = np.where(size > 0, 1 / np.sqrt(np.maximum(variance, 1.0)), 0.0)
    names = tuple(layout.names[c] for c in basis.columns)
    return Excitation(names, size / np.sqrt(samples), singular, vectors.T, level)
