"""Newton-Euler recursion of one robot as a straight-line program (Luh, Walker and Paul 1980), in frames of links.

Poses of the children of joints in their parents; angular velocities w, accelerations aw and proper accelerations d of
origins go out, wrenches come back. With l + [s] the linear and angular rates of a joint and B = [aw] + [w]^2:

    d_j = R^T (d_p + B_p p) + l' + (w_j + R^T w_p) x l        force = m d + B h        tau = Phi^T (force, moment)

Bodies have base parameters (Khalil and Kleinfinger 1987): most of the ten numbers of a body are 0 then.

All this is quadratic in velocities. Passive tracking, `M ar + C(q, v) vr + g`, has the symmetric bilinear form in its
place, of v and a reference vr, and half the Lie bracket of the two in joints of several degrees.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.codegen.base_parameters import BaseParameters
from steelyard.codegen.tracing import (
    TracedProgram,
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
from steelyard.model import Joint, Robot
from steelyard.model.joint import ball_anchor, twist_pose_coefficients
from steelyard.model.robot import WORLD

FUNCTIONS = {  # inputs by name
    "gravity": ("q",),
    "inverse_dynamics": ("q", "v", "a"),
    "regressor": ("q", "v", "a"),
    "slotine_li_regressor": ("q", "v", "vr", "ar"),
    "momentum": ("q", "v"),
}
ZERO: list[Value] = [0.0, 0.0, 0.0]
NOTHING = [ZERO, ZERO, ZERO]


@dataclass(frozen=True, eq=False)
class MotionColumn:
    """A column of Phi, [linear; angular], with the coordinate of v that moves it at a ratio."""

    linear: list
    angular: list
    coordinate: int
    ratio: float


@dataclass(frozen=True, eq=False)
class TracedBody:
    """A joint's child, in its own axes at its origin."""

    rotation: list  # and `position`: in the parent
    position: list
    spins: tuple[list, list]  # w by v and by the reference, the same list where that is v
    velocities: tuple[list, list]  # of the origin alike
    turning: list  # aw
    fall: list  # d
    field: list  # B (3, 3)
    axes: list[MotionColumn]  # of its joint


def torques(base: BaseParameters, q, v, a) -> list[Value]:
    """Torques (nv,) of a motion, armature included, as `inverse_dynamics`; q, v, a: lists of values."""
    robot, bodies, wrenches = base.robot, [], []
    for j, body in enumerate(_outwards(base, q, v, a)):
        own = [scaled(base.values[k], base.contents[k]) for k in base.of_joint(j)]
        bodies.append(body)
        wrenches.append(_wrench(body, plus(*own)) if own else (ZERO, ZERO))
    tau: list[Value] = [
        armature * felt for armature, felt in zip(robot.armature.tolist(), _felt(robot, v, a), strict=True)
    ]
    for j in reversed(range(robot.nj)):
        force, moment = wrenches[j]
        for axis in bodies[j].axes:
            tau[axis.coordinate] = tau[axis.coordinate] + _power(axis, force, moment)
        _carry(base, bodies, wrenches, j)
    return tau


def _felt(robot: Robot, v, a) -> list[Value]:
    """Accelerations that armature multiplies, as `felt_acceleration`."""
    felt: list[Value] = list(a)
    for joint, at in zip(robot.joints, robot.v_slices, strict=True):
        if joint.kind == "free" and robot.armature[at].any():
            linear = slice(at.start, at.start + 3)
            felt[linear] = plus(felt[linear], cross(v[at][3:], v[linear]))
    return felt


def momentum(base: BaseParameters, q, v) -> list[list[Value]]:
    """Generalised momentum, armature included, and the rate at which it changes without torques: two rows (nv,)."""
    robot, bodies, momenta = base.robot, [], []
    for j, body in enumerate(_outwards(base, q, v, [0.0] * robot.nv)):
        own = [scaled(base.values[k], base.contents[k]) for k in base.of_joint(j)]
        bodies.append(body)
        momenta.append(_momentum(body, plus(*own)) if own else (ZERO, ZERO))
    still: list[Value] = [0.0] * robot.nv
    held, armature = torques(base, q, still, still), robot.armature.tolist()
    p: list[Value] = [own * rate for own, rate in zip(armature, v, strict=True)]
    drift = [-own * felt - hold for own, felt, hold in zip(armature, _felt(robot, v, still), held, strict=True)]
    for j in reversed(range(robot.nj)):
        (linear, angular), w, u = momenta[j], bodies[j].spins[0], bodies[j].velocities[0]
        change = cross(w, linear), plus(cross(w, angular), cross(u, linear))
        for axis in bodies[j].axes:
            p[axis.coordinate] = p[axis.coordinate] + _power(axis, linear, angular)
            drift[axis.coordinate] = drift[axis.coordinate] - _power(axis, *change)
        _carry(base, bodies, momenta, j)
    return [p, drift]


