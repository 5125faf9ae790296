"""Derivatives of inverse dynamics with respect to everything in it (paper D, sections 2 and 5; `theory.md` 4).

As matrices: rows of degrees times what each change does, masked by who carries whom. One small product for every sample
gives all entries of a kind at once; both ways a change counts (behind the changed joint, before it) are computed in
full and masked, which on arms costs less than picking blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from steelyard import native
from steelyard.cards import Card
from steelyard.dynamics.armature import armature_by_rates
from steelyard.dynamics.displacements import (
    DisplacedTree,
    Displacements,
    accelerations,
    behind,
    frame_twists,
    placements,
    positions,
    rates,
    resisted,
    responses,
    twists,
    two_passes,
)
from steelyard.dynamics.external_wrenches import external_rows
from steelyard.dynamics.gradients import Gradient, torque_gradient
from steelyard.dynamics.kinematics import coordinate_map, samples_last, tree
from steelyard.dynamics.native_plans import fixed_poses, native_links, native_tree
from steelyard.dynamics.newton_euler import inverse_dynamics, regressor
from steelyard.dynamics.rotors import with_rotor_bodies
from steelyard.dynamics.stacks import force_cross
from steelyard.errors import OptionError, choices
from steelyard.model import Robot
from steelyard.namespaces import array_namespace, is_numpy_array
from steelyard.native import CHUNK
from steelyard.spatial import crm

ENGINES = ("auto", "numpy", "native")


@dataclass(frozen=True, eq=False, repr=False)
class LinkDerivatives(Card):
    """With respect to `lambda = [eta of every joint of the tree | q | v | a]`, p = 6 nj + 3 nv columns.

    dV (P of the paper), dA (Q), dF (R): (..., nb, 6, p), in the axes and at the origin of each body: its twist, its
    proper spatial acceleration and the wrench that its joint transmits. twists, positions, rates, accelerations: where
    the columns of each group stand.
    """

    dV: Any
    dA: Any
    dF: Any
    twists: slice
    positions: slice
    rates: slice
    accelerations: slice


class TorqueDerivatives(Card):
    """What derivatives of k torques (..., k) of open trees and of closed loops have in common."""

    robot: Robot
    dtau_djoint: Any
    _degrees: Any

    @property
    def dtau_dq(self):
        """(..., k, k) per rad or m."""
        return self._degrees[0]

    @property
    def dtau_dv(self):
        """(..., k, k) per rad/s or m/s."""
        return self._degrees[1]

    @property
    def dtau_da(self):
        """(..., k, k) per rad/s^2 or m/s^2: the mass matrix, armature included."""
        return self._degrees[2]

    @property
    def dtau_dtwist(self):
        """(..., k, nv, 6) as the twist of a degree of the tree becomes `Ad_exp(eta)` of it, `eta = [dv; dw]` in the
        frame of the child, m and rad (paper D, (6)).

        Link frames at zero stay where they are, and inertias in them. The degrees of one joint share its eta, so their
        entries are equal; a joint that mimics another has its own in `dtau_djoint`.
        """
        own = [j for j, joint in enumerate(self.robot.joints) if joint.mimics is None]
        joint_of_coordinate = np.repeat(own, [self.robot.joints[j].nv for j in own])
        xp = array_namespace(self.dtau_djoint)
        return xp.take(self.dtau_djoint, xp.asarray(joint_of_coordinate), axis=-2)


@dataclass(frozen=True, eq=False, repr=False)
class InverseDynamicsDerivatives(TorqueDerivatives):
    """Derivatives of the joint torques tau (..., nv) of a robot at states (...); rows are torques.

    Each group is computed when it is first asked for. Positions of joints with several degrees change in their tangent
    space, along child axes, as their velocity does. Friction is left aside, as in `inverse_dynamics`; armature counts.
    """

    robot: Robot
    q: Any
    v: Any
    a: Any
    engine: str = "auto"
    external: Mapping[str, Any] | None = None

    @cached_property
    def tau(self):
        """(..., nv) N m or N: the torques themselves."""
        return inverse_dynamics(self.robot, self.q, self.v, self.a, external=self.external)

    @cached_property
    def dtau_djoint(self):
        """(..., nv, nj, 6) the same, one entry a joint of `robot.joints`."""
        if self._compiled:
            return self._all_compiled[3]
        return self._collected(of_twists)[0]

    @cached_property
    def dtau_dplacement(self):
        """(..., nv, nj, 6) as the place of each joint in its parent becomes `T_0 exp(xi)`, with all it carries; `xi =
        [dv; dw]` in the child's frame at zero.
        """
        return self._collected(of_placements)[0]

    @cached_property
    def dtau_dgravity(self):
        """(..., nv, 3) per m/s^2 of gravity in world axes."""
        return self._collected(of_gravity)[0]

    @cached_property
    def dtau_dtheta(self):
        """(..., nv, 10 nb) per inertial parameter: the regressor."""
        return regressor(self.robot, self.q, self.v, self.a)

    @cached_property
    def links(self) -> LinkDerivatives:
        """Derivatives of every link's velocity, acceleration and force (paper D, P, Q, R)."""
        dV, dA, dF = self._collected(of_links)
        return LinkDerivatives(dV, dA, dF, **link_columns(self.robot))

    def vjp(self, weights) -> Gradient:
        """Gradient of `sum_k weights_k tau_k` with respect to all of these, at the cost of two to three inverse
        dynamics."""
        return torque_gradient(self.robot, self.q, self.v, self.a, weights, self.external)

    @cached_property
    def _degrees(self):
        by_q, by_v, M = self._degrees_of_bodies
        xp, batch, _, v, _ = samples_last(self.robot, self.q, self.v, self.a)
        more = armature_by_rates(self.robot, v)
        by_v = by_v if more is None else by_v + xp.reshape(more, (*batch, *more.shape[1:]))
        return by_q, by_v, M + xp.asarray(np.diag(self.robot.armature), dtype=M.dtype)

    @property
    def _degrees_of_bodies(self):
        if self._compiled:
            whole = "_all_compiled" in self.__dict__
            return self._all_compiled[:3] if whole else self._by_core(twists=False)
        return self._collected(of_degrees)

    @cached_property
    def _all_compiled(self):
        return self._by_core(twists=True)

    def _by_core(self, *, twists: bool):
        _, batch, q, v, a = samples_last(self.robot, self.q, self.v, self.a)
        parts = _by_core(self.robot, q.T, v.T, a.T, twists=twists)
        return tuple(x.reshape(*batch, *x.shape[1:]) for x in parts)

    @property
    def _compiled(self) -> bool:
        """Whether the compiled core takes derivatives by positions, velocities, accelerations and twists."""
        return self.engine != "numpy" and not self.external and is_numpy_array(self.q) and native.core() is not None

    def _collected(self, function):
        """Arrays that a function of a Pass returns, samples first, for all states."""
        xp, batch, q, v, a = samples_last(self.robot, self.q, self.v, self.a)
        count, external = prod(batch), external_rows(self.robot, batch, self.external, q)
        if not is_numpy_array(q) or count <= CHUNK:
            parts = function(two_passes(self.robot, q, v, a, external))
            return tuple(xp.reshape(x, (*batch, *x.shape[1:])) for x in parts)
        whole: list[np.ndarray] = []
        for start in range(0, count, CHUNK):
            chunk = slice(start, start + CHUNK)
            state = (np.ascontiguousarray(x[:, chunk]) for x in (q, v, a))
            outside = {name: wrench[:, chunk] for name, wrench in external.items()}
            parts = function(two_passes(self.robot, *state, external=outside))
            whole = whole or [np.empty((count, *x.shape[1:])) for x in parts]
            for out, part in zip(whole, parts, strict=True):
                out[chunk] = part
        return tuple(x.reshape(*batch, *x.shape[1:]) for x in whole)


