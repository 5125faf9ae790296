"""Identifiability of robots with closed loops: the rank of their regression at random states.

No recursion covers loops, so this is numeric: certain up to the tolerance of a rank, which `decisions` states.
"""

import numpy as np

from steelyard.dynamics import Choice, choose, columns, explore
from steelyard.errors import OptionError, choices
from steelyard.identifiable.basis import Basis, from_null_space, rescaled
from steelyard.identifiable.sampled import EXTRA_STATES, numeric_null_space
from steelyard.identifiable.spans import RankDecisions
from steelyard.model import Robot
from steelyard.terms import ParameterLayout

LOOPS_METHOD = "numeric, closed loops"
ALL_JOINTS = "joints"
LOOPS_SEED = 20260112


def closed_basis(
    robot: Robot, layout: ParameterLayout, scale, order, *, dynamic: bool = True, sensors: tuple[str, ...] = ("joints",)
) -> tuple[Basis, RankDecisions]:
    """Basis of a layout's columns for torques measured at independent joints, by the rank of random states.

    scale (p,): unit of each column; order (p,): place in the order of preference.
    """
    choice = choose(robot)
    rows = sensor_rows(robot, choice, sensors)
    at = explore(robot, choice, 3 * layout.size // len(rows) + EXTRA_STATES, seed=LOOPS_SEED, dynamic=dynamic)
    stacked = columns(robot, layout, at)[:, rows].reshape(-1, layout.size) * scale
    null, relative = numeric_null_space(stacked)
    basis = rescaled(from_null_space(null, order=order), scale)
    smallest = float(relative[basis.count - 1]) if basis.count else np.inf
    return basis, RankDecisions(smallest, float(relative[basis.count :].max(initial=0.0)))


def sensor_rows(robot: Robot, choice: Choice, sensors: tuple[str, ...]) -> list[int]:
    """Which independent coordinates are measured. Raises OptionError for other sensors."""
    unknown = [name for name in sensors if name != ALL_JOINTS and name not in choice.names]
    if unknown or not sensors:
        raise OptionError(
            f"sensors: robot '{robot.name}' has closed loops, so torques are those of its independent joints: 'joints' "
            f"for all, or some of {choices(choice.names)}; got {choices(unknown) or 'none'}."
        )
    if ALL_JOINTS in sensors:
        return list(range(len(choice.names)))
    return [choice.names.index(name) for name in dict.fromkeys(sensors)]