def _momentum(body: TracedBody, theta) -> tuple[list, list]:
    """Linear and angular momentum of a body of parameters theta (10,), in its axes about its origin."""
    (mass, *h), (xx, xy, yy, xz, yz, zz) = theta[:4], theta[4:]
    w, u = body.spins[0], body.velocities[0]
    turned = times([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], w)
    return plus(scaled(mass, u), cross(w, h)), plus(cross(h, u), turned)


def _carry(base: BaseParameters, bodies, wrenches, j: int) -> None:
    """Add what acts on a joint's child to what acts on its parent, moved there."""
    if (parent := int(base.robot.parents[j])) != WORLD:
        (force, moment), R, p = wrenches[j], bodies[j].rotation, bodies[j].position
        force, moment = times(R, force), times(R, moment)
        above = wrenches[parent]
        wrenches[parent] = plus(above[0], force), plus(above[1], moment, cross(p, force))


def regressor_columns(base: BaseParameters, q, v, a, vr=None) -> list[list[Value]]:
    """Rows (nv, r) of torques per unit of parameters, armature left aside; vr: reference of passive tracking."""
    robot = base.robot
    rows: list[list[Value]] = [[0.0] * len(base.values) for _ in range(robot.nv)]
    above: list[list[MotionColumn]] = []
    for j, body in enumerate(_outwards(base, q, v, a, vr)):
        parent = int(robot.parents[j])
        above.append([*([] if parent == WORLD else [_carried(axis, body) for axis in above[parent]]), *body.axes])
        for k in base.of_joint(j):
            force, moment = _wrench(body, base.contents[k])
            for axis in above[j]:
                rows[axis.coordinate][k] = rows[axis.coordinate][k] + _power(axis, force, moment)
    return rows


def _power(axis: MotionColumn, force, moment) -> Value:
    return axis.ratio * (dot(axis.linear, force) + dot(axis.angular, moment))


def _carried(axis: MotionColumn, body: TracedBody) -> MotionColumn:
    """An axis of the parent's frame in that of its child."""
    back = transpose(body.rotation)
    linear = times(back, plus(axis.linear, cross(axis.angular, body.position)))
    return MotionColumn(linear, times(back, axis.angular), axis.coordinate, axis.ratio)


def _outwards(base: BaseParameters, q, v, a, vr=None) -> Iterator[TracedBody]:
    """All joints' children, parents first. vr: reference velocities; by default v."""
    robot, bodies, vr = base.robot, [], v if vr is None else vr
    still = ZERO, ZERO
    ground = TracedBody(NOTHING, ZERO, still, still, ZERO, constants(-robot.gravity), NOTHING, [])
    for joint, parent, at_q, at_v in zip(robot.joints, robot.parents, robot.q_slices, robot.v_slices, strict=True):
        R, p = _pose(joint, [0.0] if len(bodies) in base.symmetric else q[at_q])
        linear, angular = (constants(each.T) for each in (joint.subspace[:3], joint.subspace[3:]))
        axes = [
            MotionColumn(*each, at_v.start + k, joint.ratio) for k, each in enumerate(zip(linear, angular, strict=True))
        ]
        below = ground if parent == WORLD else bodies[parent]
        back, (slides, turns) = transpose(R), _along(axes, a)
        slide, turn = zip(*_each(lambda x, axes=axes: _along(axes, x), (v, vr)), strict=True)
        carried = _each(lambda w, back=back: times(back, w), below.spins)
        w = _each(plus, carried, turn)
        moved = [plus(u, cross(spin, p)) for u, spin in zip(below.velocities, below.spins, strict=True)]
        u = _each(lambda x, l, back=back: plus(times(back, x), l), moved, slide)
        aw = plus(times(back, below.turning), turns, _crossed(w, turn))
        d = plus(times(back, plus(below.fall, times(below.field, p))), slides, _crossed(_each(plus, w, carried), slide))
        if v is not vr and joint.nv > 1:
            half = [scaled(0.5, x) for x in (slide[0], turn[0])]
            d = plus(d, cross(half[1], slide[1]), cross(half[0], turn[1]))
            aw = plus(aw, cross(half[1], turn[1]))
        bodies.append(TracedBody(R, p, w, u, aw, d, _field(w, aw), axes))
        yield bodies[-1]


def _each(function, *pairs) -> tuple[Any, Any]:
    """A function of what v and the reference give; once where these are the same."""
    first = function(*(pair[0] for pair in pairs))
    same = all(pair[0] is pair[1] for pair in pairs)
    return first, first if same else function(*(pair[1] for pair in pairs))


def _crossed(a, b) -> list:
    """Cross product of pairs, symmetric in v and the reference."""
    if a[0] is a[1] and b[0] is b[1]:
        return cross(a[0], b[0])
    return scaled(0.5, plus(cross(a[0], b[1]), cross(a[1], b[0])))


