"""The dense regression of a few hundred samples, for tests that need more of the data than its sums."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.dynamics.effects import effect_column, extra_rows
from steelyard.identifiable import regression_basis
from steelyard.identifiable.basis import Basis
from steelyard.information.gram import Squares
from steelyard.information.regression_rows import chunk_rows, raw_columns, rows_of
from steelyard.model import Robot
from steelyard.terms import ParameterLayout, stated_values
from steelyard.weighed_columns import Extra

STEP = 1e-4  # rad or m, of difference quotients
LONGEST = 0.4  # rad or m, of a step to where a position is


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
    def own(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Of each degree the base columns (k_i,) that its row has, and its rows (n, k_i) in them."""
        raw = raw_columns(self.robot, self.layout, self.basis.columns)
        rows = rows_of(raw.robot, raw.layout, raw.columns)
        chunk = tuple(np.ascontiguousarray(x.T) for x in (self.q, self.v, self.a, self.v, self.direction))
        believed, found = np.broadcast_to(self.believed, (self.robot.nv, len(self))), []
        for dof, (y, _) in enumerate(chunk_rows(raw.robot, raw.layout, self.coulomb_width, rows, chunk)):
            found.append(raw.mixed_rows(rows[dof].places, y.T * believed[dof, :, None]))
        return tuple(found)

    @property
    def rows(self) -> np.ndarray:
        """(nv, n, r) the same with all zeros."""
        dense = np.zeros((self.robot.nv, len(self), self.basis.count))
        for row, (places, y) in zip(dense, self.own, strict=True):
            row[:, places] = y
        return dense

    def predicted(self, base) -> np.ndarray:
        """(nv, n) torque that base parameters (r,) explain."""
        return np.stack([y @ base[places] for places, y in self.own])

    @cached_property
    def squares(self) -> Squares:
        """(nv, r, r) sum over samples of each degree's outer products."""
        return Squares.joined(self.basis.count, [places for places, _ in self.own], [y.T @ y for _, y in self.own])

    def moment(self, target) -> np.ndarray:
        """(nv, r) sum over samples of each degree's rows times its target (nv, n)."""
        found = np.zeros((self.robot.nv, self.basis.count))
        for row, (places, y), wanted in zip(found, self.own, target, strict=True):
            row[places] = wanted @ y
        return found

    def of_position(self, base) -> np.ndarray:
        """(nv, n) what positions decide of the torque of base parameters (r,): friction and the like are left out."""
        values = np.zeros(self.layout.size)
        values[self.basis.columns] = base
        robot = self.robot.with_inertias(values[self.layout.links])
        if self.layout.rotor_names:
            robot = robot.with_rotor_inertias(values[self.layout.rotors])
        torque = self.torque(robot).T
        for i, extra in enumerate(self.layout.extras):
            torque[list(extra.dofs)] += values[self.layout.extra.start + i] * self.extra(extra)
        return torque * self.believed

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
        stated = stated_values(self.robot)
        absent = [value * self.effect(term) for term, value in stated.items() if term not in self.layout.terms]
        return sum(absent, start=np.zeros_like(self.v))

    def moved(self, offset) -> "Regression":
        """The same with positions changed by an offset (nv,), rad or m, of degrees that have one number for it."""
        q = self.q.copy()
        for dof, place in self.robot.scalar_positions.items():
            q[:, place] += offset[dof]
        return replace(self, q=q)

    def position_rates(self, base, dofs) -> np.ndarray:
        """(nv, n, d) rate of change of the torque of base parameters (r,) with the positions of some degrees."""
        if self.layout.rotor_names or self.layout.extras:
            here, steps = self.of_position(base), STEP * np.eye(self.robot.nv)[list(dofs)]
            return np.stack([(self.moved(step).of_position(base) - here) / STEP for step in steps], axis=-1)
        theta = np.zeros(self.layout.size)
        theta[self.basis.columns] = base
        links = self.robot.with_inertias(theta[self.layout.links].reshape(-1, 10))
        rates = inverse_dynamics_derivatives(links, self.q, self.v, self.a).dtau_dq
        return np.swapaxes(rates[:, :, list(dofs)], 0, 1) * self.believed[:, :, None]

    @property
    def still(self) -> "Regression":
        """The same poses at rest."""
        return replace(self, v=0 * self.v, a=0 * self.a, direction=0 * self.direction)

    def torque(self, robot: Robot) -> np.ndarray:
        """(n, nv) inverse dynamics of the motion for another robot."""
        return inverse_dynamics(robot, self.q, self.v, self.a, rotors=bool(self.layout.rotor_names))
