"""Rows of the regression for a planned motion, their sums, and the gradient of these. Only what is not zero is kept:
a row sees the bodies behind its axis."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.dynamics.armature import felt_acceleration
from steelyard.dynamics.effects import effect_column
from steelyard.dynamics.kinematics import TreeMotion, joint_motion, of_bodies
from steelyard.dynamics.newton_euler import body_wrench_regressors, projected, projected_blocks
from steelyard.excite.adjoint import StateGradient, regressor_gradient
from steelyard.excite.measured_axes import JOINTS, Axes, axes_of
from steelyard.identifiable.basis import Basis
from steelyard.information.regression_rows import Row, rows_of
from steelyard.model import Robot
from steelyard.terms import ParameterLayout, stated_values, term_of


@dataclass(frozen=True, eq=False)
class MeasuredRegression:
    """What is measured and which base columns each row has; `at` gives the rows of a motion."""

    axes: Axes
    layout: ParameterLayout
    basis: Basis
    rows: tuple[Row, ...]  # one a row of the axes, empty for torques that no sensor measures
    width: float  # of smoothed Coulomb friction

    @property
    def robot(self) -> Robot:
        return self.axes.robot

    def at(self, q, v, a) -> "MeasuredRows":
        """Rows of states q (nq, n), v, a (nv, n)."""
        state = joint_motion(self.robot, q, v, a)
        bodies = of_bodies(self.robot, state)
        return MeasuredRows(self, v, a, state, bodies, body_wrench_regressors(np, bodies))


def regression_of(
    robot: Robot, layout: ParameterLayout, basis: Basis, width: float, kinds: tuple[str, ...] = (JOINTS,), more=()
) -> MeasuredRegression:
    """Regression of rows of these kinds. more: kinds of rows that are computed, but not measured."""
    axes = axes_of(robot, (*kinds, *more))
    rows = rows_of(robot, layout, basis.columns if JOINTS in kinds else ())
    place = {int(column): i for i, column in enumerate(basis.columns)}
    measured = robot.nv + 6 * sum(kind != JOINTS for kind in kinds)
    for k, bodies in enumerate(axes.row_bodies[robot.nv :], robot.nv):
        inside = range(10 * bodies.start, 10 * bodies.stop) if k < measured else ()
        own = np.array([c for c in inside if c in place], dtype=int)
        places = np.array([place[c] for c in own], dtype=int)
        rows.append(Row(in_block=own - 10 * bodies.start, terms=(), extras=(), places=places))
    return MeasuredRegression(axes, layout, basis, tuple(rows), width)


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """Rows along a motion. v, a: (nv, n); joints, bodies: their motion; wrenches: regressors of those of bodies."""

    plan: MeasuredRegression
    v: np.ndarray
    a: np.ndarray
    joints: TreeMotion
    bodies: TreeMotion
    wrenches: tuple[np.ndarray, np.ndarray]

    @cached_property
    def blocks(self) -> list[np.ndarray]:
        """Per row (10 k, n): columns of the bodies that it depends on."""
        axes = self.plan.axes
        found = projected_blocks(np, axes.robot, self.joints.axes, *self.wrenches)
        sensed = axes.along(self.bodies)[len(axes.joint) - 6 * len(axes.sensors) :]
        for axis, bodies in zip(sensed, axes.row_bodies[axes.robot.nv :], strict=True):
            block = projected(np, axis, *(x[:, bodies] for x in self.wrenches))
            found.append(block.reshape(-1, block.shape[-1]))
        return found

    @cached_property
    def base(self) -> list[np.ndarray]:
        """Per row (k, n): its base columns, in the order of its `places`."""
        return [
            np.concatenate([block[row.in_block], *(self._effect(term, i)[None] for term in row.terms)])
            for i, (row, block) in enumerate(zip(self.plan.rows, self.blocks, strict=True))
        ]

    def _effect(self, term: str, dof: int) -> np.ndarray:
        return effect_column(term, self.v[dof], self.a[dof], coulomb_width=self.plan.width)

    def dense(self) -> np.ndarray:
        """(r, rows, n) base columns with their zeros."""
        found = np.zeros((self.plan.basis.count, len(self.base), self.v.shape[-1]))
        for i, (row, values) in enumerate(zip(self.plan.rows, self.base, strict=True)):
            found[row.places, i] = values
        return found

    def gram(self, weights) -> np.ndarray:
        """(r, r) sum of squares in base columns, rows times weights (rows,)."""
        found = np.zeros((self.plan.basis.count, self.plan.basis.count))
        for row, values, weight in zip(self.plan.rows, self.base, weights, strict=True):
            found[np.ix_(row.places, row.places)] += weight**2 * (values @ values.T)
        return found

    def gram_gradient(self, F, weights) -> list[np.ndarray]:
        """Derivative of `sum(F * gram(weights))` by `base`, F symmetric (r, r)."""
        return [
            (2 * weight**2 * F[np.ix_(row.places, row.places)]) @ values
            for row, values, weight in zip(self.plan.rows, self.base, weights, strict=True)
        ]

    @cached_property
    def forces(self) -> np.ndarray:
        """(rows, n) that the robot's model predicts, friction included."""
        robot, axes = self.plan.robot, self.plan.axes
        theta = robot.inertias.ravel()
        rigid = [
            theta[10 * s.start : 10 * s.stop] @ block for s, block in zip(axes.row_bodies, self.blocks, strict=True)
        ]
        tau, felt = np.stack(rigid), felt_acceleration(robot, self.v, self.a)  # the latter for armature alone
        for term, values in stated_values(robot).items():
            tau[: robot.nv] += values[:, None] * effect_column(term, self.v, felt, coulomb_width=self.plan.width)
        return tau

    def gradient(self, pull, force=None) -> StateGradient:
        """Gradient by the motion of a number, its derivatives by `base` being `pull`, by `forces` force (rows, n)."""
        robot, axes = self.plan.robot, self.plan.axes
        theta, n = robot.inertias.ravel(), self.v.shape[-1]
        weights = []
        for i, (row, values, bodies) in enumerate(zip(self.plan.rows, pull, axes.row_bodies, strict=True)):
            own = slice(10 * bodies.start, 10 * bodies.stop)
            weights.append(np.zeros((own.stop - own.start, n)) if force is None else theta[own, None] * force[i])
            weights[-1][row.in_block] += values[: len(row.in_block)]
        found = regressor_gradient(axes, self.joints, self.bodies, self.wrenches, self.v, self.a, weights)
        for i, row in enumerate(self.plan.rows[: robot.nv]):
            for term, value in zip(row.terms, pull[i][len(row.in_block) :], strict=True):
                self._through(found, term, i, value)
        if force is not None:
            for term, values in stated_values(robot).items():
                self._through(found, term, slice(None), values[:, None] * force[: robot.nv])
        return found

    def _through(self, found: StateGradient, term: str, dof, value):
        """Add the gradient through an effect of friction or armature."""
        v, a = self.v[dof], self.a[dof]
        direction = np.tanh(v / self.plan.width)
        by_v, by_a = term_of(term).rates(v, a, direction, (1 - direction**2) / self.plan.width)
        found.v[dof] += value * by_v
        found.a[dof] += value * by_a


def base_rows(
    robot: Robot, layout: ParameterLayout, basis: Basis, q, v, a, width: float, kinds: tuple[str, ...] = (JOINTS,)
) -> np.ndarray:
    """(r, rows, n) rows of the base columns. q: (nq, n), v, a: (nv, n)."""
    return regression_of(robot, layout, basis, width, kinds).at(q, v, a).dense()