def _squares(spins) -> list:
    """w w^T, symmetric in v and the reference."""
    w, r = spins
    if w is r:
        return [[x * y for y in w] for x in w]
    return [[w[i] * r[i] if i == j else 0.5 * (w[i] * r[j] + r[i] * w[j]) for j in range(3)] for i in range(3)]


def _field(spins, aw) -> list:
    """B = [aw] + [w]^2: acceleration of points of a body per distance from its origin."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = _squares(spins)
    ax, ay, az = aw
    return [
        [-(yy + zz), xy - az, xz + ay],
        [xy + az, -(xx + zz), yz - ax],
        [xz - ay, yz + ax, -(xx + yy)],
    ]


def _along(axes, x) -> tuple[list, list]:
    """Phi x of the degrees of a joint."""
    linear, angular = ZERO, ZERO
    for axis in axes:
        rate = axis.ratio * x[axis.coordinate]
        linear, angular = plus(linear, scaled(rate, axis.linear)), plus(angular, scaled(rate, axis.angular))
    return linear, angular


def _wrench(body: TracedBody, theta) -> tuple[list, list]:
    """Force and moment that a body of parameters theta (10,) takes, in its axes at its origin."""
    mass, h = theta[0], theta[1:4]
    xx, xy, yy, xz, yz, zz = theta[4:]
    B, (ax, ay, az) = body.field, body.turning
    (wxx, wxy, wxz), (_, wyy, wyz), (_, _, wzz) = _squares(body.spins)
    force = plus(scaled(mass, body.fall), times(B, h))
    turned = [  # I aw + w x I w
        dot([xx, zz - yy, xy, xz, yz], [ax, wyz, -B[2][0], B[1][0], wyy - wzz]),
        dot([yy, xx - zz, xy, yz, xz], [ay, wxz, B[2][1], -B[0][1], wzz - wxx]),
        dot([zz, yy - xx, xz, yz, xy], [az, wxy, -B[1][2], B[0][2], wxx - wyy]),
    ]
    return force, plus(cross(h, body.fall), turned)


def _pose(joint: Joint, q) -> tuple[list, list]:
    """Pose of a joint's child in its parent: slides, then turns, then the rotation of a quaternion about its anchor."""
    kind = joint.features
    if joint.nq == 1:
        q = [joint.ratio * q[0] + joint.offset]
    moved = times(constants(joint.rotation @ joint.subspace[:3, : kind.slides]), q[: kind.slides])
    R, p = constants(joint.rotation), constants(joint.position)
    for k in range(kind.slides, kind.slides + kind.angles):
        if k == kind.slides:  # folded with the frame that the joint starts from
            R, p = _turned(joint.subspace[:, k : k + 1], joint.rotation, joint.position, q[k])
        else:
            turned, offset = _turned(joint.subspace[:, k : k + 1], np.eye(3), np.zeros(3), q[k])
            R, p = product(R, turned), plus(p, times(R, offset))
    p = plus(p, moved)
    if kind.quaternion:
        turned, anchor = _rotation(q[-4:]), constants(ball_anchor(joint.subspace[:, -3:]))
        p = plus(p, times(R, plus(anchor, scaled(-1.0, times(turned, anchor)))))
        R = product(R, turned)
    return R, p


def _turned(twist, rotation, position, angle) -> tuple[list, list]:
    """Pose behind a turn of twist (6, 1) in a frame at a constant rotation and position."""
    R, p = (constants(each) for each in twist_pose_coefficients(Joint("", "revolute", twist, rotation, position)))
    terms = [1.0, angle, sine(angle), cosine(angle)]
    turned = [[dot(terms, [R[k][i][j] for k in range(4)]) for j in range(3)] for i in range(3)]
    return turned, [dot(terms, [p[k][i] for k in range(4)]) for i in range(3)]


def _rotation(quaternion) -> list[list[Value]]:
    """Rotation matrix of x y z w, of any length."""
    length = root(dot(quaternion, quaternion))
    x, y, z, w = (each / length for each in quaternion)
    return [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]


def program_of(name: str, base: BaseParameters, whole: BaseParameters) -> tuple[TracedProgram, list]:
    """The program of one of `FUNCTIONS`, and what it returns: values, or rows of them. whole: all parameters of the
    bodies, which passive tracking adapts."""
    program, robot = TracedProgram(), base.robot
    given = {x: program.inputs(x, robot.nq if x == "q" else robot.nv) for x in FUNCTIONS[name]}
    q, v, a = (given.get(x, [0.0] * robot.nv) for x in "qva")
    if name == "slotine_li_regressor":
        return program, regressor_columns(whole, q, v, given["ar"], given["vr"])
    if name == "momentum":
        return program, momentum(base, q, v)
    return program, regressor_columns(base, q, v, a) if name == "regressor" else torques(base, q, v, a)
