"""Rows of torques in random states, and which gain each is known up to: what an experiment with drives measures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from steelyard.dynamics import choose_independent, columns, random_closed_states
from steelyard.identifiable.analysis import Analysis
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.homogeneous_rows import MET
from steelyard.identifiable.mechanism import Mechanism, sensors_of
from steelyard.identifiable.numeric_rank import EXTRA_STATES, LOOPS_SEED, random_regression, sensor_rows

FREE_BASE, WRENCH = "the free base", "a wrench sensor"


@dataclass(frozen=True, eq=False)
class TorqueRows:
    """Rows of an experiment, in the units of a mechanism: a parameter is `scale` (p,) times its value here.

    names: of the gains: of each joint, of what acts on a free base, of wrench sensors. owners: (rows,) number of the
    gain of each row. sampled: makes rows (s, rows, p) of s random states.
    """

    names: tuple[str, ...]
    owners: np.ndarray
    scale: np.ndarray
    sampled: Callable[[int], np.ndarray]

    @cached_property
    def _sizes(self) -> np.ndarray:
        """(rows, p)"""
        return np.linalg.norm(self.sampled(EXTRA_STATES), axis=0)

    def entering(self, gains) -> np.ndarray:
        """(p,) whether each column enters rows of some gains."""
        return self._sizes[np.isin(self.owners, gains)].max(axis=0) > MET * self._sizes.max(initial=0.0)


def torque_rows(result: Analysis) -> TorqueRows:
    """Rows of the experiment of an analysis."""
    return _of_loops(result) if result.robot.loops else _of_tree(result)


def _of_tree(result: Analysis) -> TorqueRows:
    mechanism, setup, robot = _with_bodies(result), result.setup, result.robot
    measured = sensors_of(mechanism, robot, setup.sensors)
    driven = {robot.dof_names[dof] for dof in robot.driven_dofs}
    each = [mechanism.coordinate_names[k] for k in measured.rows]
    each = [name if name in driven else FREE_BASE for name in each] + [WRENCH] * (6 * len(measured.wrenches))
    dynamic, rows, wrenches = setup.motion == "dynamic", measured.rows, measured.wrenches

    def sampled(count: int) -> np.ndarray:
        found = random_regression(mechanism, dynamic=dynamic, rows=rows, wrenches=wrenches, states=count)
        return found.reshape(count, len(each), -1)

    return _made(each, mechanism.scale, sampled)


def _with_bodies(result: Analysis) -> Mechanism:
    """The mechanism with every rotor as a body of its own, as random states need it."""
    if not result.mechanism.spins:
        return result.mechanism
    setup = result.setup
    made = partial(mechanism_of, base=setup.base, locked=setup.locked, motors=True, reduce=False)
    tolerance = setup.tolerance if result.mechanism.rounded > 0 else 0.0
    return made(result.robot, terms=result.mechanism.layout.terms, tolerance=tolerance)


def _of_loops(result: Analysis) -> TorqueRows:
    robot, mechanism, dynamic = result.robot, result.mechanism, result.setup.motion == "dynamic"
    choice = choose_independent(robot)
    rows = sensor_rows(robot, choice, result.setup.sensors)

    def sampled(count: int) -> np.ndarray:
        at = random_closed_states(robot, choice, count, seed=LOOPS_SEED, dynamic=dynamic)
        return columns(robot, mechanism.layout, at)[:, rows] * mechanism.scale

    return _made([choice.names[i] for i in rows], mechanism.scale, sampled)


def _made(each: list[str], scale, sampled) -> TorqueRows:
    names = tuple(dict.fromkeys(each))
    return TorqueRows(names, np.array([names.index(name) for name in each]), scale, cache(sampled))
