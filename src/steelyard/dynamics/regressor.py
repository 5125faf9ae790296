"""Joint-torque regressor of a tree: `tau = Y(q, v, a) theta`, every body at once.

Each body's wrench regressor `F` (6 x 10) is built in world coordinates; then `Y[k, j] = S_k^T F_j` for the bodies j
behind degree k, which depth-first order makes one slice. The inertia columns of `F` have no force rows, so they cost
half.
"""

from array_api_compat import array_namespace

from steelyard.dynamics.body import newton_euler_entries
from steelyard.dynamics.kinematics import Motion, body_motion, motion, samples_last, tree
from steelyard.model import Robot


def regressor(robot: Robot, q, v, a):
    """Joint-torque regressor of the rigid bodies (paper B, `Y`); `dynamics.effects` has the other columns.

    q: (..., nq), v: (..., nv), a: (..., nv). Returns (..., nv, 10 nb) with
    `inverse_dynamics == Y @ robot.inertias.ravel() + robot.armature * a`. NumPy in, NumPy out; JAX in, JAX out.
    Raises OptionError for wrong widths.
    """
    xp, batch, q, v, a = samples_last(robot, q, v, a)
    Y = regressor_rows(robot, q, v, a)
    return xp.reshape(xp.moveaxis(Y, -1, 0), (*batch, robot.nv, 10 * robot.nb))


def regressor_rows(robot: Robot, q, v, a):
    """The same with samples last: q (nq, n), v, a (nv, n) -> (nv, 10 nb, n)."""
    xp = array_namespace(q, v, a)
    return dense_rows(xp, robot, row_blocks(robot, q, v, a))


def dense_rows(xp, robot: Robot, blocks):
    """Blocks of `row_blocks` with zeros for the bodies that a row does not see: (nv, 10 nb, n)."""

    def zeros(bodies, like):
        return xp.zeros((10 * bodies, like.shape[-1]), dtype=like.dtype)

    rows = [
        xp.concat([zeros(bodies.start, block), block, zeros(robot.nb - bodies.stop, block)], axis=0)
        for bodies, block in zip(tree(robot).row_bodies, blocks, strict=True)
    ]
    return xp.stack(rows)


def row_blocks(robot: Robot, q, v, a):
    """Nonzero part of each row, samples last: per coordinate of v a (10 k, n), for its k `tree(robot).row_bodies`."""
    xp = array_namespace(q, v, a)
    state = motion(robot, q, v, a)
    return projected_blocks(xp, robot, state.axes, *body_wrench_regressors(xp, state))


def projected_blocks(xp, robot: Robot, axes, first, inertia):
    """Rows `S^T F` of all coordinates for axes S (nt, 6, n) and regressors F of body wrenches, as of `row_blocks`."""
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
    """`S^T F` for one axis. axis: (6, n); first: (6, k, 4, n); inertia: (3, k, 6, n). Returns (k, 10, n)."""
    mh, rest = axis[0] * first[0], axis[3] * inertia[0]
    for i in range(1, 6):
        mh += axis[i] * first[i]
    for i in range(1, 3):
        rest += axis[3 + i] * inertia[i]
    return xp.concat([mh, rest], axis=1)


def body_wrench_regressors(xp, state: Motion):
    """Wrench regressors of all bodies in world axes at the world origin.

    Returns (6, nb, 4, n), the columns m, h, and (3, nb, 6, n), the torque rows of the inertia columns.
    """
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
