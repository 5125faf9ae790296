"""Newton-Euler equations of a tree: joint torques, and their regressor `tau = Y(q, v, a) theta`, every body at once.

For one body they are linear in its ten parameters (paper A, body regressor). With classical proper acceleration
`d = al + w x v` of the origin, all in body axes:

    force  rows: [ d | S(aw) + S(w)S(w) | 0 ]
    torque rows: [ 0 | -S(d)            | L(aw) + S(w)L(w) ]          L(x) vech(I) = I x

Each body's wrench regressor `F` (6 x 10) is turned into world axes at the world origin; then `Y[k, j] = S_k^T F_j` for
the bodies j behind degree k, which depth-first order makes one slice. The inertia columns of `F` have no force rows, so
they cost half.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard import native, spatial
from steelyard.arguments import as_array
from steelyard.dynamics.armature import armature_torque
from steelyard.dynamics.external_wrenches import external_rows, external_torque
from steelyard.dynamics.kinematics import TreeMotion, body_motion, coordinate_map, motion, samples_last, tree
from steelyard.dynamics.native_plans import fixed_poses, native_links, native_tree
from steelyard.dynamics.rotors import with_rotor_bodies
from steelyard.dynamics.stacks import cross, times
from steelyard.model import Robot
from steelyard.namespaces import array_namespace, is_numpy_array


def inverse_dynamics(robot: Robot, q, v, a, *, external: Mapping[str, Any] | None = None, rotors: bool = False):
    """Generalised forces of a motion, without friction (recursive Newton-Euler; Featherstone 2008, chapter 5).

    Args:
        robot: the robot; gravity and armature are its own. Armature acts on `a`, that of a free joint in linear
            rows on `a + w x v`, as in MuJoCo.
        q: (..., nq) positions, rad or m, joints in the order of `robot.joint_names`.
        v: (..., nv) velocities, rad/s or m/s.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.
        external: by frame (as of `jacobian`), wrenches (..., 6) `[f; n]` that act on the robot, in the frame's axes at
            its origin, N and N m.
        rotors: whether motor rotors are bodies, too, with the parameters that the robot states; its armature should
            not stand for them as well then.

    Returns:
        (..., nv) forces in N m or N. NumPy in, NumPy out; JAX in, JAX out.

    Raises:
        OptionError: q, v, a or a wrench has the wrong width.
        ModelError: a wrench on a frame that the robot does not have.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> still = np.zeros(4)
        >>> sy.inverse_dynamics(robot, still, still, still)  # the third joint carries 0.75 kg
        array([0.    , 0.    , 7.3575, 0.    ])
    """
    xp, batch, q, v, a = samples_last(robot, q, v, a)
    wrenches = external_rows(robot, batch, external, q)
    known = external_torque(robot, q, wrenches).T if wrenches else None
    robot = with_rotor_bodies(robot).robot if rotors else robot
    plain = all(is_numpy_array(x) and x.dtype == np.float64 for x in (q, v, a))
    tau = _by_core(robot, q.T, v.T, a.T) if plain and native.core() else _by_arrays(xp, robot, q, v, a).T
    return xp.reshape(tau if known is None else tau - known, (*batch, robot.nv))


def _by_core(robot: Robot, q, v, a) -> np.ndarray:
    """(n, nv) by the compiled core."""
    q, v, a = (np.ascontiguousarray(x) for x in (q, v, a))
    tau = np.empty(v.shape)
    native.require_core().torques(native_tree(robot), native_links(robot), q, fixed_poses(robot, q), v, a, tau)
    return tau + armature_torque(robot, v.T, a.T).T


def _by_arrays(xp, robot: Robot, q, v, a):
    """(nv, n) by whole arrays, samples last."""
    state = motion(robot, q, v, a)
    return generalised_forces(xp, robot, state.axes, body_wrenches(robot, xp, state)) + armature_torque(robot, v, a)


def generalised_forces(xp, robot: Robot, axes, wrenches):
    """(nv, n) `sum S^T F` of the bodies behind each degree. axes: (nt, 6, n) S, or their rates; wrenches: (nb, 6, n) F
    of each body, in world axes at the world origin."""
    behind, n = xp.asarray(tree(robot).ancestors[robot.body_joints].T, dtype=axes.dtype), axes.shape[-1]
    below = xp.reshape(behind @ xp.reshape(wrenches, (robot.nb, 6 * n)), (behind.shape[0], 6, n))
    return xp.asarray(coordinate_map(robot), dtype=axes.dtype) @ xp.sum(axes * below, axis=1)


def body_wrenches(robot: Robot, xp, state: TreeMotion):
    """(nb, 6, n) wrench of each body, in world axes at the world origin."""
    (d, w, aw), dtype = body_motion(xp, state), state.twist.dtype
    theta = xp.asarray(robot.inertias, dtype=dtype)
    mass, h = theta[:, 0, None, None], theta[:, 1:4, None]
    I = xp.reshape(theta[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]], (robot.nb, 3, 3))[..., None]
    h = xp.broadcast_to(h, d.shape)
    force = mass * d + cross(xp, aw, h) + cross(xp, w, cross(xp, w, h))
    torque = cross(xp, h, d) + times(I, aw) + cross(xp, w, times(I, w))
    force, torque = times(state.rotation, force), times(state.rotation, torque)
    return xp.concat([force, torque + cross(xp, state.position, force)], axis=1)


def regressor(robot: Robot, q, v, a):
    """Joint-torque regressor of the rigid bodies (paper B, `Y`); `dynamics.effects` has the other columns.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.

    Returns:
        (..., nv, 10 nb) torque in N m or N per unit of each parameter of `robot.inertias.ravel()`; armature is left
        aside. NumPy in, NumPy out; JAX in, JAX out.

    Raises:
        OptionError: q, v or a has the wrong width.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> q, v, a = np.random.default_rng(0).normal(size=(3, 10, 4))
        >>> tau = sy.regressor(robot, q, v, a) @ robot.inertias.ravel() + robot.armature * a
        >>> np.allclose(tau, sy.inverse_dynamics(robot, q, v, a))
        True
    """
    xp, batch, q, v, a = samples_last(robot, q, v, a)
    Y = regressor_rows(robot, q, v, a)
    return xp.reshape(xp.moveaxis(Y, -1, 0), (*batch, robot.nv, 10 * robot.nb))


def slotine_li_regressor(robot: Robot, q, v, vr, ar):
    """Regressor of passive tracking, `Y(q, v, vr, ar) theta = M(q) ar + C(q, v) vr + g(q)` (Slotine and Li 1987).

    `dM/dt - 2 C` is skew: C is that of the Christoffel symbols, whose `C(q, v) w` is bilinear and, but for the bracket
    of joints with several degrees, symmetric in v and w. So three regressors give it, by polarisation.

    Args:
        robot: the robot.
        q: (..., nq) positions, rad or m.
        v: (..., nv) velocities, rad/s or m/s.
        vr: (..., nv) reference velocities, rad/s or m/s.
        ar: (..., nv) reference accelerations, rad/s^2 or m/s^2.

    Returns:
        (..., nv, 10 nb) as of `regressor`, which it is where vr is v.

    Raises:
        OptionError: q, v, vr or ar has the wrong width.
    """
    given = (("q", q), ("v", v), ("vr", vr), ("ar", ar))
    q, v, vr, ar = (as_array(name, x) for name, x in given)
    xp = array_namespace(q, v, vr, ar)
    v, vr, ar = xp.broadcast_arrays(v, vr, ar)
    still = 0 * ar
    turned = ar + 0.5 * _brackets(robot, v, vr)
    once, sum_, difference = regressor(
        robot, q[None], xp.stack([still, v + vr, v - vr]), xp.stack([turned, still, still])
    )
    return once + 0.25 * (sum_ - difference)


def _brackets(robot: Robot, v, w):
    """(..., nv) Lie bracket of two velocities of each joint with several degrees; 0 for others."""
    xp = array_namespace(v, w)
    parts = []
    for joint in robot.free_joints:
        at = sum(part.shape[-1] for part in parts)
        one, other = v[..., at : at + joint.nv], w[..., at : at + joint.nv]
        if joint.nv == 1:
            parts.append(0 * one * other)
            continue
        Phi = xp.asarray(joint.subspace, dtype=v.dtype)
        back = xp.asarray(np.linalg.pinv(joint.subspace).T, dtype=v.dtype)
        parts.append(spatial.motion_cross(one @ Phi.T, other @ Phi.T) @ back)
    return xp.concat(parts, axis=-1)


def regressor_rows(robot: Robot, q, v, a):
    """`regressor` with samples last: (nv, 10 nb, n) of q (nq, n), v and a (nv, n)."""
    xp = array_namespace(q, v, a)
    return dense_rows(xp, robot, row_blocks(robot, q, v, a))


def regressor_rows_with_rotors(robot: Robot, q, v, a):
    """(nv, 10 (nb + nr), n) regressor of links and rotors, samples last. q: (nq, n); v, a: (nv, n)."""
    xp = array_namespace(q, v, a)
    whole = with_rotor_bodies(robot)
    rows = regressor_rows(whole.robot, q, v, a)
    return xp.moveaxis(xp.tensordot(xp.asarray(whole.mixing.T, dtype=q.dtype), rows, axes=((1,), (1,))), 0, 1)


def row_blocks(robot: Robot, q, v, a):
    """Nonzero part of each row: per coordinate of v a (10 k, n), for its k `tree(robot).row_bodies`. q: (nq, n), v, a:
    (nv, n)."""
    xp = array_namespace(q, v, a)
    state = motion(robot, q, v, a)
    return projected_blocks(xp, robot, state.axes, *body_wrench_regressors(xp, state))


def dense_rows(xp, robot: Robot, blocks):
    """Blocks of `row_blocks` with zeros for the bodies that a row does not see: (nv, 10 nb, n)."""

    def zeros(bodies, like):
        return xp.zeros((10 * bodies, like.shape[-1]), dtype=like.dtype)

    rows = [
        xp.concat([zeros(bodies.start, block), block, zeros(robot.nb - bodies.stop, block)], axis=0)
        for bodies, block in zip(tree(robot).row_bodies, blocks, strict=True)
    ]
    return xp.stack(rows)


def projected_blocks(xp, robot: Robot, axes, first, inertia):
    """Rows `S^T F` of all coordinates, as of `row_blocks`. axes: (nt, 6, n) S; first, inertia: as of
    `body_wrench_regressors`."""
    constants = tree(robot)
    n = axes.shape[-1]
    blocks = [xp.zeros((0, n), dtype=axes.dtype)] * robot.nv
    for degree, joint in enumerate(constants.degree_joint):
        bodies, coordinate = constants.subtree_bodies[joint], int(constants.coordinates[degree])
        row = constants.row_bodies[coordinate]
        block = projected(xp, axes[degree] * float(constants.ratios[degree]), first[:, bodies], inertia[:, bodies])
        block = xp.reshape(block, (10 * (bodies.stop - bodies.start), n))
        if row != bodies:
            before = xp.zeros((10 * (bodies.start - row.start), n), dtype=axes.dtype)
            after = xp.zeros((10 * (row.stop - bodies.stop), n), dtype=axes.dtype)
            block = xp.concat([before, block, after], axis=0)
        blocks[coordinate] = block + blocks[coordinate] if blocks[coordinate].shape[0] else block
    return blocks


def projected(xp, axis, first, inertia):
    """(k, 10, n) `S^T F` for one axis (6, n). first: (6, k, 4, n), columns m and h; inertia: (3, k, 6, n), torque rows
    of the inertia columns."""
    mh, rest = axis[0] * first[0], axis[3] * inertia[0]
    for i in range(1, 6):
        mh += axis[i] * first[i]
    for i in range(1, 3):
        rest += axis[3 + i] * inertia[i]
    return xp.concat([mh, rest], axis=1)


def body_wrench_regressors(xp, state: TreeMotion):
    """Wrench regressors of all bodies in world axes at the world origin: (6, nb, 4, n), the columns m, h, and (3, nb,
    6, n), the torque rows of the inertia columns."""
    d, w, aw = body_motion(xp, state)
    force, torque = newton_euler_entries(*([u[:, i] for i in range(3)] for u in (d, w, aw)))
    R = [[state.rotation[:, i, j, None] for j in range(3)] for i in range(3)]
    p = [state.position[:, i, None] for i in range(3)]
    force, torque = ([xp.stack(row, axis=1) for row in rows] for rows in (force, torque))
    forces = [R[i][0] * force[0] + R[i][1] * force[1] + R[i][2] * force[2] for i in range(3)]
    torques = [R[i][0] * torque[0] + R[i][1] * torque[1] + R[i][2] * torque[2] for i in range(3)]
    moments = [
        p[1] * forces[2] - p[2] * forces[1],
        p[2] * forces[0] - p[0] * forces[2],
        p[0] * forces[1] - p[1] * forces[0],
    ]
    no_mass = xp.zeros_like(p[0])
    moments = [m + xp.concat([no_mass, t[:, :3]], axis=1) for m, t in zip(moments, torques, strict=True)]
    return xp.stack([*forces, *moments]), xp.stack([t[:, 3:] for t in torques])


def body_regressor(V, a_g):
    """Regressor Yb of one body: `f = Yb @ theta` (paper A, body regressor).

    Args:
        V: (..., 6) twist `[v; w]` in body axes at the body origin, m/s and rad/s.
        a_g: (..., 6) proper spatial acceleration `a - [R^T g; 0]` there, m/s^2 and rad/s^2.

    Returns:
        (..., 6, 10) wrench `[f; n]` in N and N m per unit of each parameter.

    Example:
        >>> import numpy as np
        >>> import steelyard as sy
        >>> theta = sy.inertia.from_com_inertia(2.0, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
        >>> held = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])  # at rest under gravity along -z
        >>> sy.body_regressor(np.zeros(6), held) @ theta
        array([ 0.   ,  0.   , 19.62 ,  0.   , -1.962,  0.   ])
    """
    xp = array_namespace(V, a_g)
    V, a_g = xp.broadcast_arrays(V, a_g)
    w, aw = V[..., 3:], a_g[..., 3:]
    d = a_g[..., :3] + spatial.cross(w, V[..., :3])
    components = ([u[..., i] for i in range(3)] for u in (d, w, aw))
    force, torque = newton_euler_entries(*components)
    o = xp.zeros_like(V[..., 0])
    rows = [[*row, *[o] * 6] for row in force] + [[o, *row] for row in torque]
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)


def newton_euler_entries(d, w, aw):
    """(force 3 x 4, columns m, h; torque 3 x 9, columns h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) of the body regressor: nested
    lists of arrays like the components, three each, of d, w and aw."""
    dx, dy, dz = d
    x, y, z = w
    a, b, c = aw
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    o = dx * 0
    force = [
        [dx, -(yy + zz), xy - c, xz + b],
        [dy, xy + c, -(xx + zz), yz - a],
        [dz, xz - b, yz + a, -(xx + yy)],
    ]
    torque = [
        [o, dz, -dy, a, b - xz, -yz, c + xy, yy - zz, yz],
        [-dz, o, dx, xz, a + yz, b, zz - xx, c - xy, -xz],
        [dy, -dx, o, -xy, xx - yy, xy, a - yz, b + xz, c],
    ]
    return force, torque
