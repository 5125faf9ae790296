"""From the four numbers of a symmetric rotor to ten columns, as a regression has them for every body."""

import numpy as np

from steelyard.identifiable.basis import Basis, from_dependence
from steelyard.model import Robot
from steelyard.terms import ParameterLayout


def widened(robot: Robot, layout: ParameterLayout, basis: Basis) -> Basis:
    """Basis in the columns of a layout with rotors.

    basis: in the columns of a mechanism with motors, `[links | terms | numbers of each rotor]`.
    """
    reading, choice = _reading(robot, layout)
    columns = np.sort([choice[c] for c in basis.columns])
    expressed = basis.regrouping @ reading
    dependent = np.setdiff1d(np.arange(layout.size), columns)
    return from_dependence(dependent, np.linalg.solve(expressed[:, columns], expressed[:, dependent]))


def _reading(robot: Robot, layout: ParameterLayout) -> tuple[np.ndarray, np.ndarray]:
    """Matrix (pm, p) from parameters of the layout to those of the mechanism, and a column to stand for each (pm,)."""
    plain = np.setdiff1d(np.arange(layout.size), np.arange(layout.size)[layout.rotors])
    sizes = [rotor.content.shape[1] for rotor in robot.rotors]
    reading = np.zeros((len(plain) + sum(sizes), layout.size))
    choice = np.zeros(len(reading), dtype=int)
    reading[np.arange(len(plain)), plain] = 1.0
    choice[: len(plain)] = plain
    start = len(plain)
    for body, (rotor, size) in enumerate(zip(robot.rotors, sizes, strict=True), start=len(layout.body_names)):
        block = layout.body(body)
        reading[start : start + size, block] = rotor.reading
        choice[start : start + size] = block.start + (_stand_ins(rotor.own_axis) if rotor.symmetric else np.arange(10))
        start += size
    return reading, choice


def _stand_ins(axis) -> np.ndarray:
    """(4,) which of a body's ten columns stand for m, h, It, Im: the least and the most along the axis."""
    moments = np.array([4, 6, 9])
    across, along = np.argmin(np.abs(axis)), np.argmax(np.abs(axis))
    return np.array([0, 1 + along, moments[across], moments[along]])
