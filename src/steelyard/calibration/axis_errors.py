"""In which directions a joint's axis can be wrong, and how wrong it is believed to be."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import factorial, radians

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import closed_loop, inverse_dynamics_derivatives
from steelyard.dynamics.closed_loop.projection import columns, on_independent_joints
from steelyard.dynamics.closed_loop.states import tree_state_of
from steelyard.errors import OptionError, choices
from steelyard.identifiable.loop_completion import on_tree
from steelyard.information.regression_rows import (
    channels_of,
    chunk_rows,
    direction_of,
    known_torque,
    rows_of,
    weights_of,
)
from steelyard.model import Robot
from steelyard.model.joint import screw
from steelyard.native import CHUNK
from steelyard.numbers import ROUNDS
from steelyard.spatial import crm
from steelyard.terms import ParameterLayout

TILT, SHIFT = radians(3.0), 0.01  # standard deviations before any log: rad, m
CUT = ("hinge", "slide", "cylinder")  # closures that are joints with an axis


@dataclass(frozen=True, eq=False, repr=False)
class AxisDirections(Card):
    """Directions of axis errors, d of them: two tilts and two shifts of a revolute joint, two tilts of a prismatic one.

    Its own motion is no error: a revolute axis turned about itself or shifted along itself stays the same, and so does
    a prismatic one wherever it is shifted.
    """

    joint: np.ndarray  # (d,) of `robot.joints`, cut joints of `robot.loops` behind them
    vectors: np.ndarray  # (d, 6) unit eta in child axes (of a cut joint, in those of its frames), rad or m
    deviation: np.ndarray  # (d,) prior standard deviation
    names: tuple[str, ...]
    size: int  # number of joints of the robot and its loops
    held: tuple[str, ...] = ()  # names of directions left out, because loops would not close

    @property
    def count(self) -> int:
        return len(self.joint)

    @cached_property
    def basis(self) -> np.ndarray:
        """(nj, 6, d): eta of all joints per prior standard deviation of each direction."""
        out = np.zeros((self.size, 6, self.count))
        out[self.joint, :, np.arange(self.count)] = self.vectors * self.deviation[:, None]
        return out

    def eta(self, z) -> np.ndarray:
        """(nj, 6) for z (d,) in prior standard deviations."""
        return self.basis @ z

    def rates(self, z) -> np.ndarray:
        """(nj, 6, d): the twist by which a change of z moves each axis further, from where z has put it."""
        turn = crm(self.eta(z))
        series = sum(
            np.linalg.matrix_power(turn, k) / factorial(k + 1) for k in range(ROUNDS)
        )  # exact to rounding within a radian
        return series @ self.basis


def axis_directions(robot: Robot, joints: Iterable[str] | None, *, tilt: float, shift: float) -> AxisDirections:
    """Directions of the named joints, by default of all joints of one degree that mimic no other, cut ones included.

    tilt [rad], shift [m]: prior standard deviations; 0 leaves those directions out. Raises OptionError for unknown
    joints, joints of several degrees and negative deviations.
    """
    if not (tilt >= 0 and shift >= 0 and np.isfinite(tilt + shift) and tilt + shift > 0):
        raise OptionError(
            f"tilt and shift are standard deviations in rad and m, not both 0; got {tilt!r} and {shift!r}."
        )
    places = {joint.name: j for j, joint in enumerate(robot.joints) if joint.nv == 1 and joint.mimics is None}
    places |= {loop.name: robot.nj + i for i, loop in enumerate(robot.loops) if loop.kind in CUT}
    wanted = list(places if joints is None else joints)
    unknown = [name for name in wanted if name not in places]
    if unknown or not wanted:
        found = f"'{unknown[0]}'" if unknown else "none"
        raise OptionError(f"joints: got {found}; the robot's joints of one degree are {choices(places) or 'none'}.")
    rows = [
        (f"{name} {word}", places[name], eta, deviation)
        for name in wanted
        for word, eta, deviation in _of(robot, places[name], tilt, shift)
    ]
    names, index, vectors, deviations = zip(*rows, strict=True)
    size = robot.nj + len(robot.loops)
    found = AxisDirections(np.array(index), np.array(vectors), np.array(deviations), names, size)
    return _that_loops_follow(robot, found)


def _that_loops_follow(robot: Robot, directions: AxisDirections) -> AxisDirections:
    """Those directions with which all loops still close: of linkages with redundant equations, not all."""
    if not robot.loops:
        return directions
    eta = np.zeros((directions.count, directions.size, 6))
    eta[np.arange(directions.count), directions.joint] = directions.vectors
    kept = closed_loop.follows(robot, joints=eta[:, : robot.nj], cut=eta[:, robot.nj :])
    if not kept.any():
        raise OptionError(
            f"joints: the loops of robot '{robot.name}' ({choices(robot.loop_names)}) can close after none of these "
            f"changes: {choices(directions.names)}."
        )
    return AxisDirections(
        directions.joint[kept],
        directions.vectors[kept],
        directions.deviation[kept],
        tuple(np.array(directions.names)[kept].tolist()),
        directions.size,
        tuple(np.array(directions.names)[~kept].tolist()),
    )


def _of(robot: Robot, j: int, tilt: float, shift: float):
    """Rows (words, eta, prior deviation) of one joint, or of one that was cut."""
    if j < robot.nj:
        joint = robot.joints[j]
        axis, anchor, _ = screw(joint)
        return _of_axis(axis, anchor, tilt, shift if joint.turns else 0.0)
    turns = robot.loops[j - robot.nj].kind != "slide"
    return _of_axis(np.array([0.0, 0.0, 1.0]), np.zeros(3), tilt, shift if turns else 0.0)


def _of_axis(axis, anchor, tilt: float, shift: float):
    """Rows (words, eta, prior deviation) of an axis (3,) through a point (3,), 0 leaves tilts or shifts out."""
    first = np.eye(3)[np.argmin(np.abs(axis))]
    first = first - axis * (axis @ first)
    first /= np.linalg.norm(first)
    across = sorted((first, np.cross(axis, first)), key=lambda e: int(np.argmax(np.abs(e))))
    across = [e * np.sign(e[np.argmax(np.abs(e))]) + 0.0 for e in across]
    if tilt:
        for e in across:
            yield f"tilt about {_word(e)}", np.concatenate([np.cross(anchor, e), e]), tilt
    if shift:
        for e in across:
            yield f"shift along {_word(e)}", np.concatenate([e, np.zeros(3)]), shift


def _word(e) -> str:
    return "xyz"[int(np.argmax(e))] if e.max() > 1 - 1e-6 else "[" + " ".join(f"{x:.2f}" for x in e) + "]"


@dataclass(frozen=True, eq=False)
class AxisSums:
    """Weighted sums over samples for all columns Y (p) and axis directions J (d): `inertial = Y^T Y`, `cross = Y^T J`,
    `axes = J^T J`, `moment = J^T tau`.

    Base columns would not do: between a robot with parallel axes and one whose axes are off by little, their
    regrouping grows without bound.
    """

    inertial: np.ndarray
    cross: np.ndarray
    axes: np.ndarray
    moment: np.ndarray


def axis_sums(
    robot: Robot, layout: ParameterLayout, logs, directions: AxisDirections, z, *, weights, width, sample_weights=None
):
    """Sums over logs for a robot whose axes stand at z (d,), with its inertias the ones to differentiate at, of torques
    left after effects that are no columns. weights: (nv,); sample_weights: of a log."""
    r, size = layout.size, layout.size + directions.count + 1
    rates = directions.rates(z)
    gram = np.zeros((size, size))
    blocks = _blocks_of_loops if robot.loops else _blocks
    for log in logs:
        for dof, places, block, shares in blocks(robot, layout, log, rates, width, sample_weights):
            gram[np.ix_(places, places)] += (block * weights[dof] * shares) @ block.T
    return AxisSums(gram[:r, :r], gram[:r, r:-1], gram[r:-1, r:-1], gram[r:-1, -1])


def _blocks(robot: Robot, layout: ParameterLayout, log, rates, width, sample_weights):
    """Degree, places in the sums, columns, directions and torque (k, n), and weights of samples, chunk by chunk."""
    r, d = layout.size, rates.shape[-1]
    rows = rows_of(robot, layout, np.arange(r))
    q, v, a, tau = channels_of(robot, log, ("q", "v", "a", "tau"))
    signs = direction_of(log, width, layout)
    counted = weights_of(sample_weights, log)
    for start in range(0, len(q), CHUNK):
        part = [x[start : start + CHUNK] for x in (q, v, a, tau, signs)]
        J = axis_columns(robot, rates, *part[:3])
        chunk = tuple(np.ascontiguousarray(x.T) for x in part)
        for dof, (block, torque) in enumerate(chunk_rows(robot, layout, width, rows, chunk)):
            rows_here = np.concatenate([block, J[:, dof].T, torque[None]])
            places = np.concatenate([rows[dof].places, np.arange(r, r + d + 1)])
            yield dof, places, rows_here, 1.0 if counted is None else counted[start : start + CHUNK, dof]


def _blocks_of_loops(robot: Robot, layout: ParameterLayout, log, rates, width, sample_weights):
    """The same of independent joints; friction of passive ones is felt there, and moves with the axes, too."""
    everything = np.arange(layout.size + rates.shape[-1] + 1)
    log = on_tree(robot, log)
    q, v, a, tau = channels_of(robot, log, ("q", "v", "a", "tau"))
    signs = direction_of(log, width, layout)
    counted = weights_of(sample_weights, log)
    for start in range(0, len(q), CHUNK):
        part = slice(start, start + CHUNK)
        at = tree_state_of(robot, q[part], v[part], a[part])
        left = tau[part] - known_torque(robot, layout, v[part].T, a[part].T, signs[part].T).T
        target = on_independent_joints(at, left[..., None])[..., 0]
        Y = columns(robot, layout, at, direction=signs[part], coulomb_width=width)
        J = loop_axis_columns(robot, rates, at, coulomb_width=width)
        for k, joint in enumerate(at.choice.independent):
            rows = np.concatenate([Y[:, k], J[:, k], target[:, k, None]], axis=1).T
            yield k, everything, rows, 1.0 if counted is None else counted[part, joint]


def loop_axis_columns(robot: Robot, rates, at, *, coulomb_width: float) -> np.ndarray:
    """(n, ni, d) torque of independent joints per prior standard deviation of each direction."""
    turning = np.tanh(at.v / coulomb_width)
    slope = robot.damping + robot.frictionloss * (1 - turning**2) / coulomb_width
    friction = robot.damping * at.v + robot.frictionloss * turning, slope
    eta = np.moveaxis(rates, -1, 0)
    derivatives = closed_loop.Derivatives(robot, at, {}, friction)
    return derivatives.along(joints=eta[:, : robot.nj], cut=eta[:, robot.nj :])


def axis_columns(robot: Robot, rates, q, v, a) -> np.ndarray:
    """(n, nv, d) torque per prior standard deviation of each direction."""
    by_joint = inverse_dynamics_derivatives(robot, q, v, a).dtau_djoint
    return by_joint.reshape(len(q), robot.nv, -1) @ rates.reshape(6 * robot.nj, -1)
