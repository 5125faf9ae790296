"""Torques of joints that an identification found and that a model file has no place for: offsets, springs, motors that
joints share, friction near standstill and by load. They are in its summary alone, which this reads."""

from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.dynamics import effect_column, extra_torque
from steelyard.fit import chosen_column
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.terms import COUPLED, TERMS, layout_of


@dataclass(frozen=True, eq=False)
class Unstated:
    """joints: of the robot that was identified. terms: (nv,) parameters by term. couplings: entries of the summary."""

    joints: tuple[str, ...] = ()
    terms: dict[str, np.ndarray] = field(default_factory=dict)
    couplings: tuple[dict, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Of what there is."""
        return (*(term for term, x in self.terms.items() if np.any(x)), *(each["name"] for each in self.couplings))

    def torques(self, robot: Robot, log: Log) -> np.ndarray:
        """What they are in a motion.

        Args:
            robot: that was identified, or with some of its joints locked.
            log: with q, v and a.

        Returns:
            (n, nv) N m or N.
        """
        q, v, a = log.require("q", "v", "a")
        direction = None if log.direction is None else log.direction[:, : robot.nv]
        at = [self.joints.index(name) for name in robot.dof_names] if self.joints else []
        found = np.zeros_like(v)
        for term, x in self.terms.items():
            if np.any(x):
                found += x[at] * effect_column(term, v, a, direction=direction)
        for each in self.couplings:
            if set(each["ratios"]) <= set(robot.dof_names):
                found += _torque(robot, each, q, v, a)
        return found


def _torque(robot: Robot, coupling: dict, q, v, a) -> np.ndarray:
    """(n, nv) of an entry of the summary."""
    joints, kind = coupling["ratios"], coupling["term"]
    if kind in COUPLED:
        layout = layout_of(robot, coupling=[joints])
        layout = replace(layout, extras=tuple(extra for extra in layout.extras if extra.kind == kind))
    elif kind == "spring":
        layout = layout_of(robot, springs=tuple(joints))
    else:
        column = chosen_column(robot, coupling["name"])
        layout = layout_of(robot, extra=() if column is None else [column])
    values = np.full(len(layout.extras), coupling["identified"])
    return extra_torque(robot, layout, values, q, v, a)


def unstated_of(summary: dict, robot: Robot) -> Unstated | None:
    """What a summary of an identification holds beside its model file; None where it names a column of the user, of
    which it has the value but not the function.

    Args:
        summary: of a folder that `identify` wrote.
        robot: of its model file.
    """
    couplings = tuple(summary["couplings"])
    if any(each["term"] == "user" and chosen_column(robot, each["name"]) is None for each in couplings):
        return None
    joints = {each["name"]: each for each in summary["joints"]}
    terms = {
        term: np.array([joints.get(name, {}).get(term, {"identified": 0.0})["identified"] for name in robot.dof_names])
        for term, each in TERMS.items()
        if each.stated is None
    }
    return Unstated(robot.dof_names, terms, couplings)
