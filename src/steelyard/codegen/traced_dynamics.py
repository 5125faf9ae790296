"""Newton-Euler recursion of one robot as a straight-line program (Featherstone 2008, chapter 5), in frames of links.

Poses of the children of joints in their parents; twists and proper accelerations go out, wrenches come back:

    V_j = X V_p + Phi qd        A_j = X A_p + Phi qdd + V_j x Phi qd        tau = Phi^T F        F_p += X^T F
"""

from dataclasses import dataclass

import numpy as np

from steelyard.codegen.tracing import (
    Program,
    Value,
    constants,
    cosine,
    cross,
    dot,
    plus,
    product,
    root,
    scaled,
    sine,
    times,
    transpose,
)
from steelyard.model import WORLD, Joint, Robot, ball_anchor, twist_pose_coefficients

FUNCTIONS = "gravity", "inverse_dynamics", "regressor"
ZERO: list[Value] = [0.0, 0.0, 0.0]


@dataclass(frozen=True, eq=False)
class Body:
    """A joint's child: its pose (R, p) in the parent, twist (v, w), proper acceleration (d, aw) of its origin; its own
    axes. columns: linear and angular parts of Phi, one a degree, with the coordinate of v and the ratio."""

    rotation: list
    position: list
    twist: tuple[list, list]
    acceleration: tuple[list, list]
    columns: list[tuple[list, list, int, float]]


def torques(robot: Robot, q, v, a) -> list[Value]:
    """Torques (nv,) of a motion, armature included, as `inverse_dynamics`; q, v, a: lists of values."""
    bodies = _outwards(robot, q, v, a)
    wrenches = [(ZERO, ZERO) for _ in bodies]
    for joint, theta in zip(robot.body_joints, constants(robot.inertias), strict=True):
        wrenches[joint] = _wrench(bodies[joint], theta)
    tau: list[Value] = [
        armature * acceleration for armature, acceleration in zip(robot.armature.tolist(), a, strict=True)
    ]
    for j in reversed(range(robot.nj)):
        force, moment = wrenches[j]
        for linear, angular, coordinate, ratio in bodies[j].columns:
            tau[coordinate] = tau[coordinate] + ratio * (dot(linear, force) + dot(angular, moment))
        if (parent := int(robot.parents[j])) != WORLD:
            R, p = bodies[j].rotation, bodies[j].position
            force, moment = times(R, force), times(R, moment)
            above = wrenches[parent]
            wrenches[parent] = plus(above[0], force), plus(above[1], moment, cross(p, force))
    return tau