def inverse_dynamics_derivatives(
    robot: Robot, q, v, a, *, external: Mapping[str, Any] | None = None, engine: str = "auto", rotors: bool = False
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics` at a batch of states, without finite differences (paper D, sections 2 and 5).

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.
        external: as of `inverse_dynamics`; these wrenches stay as they are in their frames.
        engine: "numpy", "native" (the compiled core, for those with respect to positions, velocities, accelerations and
            twists, without wrenches from outside) or "auto", which takes the core where it is installed and can; they
            agree to rounding.
        rotors: whether motor rotors are bodies, too, as of `inverse_dynamics`. `robot` of the result then has a joint
            and a body more for each, named as the rotor, with entries of their own.

    Returns:
        InverseDynamicsDerivatives, whose groups are computed when they are first asked for. NumPy in, NumPy out; JAX
        in, JAX out.

    Raises:
        OptionError: another engine, wrenches from outside with rotors, or q, v, a or a wrench has the wrong width.
        ModelError: a wrench on a frame that the robot does not have.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> q, v, a = np.random.default_rng(0).normal(size=(3, 10, 4))
        >>> found = sy.inverse_dynamics_derivatives(robot, q, v, a)
        >>> M = found.dtau_da  # the mass matrix
        >>> np.allclose(M, np.swapaxes(M, -1, -2)), found.dtau_dtwist.shape
        (True, (10, 4, 4, 6))
    """
    if engine not in ENGINES:
        raise OptionError(f"engine is one of {choices(ENGINES)}; got {engine!r}.")
    if engine == "native":
        native.require_core()
        if external:
            raise OptionError("engine 'native' takes derivatives without wrenches from outside; leave it at 'auto'.")
    if rotors:
        robot = robot_with_spinning_rotors(robot, external)
    _, batch, like, _, _ = samples_last(robot, q, v, a)  # refuses wrong widths at once
    external_rows(robot, batch, external, like)
    return InverseDynamicsDerivatives(robot, q, v, a, engine, external)


def robot_with_spinning_rotors(robot: Robot, external) -> Robot:
    """The tree with rotors as bodies. Raises OptionError for wrenches from outside, whose frames that tree does not
    have."""
    if external:
        raise OptionError("Derivatives with rotors=True take no wrenches from outside; leave one of them out.")
    return with_rotor_bodies(robot).robot


def _by_core(robot: Robot, q, v, a, *, twists: bool):
    """dtau/dq, dv, da (n, nv, nv) of bodies, and where asked dtau/deta (n, nv, nj, 6). q (n, nq), v, a (n, nv)."""
    n, core = len(q), native.require_core()
    by_q, by_v, M = np.empty((3, n, robot.nv, robot.nv))
    eta = np.empty((n, robot.nj, 6, robot.nv)) if twists else None
    tree, links = native_tree(robot), native_links(robot)

    def share(start: int):
        part = slice(start, start + CHUNK)
        q_part, v_part, a_part = (np.ascontiguousarray(x[part], dtype=float) for x in (q, v, a))
        outs = by_q[part], by_v[part], M[part], None if eta is None else eta[part]
        core.derivatives(tree, links, q_part, fixed_poses(robot, q_part), v_part, a_part, *outs)

    if n <= CHUNK:
        share(0)
    else:
        native.for_each(share, range(0, n, CHUNK))
    degrees = by_q.mT, by_v.mT, M
    return degrees if eta is None else (*degrees, np.moveaxis(eta, -1, 1))


def of_degrees(state: DisplacedTree):
    """dtau/dq, dv, da (n, nv, nv) of a chunk, of bodies alone."""
    robot, xp = state.robot, array_namespace(state.base_twist)
    joint, axes = tree(robot).degree_joint, state.joints.axes
    Y = _first(resisted(state, joint, axes))
    by_q, by_v = (powers(state, changes, joint, axes, Y) for changes in (positions(state), rates(state)))
    inside, outside = (xp.asarray(mask, dtype=Y.dtype) for mask in _masks(robot, joint, joint))
    products = Y[..., :6] @ xp.matrix_transpose(_first(axes))
    M = inside * products + outside * xp.matrix_transpose(products)
    return tuple(by_coordinate(robot, torques_of(robot, x)) for x in (by_q, by_v, M))


def of_twists(state: DisplacedTree):
    """dtau/deta (n, nv, nj, 6), alone in a tuple; a joint's own axes turn with it, as `-F^T ad_A` says."""
    xp = array_namespace(state.base_twist)
    joint, axes = tree(state.robot).degree_joint, state.joints.axes
    changes, hanging = twists(state)
    wrench = xp.take(state.composite.wrench, xp.asarray(joint), axis=0)
    own = _first(force_cross(xp, axes, wrench)) @ xp.matrix_transpose(_first(hanging))
    same = xp.asarray(joint[:, None] == changes.joint, dtype=own.dtype)
    return (_by_frame(state.robot, powers(state, changes, joint, axes) + same * own),)


def of_placements(state: DisplacedTree):
    """dtau/dxi (n, nv, nj, 6), alone in a tuple."""
    joint, axes = tree(state.robot).degree_joint, state.joints.axes
    return (_by_frame(state.robot, powers(state, placements(state), joint, axes)),)


def of_gravity(state: DisplacedTree):
    """dtau/dg (n, nv, 3), alone in a tuple."""
    Y = _first(resisted(state, tree(state.robot).degree_joint, state.joints.axes))
    return (-torques_of(state.robot, Y[..., :3]),)


def powers(state: DisplacedTree, changes: Displacements, joint, U, Y=None):
    """Change (n, r, k) of the power of joint wrenches on twists U (r, 6, n) that belong to the links at `joint` (r,)
    and move with them. Y: `resisted` of the same, samples first, where it is known already.
    """
    xp = array_namespace(U)
    Y = _first(resisted(state, joint, U)) if Y is None else Y
    X = _first(xp.concat([changes.x1, changes.x2[:, 3:]], axis=1))
    inside, outside = (xp.asarray(mask, dtype=U.dtype) for mask in _masks(state.robot, joint, changes.joint))
    before = _first(U) @ xp.matrix_transpose(_first(responses(state, changes)))
    return inside * (Y @ xp.matrix_transpose(X)) + outside * before


def torques_of(robot: Robot, array):
    """Rows of coordinates (n, nv, k) from rows of the tree's degrees (n, nt, k)."""
    if not robot.mimic_names:
        return array
    return array_namespace(array).asarray(coordinate_map(robot), dtype=array.dtype) @ array


def by_coordinate(robot: Robot, array):
    """Columns of coordinates (..., nv) from columns of the tree's degrees (..., nt)."""
    if not robot.mimic_names:
        return array
    return array @ array_namespace(array).asarray(coordinate_map(robot).T, dtype=array.dtype)


def _by_frame(robot: Robot, array):
    """(n, nv, nj, 6) from (n, nt, 6 nj)."""
    rows = torques_of(robot, array)
    return array_namespace(rows).reshape(rows, (*rows.shape[:2], robot.nj, 6))


def _first(array):
    return array_namespace(array).moveaxis(array, -1, 0)


def _masks(robot: Robot, joint, changed) -> tuple[np.ndarray, np.ndarray]:
    """(r, k) 1.0 where a joint is a changed one or lies behind it, and where it lies before it."""
    before = behind(robot, changed, joint).T * (np.asarray(joint)[:, None] != changed)
    return behind(robot, joint, changed), before


def link_columns(robot: Robot) -> dict[str, slice]:
    """Where the columns of each group stand."""
    edges = np.cumsum([0, 6 * robot.nj, robot.nv, robot.nv, robot.nv])
    names = ("twists", "positions", "rates", "accelerations")
    return {name: slice(int(i), int(j)) for name, i, j in zip(names, edges[:-1], edges[1:], strict=True)}


def of_links(state: DisplacedTree):
    """dV, dA, dF (n, nb, 6, p) of a chunk."""
    xp = array_namespace(state.base_twist)
    degrees = (positions(state), rates(state), accelerations(state))
    parts = [_of_changes(state, twists(state)[0])]
    parts += [[by_coordinate(state.robot, x) for x in _of_changes(state, changes)] for changes in degrees]
    return tuple(xp.concat(each, axis=-1) for each in zip(*parts, strict=True))


def _of_changes(state: DisplacedTree, changes: Displacements):
    robot, xp = state.robot, array_namespace(changes.x1)
    frames, n = state.joints, changes.x1.shape[-1]
    bodies = xp.asarray(robot.body_joints)
    R, p, V = (xp.take(x, bodies, axis=0) for x in (frames.rotation, frames.position, frames.twist))
    units = frame_twists(R, p)
    dF = powers(state, changes, np.repeat(robot.body_joints, 6), units)
    mask = xp.asarray(behind(robot, robot.body_joints, changes.joint), dtype=p.dtype)[:, None]
    rows = xp.moveaxis(xp.reshape(units, (robot.nb, 6, 6, n)), -1, 0)
    swap = xp.asarray(np.roll(np.eye(6), 3, axis=0), dtype=p.dtype)
    back = swap @ rows @ swap  # Ad^-1, as Ad^T with linear and angular halves swapped
    x1, x2 = (xp.moveaxis(x, (2, 1), (0, 1))[:, None] for x in (changes.x1, changes.x2))
    dV = mask * (back @ x2)
    own = crm((back @ xp.moveaxis(V, -1, 0)[..., None])[..., 0])
    dA = mask * (back @ x1) - own @ dV
    return dV, dA, xp.reshape(dF, (n, robot.nb, 6, -1))
