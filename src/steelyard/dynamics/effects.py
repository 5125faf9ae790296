"""Torques beside those of the bodies: friction and armature of a joint, couplings, springs, columns of the user.

Coulomb friction is smoothed around standstill, `tanh(v / width)`. Behind a low-pass filter the measured torque jumps no
faster than the filter lets it, and so must the column: a filtered log carries its filtered direction of motion.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from steelyard.arguments import as_array
from steelyard.dynamics.derivatives import inverse_dynamics_derivatives
from steelyard.dynamics.newton_euler import inverse_dynamics
from steelyard.errors import OptionError
from steelyard.model import Robot
from steelyard.namespaces import array_namespace
from steelyard.terms import COULOMB_WIDTH, ParameterLayout, term_of
from steelyard.weighed_columns import Extra, bump, steps_of_speed, weighed


def effect_column(term: str, v, a, *, direction=None, coulomb_width: float = COULOMB_WIDTH):
    """Torque per unit of one parameter of a friction or drive term, in the shape of velocities v and accelerations a.

    direction: smoothed sign of v, `tanh(v / coulomb_width)` by default. coulomb_width: half-width of standstill, rad/s
    or m/s. Raises OptionError for an unknown term; lists the terms."""
    found = term_of(term)
    if found.directed and direction is None:
        direction = array_namespace(v, a).tanh(v / coulomb_width)
    return found.column(v, a, direction)


def friction_torque(robot, v, *, direction=None, coulomb_width: float = COULOMB_WIDTH):
    """(..., nv) friction that a robot's model states, damping and frictionloss, at velocities (..., nv); options as of
    `effect_column`."""
    v = as_array("v", v)
    xp = array_namespace(v)
    damping, loss = (xp.asarray(x, dtype=v.dtype) for x in (robot.damping, robot.frictionloss))
    return damping * v + loss * effect_column("coulomb", v, v, direction=direction, coulomb_width=coulomb_width)


def unstated_torque(
    layout: ParameterLayout, friction, v, a, *, direction=None, coulomb_width: float = COULOMB_WIDTH
) -> dict[str, np.ndarray]:
    """(n, nv) torque of each term that a Robot has no place for, such as offsets, by term.

    friction: (d,) parameters of each term, by name. v, a: (n, nv); options as of `effect_column`."""
    found = {}
    for term in layout.terms:
        if term_of(term).stated is None:
            column = effect_column(term, v, a, direction=direction, coulomb_width=coulomb_width)
            found[term] = np.zeros_like(v)
            found[term][:, list(layout.dofs)] = column[:, list(layout.dofs)] * friction[term]
    return found


def shared_directions(layout: ParameterLayout, direction, nv: int) -> dict[int, np.ndarray]:
    """(n,) direction of motion of each shared motor, by index of the extra column it is for, where it is known.

    direction: (nv, n) of the degrees, or (nv + s, n) with the s shared motors behind them."""
    return dict(zip(layout.coupled_directions, direction[nv:], strict=False))


def given_rows(robot: Robot, layout: ParameterLayout, q, v, a) -> dict[int, np.ndarray]:
    """(len(extra.dofs), n) by index of the extra column: those that are made for all samples at once, of the user, of
    friction of any shape, and the torques that small mistakes of a log make, which are derivatives at the links of the
    robot. q: (nq, n) of NumPy; v, a: (nv, n)."""
    motion, found = Motion(robot, q, v, a), {}
    for i, extra in enumerate(layout.extras):
        if extra.kind == "user":
            found[i] = extra_rows(robot, extra, q, v, a)
        elif extra.weighed and (torque := weighed(extra.kind).torque) is not None:
            found[i] = torque(motion, extra)
    return found


@dataclass(frozen=True, eq=False)
class Motion:
    """What columns of friction of any shape and of mistakes take of a motion, samples last: q (nq, n), v and a
    (nv, n)."""

    robot: Robot
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @cached_property
    def torque(self) -> np.ndarray:
        """(nv, n) of the links."""
        return inverse_dynamics(_bodies(self.robot), self.q.T, self.v.T, self.a.T).T

    @cached_property
    def torque_by_position(self) -> np.ndarray:
        """(n, nv, nv) its derivatives."""
        return inverse_dynamics_derivatives(_bodies(self.robot), self.q.T, self.v.T, self.a.T).dtau_dq

    @cached_property
    def direction(self) -> np.ndarray:
        """(nv, n) smoothed signs of the speeds."""
        return np.tanh(self.v / COULOMB_WIDTH)

    @cached_property
    def steps(self) -> np.ndarray:
        """(nv, n) speeds in steps of friction curves."""
        return steps_of_speed(self.v)

    def torque_of_lean(self, axis: int) -> np.ndarray:
        """(nv, n) by a radian of lean."""
        still = np.zeros_like(self.v.T)
        return inverse_dynamics(_pulled(self.robot, axis), self.q.T, still, still).T


def friction_curve(layout: ParameterLayout, values, dof: int, v) -> np.ndarray:
    """(n,) torque of the bumps of one degree's friction curve at its speeds v (n,). values: (e,) of the extra
    columns."""
    u = steps_of_speed(v)
    bumps = [(x, each) for x, each in zip(values, layout.extras, strict=True) if each.kind == "curve"]
    return np.zeros_like(v) + sum(x * bump(u, each.number) for x, each in bumps if dof in each.dofs)


@lru_cache(maxsize=8)
def _bodies(robot: Robot) -> Robot:
    return robot.with_joint_properties(armature=np.zeros(robot.nv))


@lru_cache(maxsize=16)
def _pulled(robot: Robot, axis: int) -> Robot:
    """The robot in a gravity that is what a lean of a radian adds."""
    return replace(_bodies(robot), gravity=np.linalg.norm(robot.gravity) * lean_axes(robot.gravity)[axis])


def lean_axes(gravity) -> np.ndarray:
    """(2, 3) unit vectors across gravity (3,), along which a base leans: x and y of the world, turned with the vertical
    to where gravity points."""
    vertical = np.array([0.0, 0.0, 1.0 if gravity[2] > 0 else -1.0])
    down = np.divide(gravity, max(np.linalg.norm(gravity), np.finfo(float).tiny))
    K = np.cross(np.cross(vertical, down), np.eye(3)).T  # Rodrigues: the shortest turn
    return (np.eye(3) + K + K @ K / (1 + vertical @ down))[:, :2].T


def leaned(gravity, x: float, y: float) -> np.ndarray:
    """Gravity (3,) against which a base leans by x and y, rad, along the two of `lean_axes`."""
    size = np.linalg.norm(gravity)
    turned = gravity + size * np.array([x, y]) @ lean_axes(gravity)
    return turned * size / max(np.linalg.norm(turned), np.finfo(float).tiny)


def extra_rows(
    robot: Robot, extra: Extra, q, v, a, *, direction=None, coulomb_width: float = COULOMB_WIDTH
) -> np.ndarray:
    """(len(extra.dofs), n) torque per unit of an extra column on each of its degrees. direction: (n,) of a shared
    motor. Raises OptionError for a user's column of another shape or with values that are not finite."""
    if extra.function is not None:
        column = np.asarray(extra.function(q.T, v.T, a.T), dtype=float)
        if column.shape != v.T.shape or not np.isfinite(column).all():
            raise OptionError(
                f"Column '{extra.name}' must be finite and have shape {v.T.shape}, one row a sample and one column a "
                f"degree of freedom; its function returned {column.shape}."
            )
        return column.T[list(extra.dofs)]
    dofs, ratios = np.array(extra.dofs), np.array(extra.ratios)
    if extra.kind == "spring":
        return q[_position_of(robot, dofs[0])][None]
    if extra.kind == "rest":
        return np.ones_like(v[dofs])
    speed, change = ratios @ v[dofs], ratios @ a[dofs]
    column = effect_column(extra.kind, speed, change, direction=direction, coulomb_width=coulomb_width)
    return ratios[:, None] * column


def _position_of(robot: Robot, dof: int) -> int:
    joint = next(j for j, where in enumerate(robot.v_slices) if where.start == dof)
    return robot.q_slices[joint].start


def extra_torque(
    robot: Robot, layout: ParameterLayout, values, q, v, a, *, direction=None, coulomb_width: float = COULOMB_WIDTH
) -> np.ndarray:
    """(n, nv) torque of all extra columns together. values: (e,) of the extra columns; q: (n, nq), v, a: (n, nv);
    direction: (n, nv), or (n, nv + s) with the directions of shared motors."""
    tau = np.zeros_like(v)
    shared = {} if direction is None else shared_directions(layout, direction.T, robot.nv)
    given = given_rows(robot, layout, q.T, v.T, a.T)
    for i, (extra, value) in enumerate(zip(layout.extras, values, strict=True)):
        options = {"direction": shared.get(i), "coulomb_width": coulomb_width}
        rows = given[i] if i in given else extra_rows(robot, extra, q.T, v.T, a.T, **options)
        tau[:, list(extra.dofs)] += value * rows.T
    return tau
