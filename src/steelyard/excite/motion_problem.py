"""The design as a smooth problem: cost of the goal plus augmented-Lagrangian terms of the limits, with one gradient."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.dynamics.kinematics import motion
from steelyard.excite.adjoint import body_twists, twist_gradient
from steelyard.excite.collisions import CollisionScene
from steelyard.excite.ground_support import Support
from steelyard.excite.limits import MotionBounds
from steelyard.excite.measured_rows import MeasuredRegression, MeasuredRows, regression_of
from steelyard.excite.motion_curves import Curve
from steelyard.excite.optimality import Goal
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.information.row_kinds import BASE
from steelyard.model import Robot
from steelyard.model.robot import WORLD

JOINT_LIMITS = ("position", "velocity", "acceleration", "jerk")
SPARSE = 2  # every so many samples are looked at for collisions


@dataclass(frozen=True, eq=False)
class MotionProblem:
    """Cost of coefficients and its gradient."""

    robot: Robot
    goal: Goal
    curve: Curve
    bounds: MotionBounds
    scene: CollisionScene | None = None  # None where collisions do not count
    cartesian_speed: float | None = None  # m/s or None
    start: np.ndarray | None = None  # (nv,) pose at t = 0
    colliding: bool = True  # whether the scene is also kept from touching
    support: Support | None = None  # what the robot stands on, None where its base is held

    @cached_property
    def grid(self) -> np.ndarray:
        return (np.arange(self.curve.samples) + 0.5) * self.curve.duration / self.curve.samples

    @cached_property
    def values(self) -> np.ndarray:
        return self.curve.values(self.grid)

    @cached_property
    def scales(self) -> np.ndarray:
        """(size, moving) size of each coefficient that one limit alone allows."""
        peaks = np.abs(self.values).max(axis=1)[:, :, None]
        bounds, moving = self.bounds, self.bounds.moving
        half = [bounds.half, bounds.velocity, bounds.acceleration, bounds.jerk]
        with np.errstate(divide="ignore"):
            return np.min([limit[moving] / peak for limit, peak in zip(half, peaks, strict=True)], axis=0)

    def coefficients(self, z) -> np.ndarray:
        """(size, nv) of free variables z."""
        found = np.zeros((self.curve.size, self.robot.nv))
        moving = self.bounds.moving
        found[:, moving] = np.reshape(z, (self.curve.size, len(moving))) * self.scales
        first = self.curve.values(np.zeros(1))[0, 0]
        constant = np.linalg.lstsq(self.values[0], np.ones(len(self.grid)), rcond=None)[0]
        found += np.outer(constant, self.bounds.middle)
        if self.start is not None:
            found[0, moving] += (self.start - first @ found)[moving] / first[0]
        return found

    def variables(self, coefficients) -> np.ndarray:
        """Free variables of coefficients: the inverse of `coefficients`."""
        offset = self.coefficients(np.zeros(self.curve.size * len(self.bounds.moving)))
        moving = self.bounds.moving
        change = (coefficients - offset)[:, moving]
        return (change / self.scales).ravel()

    def _by_variables(self, gradient) -> np.ndarray:
        """Gradient by z of one by coefficients (size, nv)."""
        moving = self.bounds.moving
        gradient = gradient[:, moving]
        if self.start is not None:
            first = self.curve.values(np.zeros(1))[0, 0]
            gradient = gradient - np.outer(first / first[0], gradient[0])
        return (gradient * self.scales).ravel()

    def states(self, coefficients, values=None) -> np.ndarray:
        """(4, nv, n) q, v, a and jerk."""
        values = self.values if values is None else values
        return np.swapaxes(values @ coefficients, 1, 2)

    @cached_property
    def regression(self) -> MeasuredRegression:
        goal = self.goal
        more = () if self.support is None or BASE in goal.kinds else (BASE,)
        return regression_of(self.robot, goal.layout, goal.basis, goal.coulomb_width, goal.kinds, more)

    @cached_property
    def base_rows(self) -> slice:
        """Rows of the wrench under the robot."""
        sensors = [sensor.body for sensor in self.regression.axes.sensors]
        first = self.robot.nv + 6 * sensors.index(WORLD)
        return slice(first, first + 6)

    def rows(self, states) -> MeasuredRows:
        """Rows of the regression for states (3 or more, nv, n)."""
        return self.regression.at(self.bounds.positions(states[0]), states[1], states[2])

    def gram(self, coefficients) -> np.ndarray:
        """(r, r) weighted information of the motion in base columns."""
        rows = self.rows(self.states(coefficients))
        return rows.gram(self._weights(rows.forces))

    def noise(self, coefficients) -> np.ndarray:
        """(m,) standard deviation of the measured rows that is to be expected along the motion."""
        forces = self.rows(self.states(coefficients)).forces
        return self.goal.noise_along(forces[: len(self.goal.noise)])[self.goal.measured]

    def _weights(self, forces) -> np.ndarray:
        """(rows,) square root of the samples that a point of the grid stands for, over their noise; none for rows that
        are computed alone."""
        measured = len(self.goal.noise)
        weights = np.zeros(len(forces))
        weights[:measured] = np.sqrt(self.goal.rate * self.curve.duration / self.curve.samples)
        weights[:measured] /= self.goal.noise_along(forces[:measured])
        return weights

    def cost(self, z, multipliers: dict, penalty: float, tight: dict) -> tuple[float, np.ndarray, dict]:
        """Cost, gradient and violated limits: share beyond each, by name (nv, n)."""
        X = self.coefficients(z)
        states = self.states(X)
        rows = self.rows(states)
        weights = self._weights(rows.forces)
        value, F = self.goal.cost(rows.gram(weights))
        pull, load = rows.gram_gradient(F, weights), np.zeros_like(rows.forces)
        measured = slice(len(self.goal.noise))
        slope = np.array([np.vdot(*both) / 2 for both in zip(pull[measured], rows.base[measured], strict=True)])
        load[measured] = self.goal.noise_gradient(rows.forces[measured], slope)
        by_state, beyond = np.zeros_like(states), {}

        def pressed(name: str, excess) -> np.ndarray:
            """Derivative by the excess of the augmented-Lagrangian term of `excess <= 0`, which the cost gets."""
            nonlocal value
            beyond[name], before, n = excess, multipliers.get(name, 0.0), excess.shape[-1]
            force = np.maximum(0.0, before + penalty * excess)
            value += float((force**2 - np.square(before)).sum()) / (2 * penalty * n)
            return force / n

        for order, name in enumerate(JOINT_LIMITS):
            if np.isfinite(limit := self._limit(name, tight)).any():
                off = states[order] - (self.bounds.middle[:, None] if order == 0 else 0.0)
                by_state[order] += pressed(name, np.abs(off) / limit - 1) * np.sign(off) / limit
        if np.isfinite(limit := self._limit("effort", tight)).any():
            tau = rows.forces[: self.robot.nv]
            load[: self.robot.nv] += pressed("effort", np.abs(tau) / limit - 1) * np.sign(tau) / limit
        if self.support is not None:
            wrench, room = rows.forces[self.base_rows], self.support.room[:, None] * tight.get("balance", 1.0)
            force = pressed("balance", self.support.reach(wrench) / room - 1)
            load[self.base_rows] += self.support.reach_gradient(wrench, force / room)
        if self.cartesian_speed is not None:
            limit, twist = self.cartesian_speed * tight.get("cartesian speed", 1.0), body_twists(rows.bodies)
            speed, worst = corner_speeds(self.robot, self.scene, twist)
            velocity = twist[:3] + np.cross(twist[3:], worst, axis=0)
            push = pressed("cartesian speed", speed / limit - 1) * velocity / (limit * np.maximum(speed, 1e-9))
            push = np.concatenate([push, np.cross(worst, push, axis=0)])
            by_state[:2] += twist_gradient(self.robot, rows.bodies, push)
        if self.scene is not None and self.colliding:
            added, by_state[0, :, ::SPARSE] = self._collisions(states[0], by_state[0, :, ::SPARSE], penalty, tight)
            value += added
        gradient = rows.gradient(pull, load if load.any() else None)
        for order, part in enumerate((gradient.q, gradient.v, gradient.a)):
            by_state[order] += part
        return value, self._by_variables(np.einsum("onk,oin->ki", self.values, by_state, optimize=True)), beyond

    def _limit(self, name: str, tight: dict) -> np.ndarray:
        limit = self.bounds.half if name == "position" else getattr(self.bounds, name)
        limit = limit * tight.get(name, 1.0)
        return np.where(self.bounds.locked, np.inf, limit)[:, None]

    def _collisions(self, q, by_q, penalty, tight):
        assert self.scene is not None
        poses = self.bounds.positions(q[:, ::SPARSE])
        spare = tight.get("clearance", THRESHOLDS.spare)
        near = self.scene.contacts(poses.T, spare)
        if not len(near.sample):
            return 0.0, by_q
        still = np.zeros((self.robot.nv, poses.shape[1]))
        slope = near.gradient(self.robot, motion(self.robot, poses, still, still), len(self.scene.fixed))
        depth = (spare - near.room) / THRESHOLDS.pressure
        n = poses.shape[1]
        force = penalty * depth / THRESHOLDS.pressure / n
        by_q = by_q.copy()
        np.add.at(by_q.T, near.sample, -force[:, None] * slope)
        return float(penalty * np.sum(depth**2)) / (2 * n), by_q


def corner_speeds(robot: Robot, scene: CollisionScene | None, twist) -> tuple[np.ndarray, np.ndarray]:
    """Highest speed (nb, n) of the corners of each body's box, and that corner (3, nb, n). twist: (6, nb, n)."""
    boxes = scene.corners if scene is not None else (np.zeros((1, 3)),) * robot.nb
    speed, worst = np.zeros(twist.shape[1:]), np.zeros((3, *twist.shape[1:]))
    for b, corners in enumerate(boxes):
        velocity = twist[:3, b, None] + np.cross(twist[3:, b, None], corners.T[:, :, None], axis=0)
        speeds = np.linalg.norm(velocity, axis=0)
        place = np.argmax(speeds, axis=0)
        speed[b], worst[:, b] = np.take_along_axis(speeds, place[None], axis=0)[0], corners[place].T
    return speed, worst
