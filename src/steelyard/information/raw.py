"""Columns as the dynamics has them, and what they become: rotors are bodies of a larger tree, some of them averaged."""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.dynamics import geared
from steelyard.information.factors import factors_of_rows
from steelyard.information.squares import Squares
from steelyard.model import Robot
from steelyard.terms import ParameterLayout


@dataclass(frozen=True, eq=False)
class Raw:
    """Columns to sum over samples: robot and layout of the tree that has them, columns (k',) of it.

    mixing (k', k): the wanted columns are `raw columns @ mixing`, None where they are the same.
    """

    robot: Robot
    layout: ParameterLayout
    columns: np.ndarray
    mixing: np.ndarray | None = None

    def values(self, wanted):
        """(k',) parameters of the raw columns from those of the wanted ones (k,)."""
        return wanted if self.mixing is None else self.mixing @ wanted

    def mixed(self, squares: Squares, moment):
        """Squares and moments (g, k) of the wanted columns from those of the raw ones."""
        if self.mixing is None:
            return squares, moment
        return squares.mixed(self.mixing), moment @ self.mixing

    def mixed_rows(self, places, rows):
        """Places (m',) and rows (n, m') in the wanted columns, from those of the raw ones: (m,) and (n, m)."""
        if self.mixing is None:
            return places, rows
        among = self.mixing[places]
        wanted = np.flatnonzero(among.any(axis=0))
        return wanted, rows @ among[:, wanted]

    def mixed_factors(self, triangles):
        """Triangular factors (g, k + 1, k + 1) of the wanted columns and the torque, from those of the raw ones."""
        if self.mixing is None:
            return triangles
        rows = np.concatenate([triangles[..., :-1] @ self.mixing, triangles[..., -1:]], axis=-1)
        return factors_of_rows(np.swapaxes(rows, 0, 1))


def raw_columns(robot: Robot, layout: ParameterLayout, kept) -> Raw:
    """What to sum for the kept columns (k,) of a layout."""
    if not layout.rotor_names:
        return Raw(robot, layout, kept)
    whole = geared(robot)
    everything = np.eye(layout.size)
    everything[layout.inertial, layout.inertial] = whole.mixing
    needed = np.flatnonzero(everything[:, kept].any(axis=1))
    larger = replace(layout, body_names=whole.robot.body_names, rotor_names=())
    return Raw(whole.robot, larger, needed, everything[np.ix_(needed, kept)])