def regressor_columns(robot: Robot, columns, q, v, a) -> list[list[Value]]:
    """Rows (nv, r) of torques per unit of some parameters of `robot.inertias.ravel()`, armature left aside."""
    bodies = _outwards(robot, q, v, a)
    rows: list[list[Value]] = [[0.0] * len(columns) for _ in range(robot.nv)]
    for b, joint in enumerate(robot.body_joints):
        own = [(k, column - 10 * b) for k, column in enumerate(columns) if column // 10 == b]
        units = {k: _wrench(bodies[joint], np.eye(10)[i].tolist()) for k, i in own}
        for linear, angular, coordinate, ratio in _axes_above(robot, bodies, int(joint)) if own else ():
            for k, (force, moment) in units.items():
                rows[coordinate][k] = rows[coordinate][k] + ratio * (dot(linear, force) + dot(angular, moment))
    return rows


def _axes_above(robot: Robot, bodies: list[Body], joint: int):
    """Columns of Phi of a joint and those before it, in the axes of its child at its origin."""
    R, p = constants(np.eye(3)), ZERO  # of the child, in the frame whose joint is looked at
    while joint != WORLD:
        for linear, angular, coordinate, ratio in bodies[joint].columns:
            back = transpose(R)
            yield times(back, plus(linear, cross(angular, p))), times(back, angular), coordinate, ratio
        own = bodies[joint]
        R, p = product(own.rotation, R), plus(times(own.rotation, p), own.position)
        joint = int(robot.parents[joint])


def _outwards(robot: Robot, q, v, a) -> list[Body]:
    """All joints' children, parents first."""
    bodies: list[Body] = []
    for joint, parent, at_q, at_v in zip(robot.joints, robot.parents, robot.q_slices, robot.v_slices, strict=True):
        R, p = _pose(joint, q[at_q])
        columns = [
            (linear, angular, at_v.start + k, joint.ratio)
            for k, (linear, angular) in enumerate(
                zip(constants(joint.subspace[:3].T), constants(joint.subspace[3:].T), strict=True)
            )
        ]
        if parent == WORLD:
            (v0, w0), (d0, a0) = (ZERO, ZERO), (constants(-robot.gravity), ZERO)
        else:
            (v0, w0), (d0, a0) = bodies[parent].twist, bodies[parent].acceleration
        back = transpose(R)
        rate = [_along(columns, v), _along(columns, a)]
        twist = (
            plus(times(back, plus(v0, cross(w0, p))), rate[0][0]),
            plus(times(back, w0), rate[0][1]),
        )
        turned = cross(twist[1], rate[0][1])
        carried = plus(cross(twist[1], rate[0][0]), cross(twist[0], rate[0][1]))
        acceleration = (
            plus(times(back, plus(d0, cross(a0, p))), rate[1][0], carried),
            plus(times(back, a0), rate[1][1], turned),
        )
        bodies.append(Body(R, p, twist, acceleration, columns))
    return bodies


def _along(columns, x) -> tuple[list, list]:
    """Phi x of the degrees of a joint."""
    linear, angular = ZERO, ZERO
    for along, about, coordinate, ratio in columns:
        linear = plus(linear, scaled(ratio * x[coordinate], along))
        angular = plus(angular, scaled(ratio * x[coordinate], about))
    return linear, angular


def _wrench(body: Body, theta) -> tuple[list, list]:
    """Force and moment that a body of parameters theta (10,) takes, in its axes at its origin."""
    mass, h = theta[0], theta[1:4]
    xx, xy, yy, xz, yz, zz = theta[4:]
    I = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    (v, w), (linear, aw) = body.twist, body.acceleration
    d = plus(linear, cross(w, v))
    force = plus(scaled(mass, d), cross(aw, h), cross(w, cross(w, h)))
    return force, plus(cross(h, d), times(I, aw), cross(w, times(I, w)))


def _pose(joint: Joint, q) -> tuple[list, list]:
    """Pose of a joint's child in its parent."""
    if joint.nq == 1:
        R, p = (constants(each) for each in twist_pose_coefficients(joint))
        angle = joint.ratio * q[0] + joint.offset
        terms = [1.0, angle, sine(angle), cosine(angle)]
        rotation = [[dot(terms, [R[k][i][j] for k in range(4)]) for j in range(3)] for i in range(3)]
        return rotation, [dot(terms, [p[k][i] for k in range(4)]) for i in range(3)]
    R0, p0 = constants(joint.rotation), constants(joint.position)
    if joint.kind == "planar":
        turning = np.r_[np.zeros(3), joint.subspace[3:, 2]][:, None]
        R, _ = _pose(Joint(joint.name, "revolute", turning, joint.rotation, np.zeros(3)), q[2:])
        return R, plus(times(R0, times(constants(joint.subspace[:3, :2]), q[:2])), p0)
    R = _rotation(q[-4:])
    if joint.kind == "spherical":
        anchor = constants(ball_anchor(joint.subspace))
        p = plus(anchor, scaled(-1.0, times(R, anchor)))
    else:
        p = list(q[:3])
    return product(R0, R), plus(times(R0, p), p0)


def _rotation(quaternion) -> list[list[Value]]:
    """Rotation matrix of x y z w, of any length."""
    length = root(dot(quaternion, quaternion))
    x, y, z, w = (each / length for each in quaternion)
    return [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]


def program_of(name: str, robot: Robot, columns: list[int]) -> tuple[Program, str, list]:
    """The program of one of `FUNCTIONS`, the arrays that it takes, and what it returns: values, or rows of them.

    columns: base parameters, numbers of `robot.inertias.ravel()`.
    """
    program, inputs = Program(), "q" if name == "gravity" else "qva"
    q = program.inputs("q", robot.nq)
    v, a = (program.inputs(x, robot.nv) if x in inputs else [0.0] * robot.nv for x in "va")
    result = regressor_columns(robot, columns, q, v, a) if name == "regressor" else torques(robot, q, v, a)
    return program, inputs, result
