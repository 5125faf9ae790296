"""Which axis errors joint torques can show at all, when inertial parameters and friction are unknown too."""

from dataclasses import dataclass

import numpy as np

from steelyard.calibration.axis_errors import AxisDirections, axis_columns, loop_axis_columns
from steelyard.cards import Card
from steelyard.dynamics.closed_loop.assembly import choose_independent
from steelyard.dynamics.closed_loop.projection import columns
from steelyard.dynamics.closed_loop.states import random_closed_states
from steelyard.identifiable import regression_basis
from steelyard.identifiable.numeric_rank import layout_rows, robot_states
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Robot
from steelyard.model.robot import WORLD
from steelyard.model.side_mechanism import rest_poses
from steelyard.numbers import SAME
from steelyard.spatial import adjoint
from steelyard.terms import COULOMB_WIDTH, ParameterLayout


@dataclass(frozen=True, eq=False, repr=False)
class AxisVisibility(Card):
    """Directions of axis errors that torques show, beside unknown inertial parameters and friction.

    names (d,); hidden: (d, k) orthonormal combinations, in prior standard deviations, that change no torque once the
    inertial parameters follow; base (d, b): those among them that only move the whole robot in the world.
    """

    names: tuple[str, ...]
    hidden: np.ndarray
    base: np.ndarray

    @property
    def rank(self) -> int:
        """Number of combinations that can be seen."""
        return len(self.names) - self.hidden.shape[1]

    @property
    def seen(self) -> np.ndarray:
        """(d,) share of each direction that can be seen: 1 by itself, 0 not at all."""
        return 1 - np.sum(self.hidden**2, axis=1)

    @property
    def groups(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """Directions that are seen in combination only: names, and how many of their combinations are hidden."""
        from scipy.sparse.csgraph import connected_components

        _, group = connected_components(np.abs(self.hidden @ self.hidden.T) > SAME, directed=False)
        partly = group[(self.seen > SAME) & (self.seen < 1 - SAME)]
        alike = [np.flatnonzero(group == each) for each in dict.fromkeys(partly.tolist())]
        return tuple((tuple(self.names[i] for i in own), round(float(np.sum(1 - self.seen[own])))) for own in alike)

    def summary(self) -> str:
        """A few readable lines."""
        lines = [
            f"Torques show {self.rank} of {len(self.names)} axis directions when inertial parameters are unknown too."
        ]
        alone = [name for name, share in zip(self.names, self.seen, strict=True) if share < SAME]
        if alone:
            lines.append(f"Never seen: {', '.join(alone)}.")
        lines += [
            f"Seen only together: {', '.join(names)} ({hidden} of {len(names)} combinations hidden)."
            for names, hidden in self.groups
        ]
        if self.base.shape[1]:
            lines.append(
                f"{self.base.shape[1]} of the hidden combinations only move the whole robot by a shift, or a turn "
                "about gravity: they re-define where the base stands."
            )
        lines.append("An axis turned about itself or shifted along itself is the same axis and is not counted.")
        return "\n".join(lines)


def axis_visibility(robot: Robot, layout: ParameterLayout, directions: AxisDirections) -> AxisVisibility:
    """Numeric rank of the torques' derivatives with respect to axis directions, beside all columns of a layout.

    Random states decide, not a log: what is hidden here no motion shows. Inertias are the robot's own.
    """
    basis = regression_basis(robot, layout)
    d, r = directions.count, basis.count
    stacked = _of_loops if robot.loops else _of_tree
    Y, J = stacked(robot, layout, directions, d + r)
    Y, J = Y.reshape(-1, layout.size)[:, basis.columns], J.reshape(-1, d)
    orthonormal = np.linalg.qr(Y / np.linalg.norm(Y, axis=0))[0]
    scale = np.linalg.norm(J, axis=0)
    scale[scale == 0] = 1.0
    left = J / scale
    for _ in range(2):  # twice is enough: what is left then is orthogonal to rounding
        left = left - orthonormal @ (orthonormal.T @ left)
    _, singular, Vt = np.linalg.svd(left)
    hidden = Vt[int(np.count_nonzero(singular > THRESHOLDS.numeric_rank)) :].T / scale[:, None]
    hidden = np.linalg.qr(hidden)[0]
    return AxisVisibility(directions.names, hidden, _moves_of_the_base(robot, directions, hidden))


def _of_tree(robot: Robot, layout: ParameterLayout, directions: AxisDirections, unknowns: int):
    """Columns (n, nv, p) and directions (n, nv, d) at random states, three rows an unknown."""
    n = 20 + 3 * unknowns // robot.nv
    states = robot_states(robot, n, seed=0)
    return layout_rows(robot, layout, *states), axis_columns(robot, directions.basis, *(x.T for x in states))


def _of_loops(robot: Robot, layout: ParameterLayout, directions: AxisDirections, unknowns: int):
    choice = choose_independent(robot)
    at = random_closed_states(robot, choice, 20 + 3 * unknowns // len(choice.independent), seed=0)
    J = loop_axis_columns(robot, directions.basis, at, coulomb_width=COULOMB_WIDTH)
    return columns(robot, layout, at), J


def _moves_of_the_base(robot: Robot, directions: AxisDirections, hidden) -> np.ndarray:
    """Combinations (d, b) among the hidden ones that move every axis as one body, by a shift or about gravity."""
    down = robot.gravity / (np.linalg.norm(robot.gravity) or 1.0)
    moves = np.column_stack([np.eye(6)[:, :3], np.concatenate([np.zeros(3), down])])
    R, p = _axis_frames(robot)
    eta = np.linalg.inv(adjoint(R, p)) @ moves  # (nj, 6, 4) in child axes
    joints = dict.fromkeys(directions.joint.tolist())
    of_joints = [(j, np.flatnonzero(directions.joint == j)) for j in joints]
    bodily = [np.linalg.pinv(directions.vectors[rows].T) @ eta[j] for j, rows in of_joints]
    z = np.concatenate(bodily) / directions.deviation[:, None]
    inside = hidden @ (hidden.T @ z)
    whole = np.linalg.norm(z - inside, axis=0) < 1e-6 * np.maximum(np.linalg.norm(z, axis=0), 1e-300)
    U, singular, _ = np.linalg.svd(z[:, whole], full_matrices=False)
    return U[:, singular > SAME * max(singular.max(initial=0.0), 1e-300)]


def _axis_frames(robot: Robot):
    """Rest poses of the children of joints, and of the frames of closures: (nj + L, 3, 3), (nj + L, 3)."""
    R, p = rest_poses(robot)
    for loop in robot.loops:
        on = WORLD if loop.bodies[0] is None else int(robot.body_joints[robot.body_index(loop.bodies[0])])
        above = (np.eye(3), np.zeros(3)) if on == WORLD else (R[on], p[on])
        R = np.concatenate([R, (above[0] @ loop.rotations[0])[None]])
        p = np.concatenate([p, (above[1] + above[0] @ loop.positions[0])[None]])
    return R, p
