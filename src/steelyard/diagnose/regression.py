"""The dense regression of a few hundred samples, for tests that need more of the data than its sums."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.dynamics.effects import effect_column, extra_rows, shared_directions
from steelyard.dynamics.geared import geared_rows
from steelyard.dynamics.inverse import inverse_dynamics
from steelyard.dynamics.regressor import regressor_rows
from steelyard.identifiability.basis import Basis
from steelyard.identifiability.structure import regression_basis
from steelyard.information.squares import Squares
from steelyard.model.robot import Robot
from steelyard.parameters import Extra, ParameterLayout


@dataclass(frozen=True, eq=False)
class Regression:
    """Motion of a robot and the columns that follow from it. q (n, nq); v, a (n, nv); direction: see `direction_of`;
    believed: (nv, n) or (1, 1), 0 for torques that are masked and 1 for others."""

    robot: Robot
    layout: ParameterLayout
    coulomb_width: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    direction: np.ndarray
    believed: np.ndarray

    def __len__(self) -> int:
        return len(self.v)

    @cached_property
    def basis(self) -> Basis:
        return regression_basis(self.robot, self.layout)

    @cached_property
    def rows(self) -> np.ndarray:
        """(nv, n, r) regression in base columns."""
        bodies = geared_rows if self.layout.rotor_names else regressor_rows
        full = np.zeros((self.robot.nv, len(self), self.layout.size))
        full[:, :, self.layout.inertial] = np.swapaxes(bodies(self.robot, self.q.T, self.v.T, self.a.T), 1, 2)
        for term in self.layout.terms:
            start, column = self.layout.term(term).start, self.effect(term)
            for place, dof in enumerate(self.layout.dofs):
                full[dof, :, start + place] = column[:, dof]
        shared = shared_directions(self.layout, self.direction.T, self.robot.nv)
        for i, extra in enumerate(self.layout.extras):
            full[list(extra.dofs), :, self.layout.extra.start + i] = self.extra(extra, shared.get(i))
        return full[:, :, self.basis.columns] * self.believed[:, :, None]

    @cached_property
    def squares(self) -> Squares:
        """(nv, r, r) sum over samples of each degree's outer products."""
        places = [np.flatnonzero(row.any(axis=0)) for row in self.rows]
        own = [row[:, columns] for row, columns in zip(self.rows, places, strict=True)]
        return Squares.joined(self.basis.count, places, [row.T @ row for row in own])

    def effect(self, term: str) -> np.ndarray:
        """(n, nv) torque per unit of a term."""
        return effect_column(term, self.v, self.a, direction=self.direction[:, : self.robot.nv])

    def extra(self, extra: Extra, direction=None) -> np.ndarray:
        """(degrees of the extra, n) torque per unit of an extra column. direction: (n,) of a shared motor."""
        options = {"direction": direction, "coulomb_width": self.coulomb_width}
        return extra_rows(self.robot, extra, self.q.T, self.v.T, self.a.T, **options)

    @cached_property
    def known(self) -> np.ndarray:
        """(n, nv) torque of effects that are no columns, at the model's values."""
        stated = {"viscous": self.robot.damping, "coulomb": self.robot.frictionloss, "armature": self.robot.armature}
        absent = [value * self.effect(term) for term, value in stated.items() if term not in self.layout.terms]
        return sum(absent, start=np.zeros_like(self.v))

    def torque(self, robot: Robot) -> np.ndarray:
        """(n, nv) inverse dynamics of the motion for another robot."""
        return inverse_dynamics(robot, self.q, self.v, self.a, rotors=bool(self.layout.rotor_names))
