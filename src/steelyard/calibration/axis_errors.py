"""In which directions a joint's axis can be wrong, and how wrong it is believed to be."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import factorial, radians

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics_derivatives
from steelyard.errors import OptionError, choices
from steelyard.information import CHUNK, channels_of, chunk_rows, direction_of, require_tree, rows_of, weights_of
from steelyard.model import Robot, screw
from steelyard.spatial import crm
from steelyard.terms import ParameterLayout

TILT, SHIFT = radians(3.0), 0.01  # standard deviations before any log: rad, m
TERMS = 8  # of the series of the exponential's derivative: exact to rounding for axes within a radian


@dataclass(frozen=True, eq=False, repr=False)
class AxisDirections(Card):
    """Directions of axis errors, d of them: two tilts and two shifts of a revolute joint, two tilts of a prismatic one.

    Its own motion is no error: a revolute axis turned about itself or shifted along itself stays the same, and so does
    a prismatic one wherever it is shifted. joint (d,): of `robot.joints`; vectors (d, 6): unit eta in child axes, rad
    or m; deviation (d,): prior standard deviation; names (d,). size: number of joints of the robot.
    """

    joint: np.ndarray
    vectors: np.ndarray
    deviation: np.ndarray
    names: tuple[str, ...]
    size: int

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
        series = sum(np.linalg.matrix_power(turn, k) / factorial(k + 1) for k in range(TERMS))
        return series @ self.basis


def axis_directions(robot: Robot, joints: Iterable[str] | None, *, tilt: float, shift: float) -> AxisDirections:
    """Directions of the named joints, by default of all joints of one degree that mimic no other.

    tilt [rad], shift [m]: prior standard deviations; 0 leaves those directions out. Raises OptionError for unknown
    joints, joints of several degrees and negative deviations.
    """
    if not (tilt >= 0 and shift >= 0 and np.isfinite(tilt + shift) and tilt + shift > 0):
        raise OptionError(
            f"tilt and shift are standard deviations in rad and m, not both 0; got {tilt!r} and {shift!r}."
        )
    simple = {joint.name: j for j, joint in enumerate(robot.joints) if joint.nv == 1 and joint.mimics is None}
    wanted = list(simple if joints is None else joints)
    unknown = [name for name in wanted if name not in simple]
    if unknown or not wanted:
        found = f"'{unknown[0]}'" if unknown else "none"
        raise OptionError(f"joints: got {found}; the robot's joints of one degree are {choices(simple) or 'none'}.")
    rows = [(simple[name], *row) for name in wanted for row in _of_joint(robot.joints[simple[name]], tilt, shift)]
    index, words, vectors, deviations = zip(*rows, strict=True)
    names = tuple(f"{robot.joints[j].name} {word}" for j, word in zip(index, words, strict=True))
    return AxisDirections(np.array(index), np.array(vectors), np.array(deviations), names, robot.nj)


def _of_joint(joint, tilt: float, shift: float):
    """Rows (words, eta, prior deviation) of one joint."""
    axis, anchor, _ = screw(joint)
    first = np.eye(3)[np.argmin(np.abs(axis))]
    first = first - axis * (axis @ first)
    first /= np.linalg.norm(first)
    across = sorted((first, np.cross(axis, first)), key=lambda e: int(np.argmax(np.abs(e))))
    across = [e * np.sign(e[np.argmax(np.abs(e))]) + 0.0 for e in across]
    if tilt:
        for e in across:
            yield f"tilt about {_word(e)}", np.concatenate([np.cross(anchor, e), e]), tilt
    if shift and joint.turns:
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
    """Sums over logs for a robot whose axes stand at z (d,), with its inertias the ones to differentiate at.

    weights: (nv,) of the torques; width: coulomb width; sample_weights: a function of a log. Torques are those left
    after effects that are no columns.
    """
    require_tree(robot, "Calibration of axes")
    r, size = layout.size, layout.size + directions.count + 1
    rows, rates = rows_of(robot, layout, np.arange(r)), directions.rates(z)
    gram = np.zeros((size, size))
    for log in logs:
        q, v, a, tau = channels_of(robot, log, ("q", "v", "a", "tau"))
        signs = direction_of(log, width, layout)
        counted = weights_of(sample_weights, log)
        for start in range(0, len(q), CHUNK):
            part = [x[start : start + CHUNK] for x in (q, v, a, tau, signs)]
            J = axis_columns(robot, rates, *part[:3])
            chunk = tuple(np.ascontiguousarray(x.T) for x in part)
            for dof, (block, torque) in enumerate(chunk_rows(robot, layout, width, rows, chunk)):
                columns = np.concatenate([block, J[:, dof].T, torque[None]])
                places = np.concatenate([rows[dof].places, np.arange(r, size)])
                share = weights[dof] if counted is None else weights[dof] * counted[start : start + CHUNK, dof]
                gram[np.ix_(places, places)] += (columns * share) @ columns.T
    return AxisSums(gram[:r, :r], gram[:r, r:-1], gram[r:-1, r:-1], gram[r:-1, -1])


def axis_columns(robot: Robot, rates, q, v, a) -> np.ndarray:
    """(n, nv, d) torque per prior standard deviation of each direction."""
    by_joint = inverse_dynamics_derivatives(robot, q, v, a).dtau_djoint
    return by_joint.reshape(len(q), robot.nv, -1) @ rates.reshape(6 * robot.nj, -1)
