"""Derivatives of the torques of closed loops with respect to everything in them (paper D, (14), by virtual work).

tau = Gamma^T tau_tree,   dtau = Gamma^T (dtau_tree along all that changes) + dGamma^T tau_tree
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from steelyard.arguments import require_type
from steelyard.dynamics.closed_loop.assembly import Choice, choose_independent
from steelyard.dynamics.closed_loop.constraint import constants
from steelyard.dynamics.closed_loop.following import (
    along_coordinates,
    constraint_power,
    driven,
    followed,
    left_open,
    of_geometry,
)
from steelyard.dynamics.closed_loop.projection import flat_external, on_independent_joints
from steelyard.dynamics.closed_loop.projection import inverse_dynamics as torques
from steelyard.dynamics.closed_loop.states import State, named, state, transmission
from steelyard.dynamics.derivatives import InverseDynamicsDerivatives, TorqueDerivatives, robot_with_spinning_rotors
from steelyard.dynamics.derivatives import inverse_dynamics_derivatives as tree_derivatives
from steelyard.dynamics.gradients import Gradient
from steelyard.dynamics.newton_euler import inverse_dynamics as tree_inverse_dynamics
from steelyard.dynamics.newton_euler import regressor as tree_regressor
from steelyard.errors import LoopError, OptionError
from steelyard.extras import extra
from steelyard.model import Robot
from steelyard.native import NUMBERS
from steelyard.numbers import SAME


@dataclass(frozen=True, eq=False, repr=False)
class Derivatives(TorqueDerivatives):
    """Derivatives of the torques (..., ni) of the independent joints at closed states (...); rows are torques.

    friction: torque (n, nv) of all joints and its slope (n, nv) by their velocities, for derivatives by geometry: that
    of passive joints is felt at the motors. None leaves it aside.

    Held: the independent q, v and a. Dependent ones follow the closures. Each group is computed when it is first asked
    for. Armature of all joints counts. Where loops have redundant equations (planar and
    spherical linkages), a change that opens them everywhere has no derivative: its entry is NaN, and `along` takes
    combinations that they can follow.
    """

    robot: Robot
    at: State
    external: Mapping[str, Any]
    friction: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def tau(self):
        """(..., ni) N m or N: the torques themselves."""
        return self._batched(on_independent_joints(self.at, self._tree_torque[..., None])[..., 0])

    @property
    def dtau_djoint(self):
        """(..., ni, nj, 6) as the twist of a joint of the tree becomes `Ad_exp(eta)` of it, as for open trees."""
        return self._masked[..., : 6 * self.robot.nj].reshape(*self._shape, self.robot.nj, 6)

    @property
    def dtau_dplacement(self):
        """(..., ni, nj, 6) as the place of each joint in its parent becomes `T_0 exp(xi)`, with all it carries."""
        part = slice(6 * self.robot.nj, 12 * self.robot.nj)
        return self._masked[..., part].reshape(*self._shape, self.robot.nj, 6)

    @property
    def dtau_dclosure(self):
        """(..., ni, L, 2, 6) as the frame of a closure on its first or second body becomes `T exp(xi)`, `xi = [dv; dw]`
        in that frame, bodies and inertias as they are.
        """
        return self._masked[..., 12 * self.robot.nj :].reshape(*self._shape, len(self.robot.loops), 2, 6)

    @property
    def dtau_dcut(self):
        """(..., ni, L, 6) as the twist of a joint that was cut becomes `Ad_exp(eta)` of it: both frames move."""
        rows = self._geometry[..., 12 * self.robot.nj :].reshape(*self._shape, len(self.robot.loops), 2, 6).sum(axis=-2)
        combined = _joined(self.robot, {"cut": np.eye(6 * len(self.robot.loops)).reshape(-1, len(self.robot.loops), 6)})
        return np.where(_follows(self.robot, self.at.choice, combined).reshape(-1, 6), rows, np.nan)

    @cached_property
    def dtau_dgravity(self):
        """(..., ni, 3) per m/s^2 of gravity in world axes."""
        return self._batched(on_independent_joints(self.at, self._tree.dtau_dgravity))

    @cached_property
    def dtau_dtheta(self):
        """(..., ni, 10 nb) per inertial parameter: the regressor."""
        rows = tree_regressor(self.robot, self.at.q, self.at.v, self.at.a)
        return self._batched(on_independent_joints(self.at, rows))

    def along(self, *, joints=None, placements=None, closures=None, cut=None):
        """(..., ni) derivative along one change of geometry, or (..., ni, k) along k of them.

        Args:
            joints: (nj, 6) or (k, nj, 6), eta of the joints' twists, m and rad.
            placements: (nj, 6) or (k, nj, 6), xi of the joints' places.
            closures: (L, 2, 6) or (k, L, 2, 6), xi of the closures' frames.
            cut: (L, 6) or (k, L, 6), eta of the joints that were cut.

        Raises:
            OptionError: another shape, or none of them.
            LoopError: the loops cannot follow such a change.
        """
        given = {"joints": joints, "placements": placements, "closures": closures, "cut": cut}
        changes = _joined(self.robot, given)
        follows = _follows(self.robot, self.at.choice, changes)
        if not follows.all():
            raise LoopError(
                f"The loops of robot '{self.robot.name}' ({', '.join(self.robot.loop_names)}) have redundant equations "
                f"and cannot close after change {int(np.argmin(follows.reshape(-1)))} of geometry: parallel or "
                "concurrent axes no longer are. Combine it with the changes of other joints that keep them so, or "
                "close the loop by fewer equations."
            )
        return self._geometry @ np.moveaxis(changes, -1, 0) if changes.ndim > 1 else self._geometry @ changes

    def vjp(self, weights) -> Gradient:
        """Gradient of `sum_k weights_k tau_k` with respect to all of these.

        weights: (..., ni). q, v, a are of the independent coordinates; twist, placement, closure and cut have NaN
        where the loops cannot follow.
        """
        weights = np.asarray(weights, dtype=float)
        ni = len(self.at.choice.independent)
        if weights.ndim == 0 or weights.shape[-1] != ni:
            raise OptionError(f"weights has shape {weights.shape}; one a torque is needed, (..., {ni}).")

        def pulled(rows, *shape: int):
            flat = rows.reshape(*self._shape, -1)
            total = (weights[..., None, :] @ flat)[..., 0, :]
            return total.reshape(*total.shape[:-1], *shape)

        nj = self.robot.nj
        return Gradient(
            q=pulled(self.dtau_dq, ni),
            v=pulled(self.dtau_dv, ni),
            a=pulled(self.dtau_da, ni),
            twist=pulled(self.dtau_djoint, nj, 6),
            placement=pulled(self.dtau_dplacement, nj, 6),
            gravity=pulled(self.dtau_dgravity, 3),
            theta=pulled(self.dtau_dtheta, self.robot.nb, 10),
            closure=pulled(self.dtau_dclosure, len(self.robot.loops), 2, 6),
            cut=pulled(self.dtau_dcut, len(self.robot.loops), 6),
        )

    @property
    def _shape(self) -> tuple[int, ...]:
        return (*self.at.batch, len(self.at.choice.independent))

    @cached_property
    def _tree(self) -> InverseDynamicsDerivatives:
        return tree_derivatives(self.robot, self.at.q, self.at.v, self.at.a, external=self.external)

    @cached_property
    def _tree_torque(self):
        return tree_inverse_dynamics(self.robot, self.at.q, self.at.v, self.at.a, external=self.external)

    @cached_property
    def _degrees(self):
        robot, at, tree = self.robot, self.at, self._tree
        G = at.transmission.gamma
        moved = along_coordinates(robot, at, G)
        by_q, by_v = driven(robot, at, G, moved), driven(robot, at, np.zeros_like(G), None, G)
        followed_q = tree.dtau_dq @ G + tree.dtau_dv @ by_q.v + tree.dtau_da @ by_q.a
        groups = (
            on_independent_joints(at, followed_q) + constraint_power(robot, at, moved, self._tree_torque),
            on_independent_joints(at, tree.dtau_dv @ G + tree.dtau_da @ by_v.a),
            on_independent_joints(at, tree.dtau_da @ G),
        )
        return tuple(self._batched(x) for x in groups)

    @cached_property
    def _geometry(self):
        """(..., ni, 12 nj + 12 L), loops closed as well as they can be."""
        robot, at, n = self.robot, self.at, len(self.at.q)
        width = 12 * (robot.nj + len(robot.loops))
        chunk = max(1, NUMBERS // (6 * width * constants(robot).above.shape[0] * max(1, len(robot.loops))))
        out = np.empty((n, len(at.choice.independent), width))
        for start in range(0, n, chunk):
            part = slice(start, start + chunk)
            out[part] = self._geometry_of(part)
        return self._batched(out)

    def _geometry_of(self, part: slice):
        robot, tree = self.robot, self._tree
        q, v, a = (x[part] for x in (self.at.q, self.at.v, self.at.a))
        at = State((len(q),), self.at.choice, q, v, a, transmission(robot, self.at.choice, q))
        change, displaced = followed(robot, at, of_geometry(robot, at))
        rows = tree.dtau_dq[part] @ change.q + tree.dtau_dv[part] @ change.v + tree.dtau_da[part] @ change.a
        held = [x[part].reshape(*x[part].shape[:2], -1) for x in (tree.dtau_djoint, tree.dtau_dplacement)]
        rows[..., : 12 * robot.nj] += np.concatenate(held, axis=-1)
        tau = self._tree_torque[part]
        if self.friction is not None:
            loss, slope = (x[part] for x in self.friction)
            tau, rows = tau + loss, rows + slope[..., None] * change.v
        power = constraint_power(robot, at, displaced, tau)
        return on_independent_joints(at, rows) + power

    @cached_property
    def _masked(self):
        width = self._geometry.shape[-1]
        return np.where(_follows(self.robot, self.at.choice, np.eye(width)), self._geometry, np.nan)

    def _batched(self, array):
        return array.reshape(*self.at.batch, *array.shape[1:])


def _joined(robot: Robot, given: Mapping[str, Any]):
    """(..., 12 nj + 12 L) one array of all changes, as `of_geometry` has them."""
    nj, count = robot.nj, len(robot.loops)
    shapes = {"joints": (nj, 6), "placements": (nj, 6), "closures": (count, 2, 6), "cut": (count, 6)}
    arrays = {name: np.asarray(x, dtype=float) for name, x in given.items() if x is not None}
    batches = set()
    for name, array in arrays.items():
        shape = shapes[name]
        if array.shape[-len(shape) :] != shape or array.ndim > len(shape) + 1:
            raise OptionError(f"{name} has shape {array.shape}; expected {shape} or (k, ...) of them.")
        batches.add(array.shape[: -len(shape)])
    if len(batches) != 1:
        raise OptionError("Give joints, placements, closures or cut, all of one change or all of k changes.")
    batch = batches.pop()
    parts = [arrays.get(name, np.zeros((*batch, *shapes[name]))) for name in ("joints", "placements", "closures")]
    if "cut" in arrays:
        parts[2] = parts[2] + arrays["cut"][..., :, None, :]
    return np.concatenate([x.reshape(*batch, -1) for x in parts], axis=-1)


def _follows(robot: Robot, choice: Choice, changes):
    """Whether the loops can follow changes (..., 12 nj + 12 L): (...)."""
    units = np.tile([constants(robot).length] * 3 + [1.0] * 3, changes.shape[-1] // 6)
    scaled = changes / units
    left = np.linalg.norm(scaled @ left_open(robot, choice).T, axis=-1)
    return left <= SAME * np.maximum(np.linalg.norm(scaled, axis=-1), np.finfo(float).tiny)


def follows(robot: Robot, *, joints, cut, actuated=None):
    """Whether all loops can close after changes of geometry: joints (k, nj, 6) and cut (k, L, 6), as of
    `Derivatives.along`. Returns (k,) bools.
    """
    choice = choose_independent(robot, named(actuated))
    return _follows(robot, choice, _joined(robot, {"joints": joints, "cut": cut}))


def inverse_dynamics_derivatives(
    robot: Robot, q, v, a, *, external=None, rotors: bool = False, actuated=None, start=None
) -> Derivatives:
    """Derivatives of `closed_loop.inverse_dynamics` without finite differences, exact to rounding (paper D, (14)).

    Args:
        robot: the robot with loops.
        q: (..., nq), passive joints as guesses, or (..., ni), rad or m.
        v: (..., nv) or (..., ni), rad/s or m/s.
        a: (..., nv) or (..., ni), rad/s^2 or m/s^2.
        external: wrenches by frame, as of `inverse_dynamics`; they stay as they are in their frames.
        rotors: whether motor rotors are bodies, too; `robot` of the result then has a joint and a body more for each.
        actuated: names of the independent joints, as of `closed_loop.inverse_dynamics`.
        start: (nq,) configuration on the branch of assembly, as there.

    Returns:
        Derivatives, whose groups are computed when they are first asked for.

    Raises:
        LoopError, SingularConfigurationError, OptionError, ModelError: as `closed_loop.inverse_dynamics`.
    """
    if rotors:
        robot = robot_with_spinning_rotors(robot, external)
    at = state(robot, q, v, a, actuated=actuated, start=start)
    return Derivatives(robot, at, flat_external(robot, at, external))


def torque_function(robot: Robot, *, actuated=None, start=None):
    """`closed_loop.inverse_dynamics` as a function for JAX: under `jit` and `vmap`, and with reverse-mode derivatives
    that are exact to rounding (paper D, (14)).

    Args:
        robot: with closed loops.
        actuated: names of the independent joints, as of `closed_loop.inverse_dynamics`.
        start: (nq,) configuration on the branch of assembly, as there.

    Returns:
        A function of q, v, a (..., ni), all of one shape, in rad or m of the independent joints, and theta (nb, 10) of
        the bodies; it returns torques (..., ni), N m or N. It raises where the loops cannot be closed.

    Raises:
        LoopError, OptionError: as `closed_loop.inverse_dynamics`.

    Example:
        >>> import jax, numpy as np, steelyard as sy
        >>> robot = sy.library.five_bar()
        >>> tau = sy.closed_loop.torque_function(robot)
        >>> power = jax.grad(lambda v: (tau(np.zeros(2), v, np.zeros(2), robot.inertias) * v).sum())
        >>> power(np.ones(2)).shape
        (2,)
    """
    with extra("Closed loops under JAX"):
        import jax
        import jax.numpy as jnp

    require_type(Robot, robot=robot)
    ni = len(choose_independent(robot, named(actuated)).independent)

    @lru_cache(maxsize=8)
    def with_inertias(numbers: bytes) -> Robot:
        return robot.with_inertias(np.frombuffer(numbers).reshape(robot.nb, 10))

    def at(theta) -> Robot:
        return with_inertias(np.ascontiguousarray(theta, dtype=np.float64).tobytes())

    def numbers(*arrays):
        return (np.asarray(x, dtype=np.float64) for x in arrays)

    def forces(q, v, a, theta):
        q_, v_, a_ = numbers(q, v, a)
        return torques(at(theta), q_, v_, a_, actuated=actuated, start=start).astype(q.dtype)

    def gradient(q, v, a, theta, weights):
        q_, v_, a_, weights_ = numbers(q, v, a, weights)
        found = inverse_dynamics_derivatives(at(theta), q_, v_, a_, actuated=actuated, start=start).vjp(weights_)
        of_theta = found.theta.reshape(-1, robot.nb, 10).sum(axis=0)
        return tuple(np.asarray(x, dtype=q.dtype) for x in (found.q, found.v, found.a, of_theta))

    def shaped(x):
        return jax.ShapeDtypeStruct(x.shape, x.dtype)

    def called(q, v, a, theta):
        q, v, a, theta = (jnp.asarray(x) for x in (q, v, a, theta))
        if not q.shape == v.shape == a.shape or q.shape[-1:] != (ni,) or theta.shape != (robot.nb, 10):
            raise OptionError(
                f"q, v and a are (..., {ni}) and theta is ({robot.nb}, 10); found {q.shape}, {v.shape}, {a.shape}, "
                f"{theta.shape}"
            )
        return jax.pure_callback(forces, shaped(q), q, v, a, theta, vmap_method="sequential")

    tau = jax.custom_vjp(called)

    def forward(q, v, a, theta):
        saved = tuple(jnp.asarray(x) for x in (q, v, a, theta))
        return called(*saved), saved

    def backward(saved, weights):
        return jax.pure_callback(gradient, tuple(map(shaped, saved)), *saved, weights, vmap_method="sequential")

    tau.defvjp(forward, backward)
    return tau
