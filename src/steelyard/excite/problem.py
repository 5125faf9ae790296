"""The design as a smooth problem: cost of the goal plus augmented-Lagrangian terms of the limits, with one gradient."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.dynamics.effects import effect_column
from steelyard.dynamics.kinematics import Motion, motion
from steelyard.excite.adjoint import body_twists, twist_gradient
from steelyard.excite.curves import Curve
from steelyard.excite.goal import Goal
from steelyard.excite.limits import Bounds
from steelyard.excite.rows import all_rows, rows_gradient
from steelyard.excite.scene import Scene
from steelyard.fit.least_squares import model_parameters
from steelyard.model.robot import Robot
from steelyard.parameters import TERMS

JOINT_LIMITS = ("position", "velocity", "acceleration", "jerk")
NEAR = 0.05  # m of missing room that press like the whole of a joint limit
SPARE = 0.008  # m beyond the clearance to aim at: collisions are looked at on a sparse grid
SPARSE = 2  # every so many samples are looked at for collisions


@dataclass(frozen=True, eq=False)
class Problem:
    """Cost of coefficients and its gradient. scene: None where collisions do not count. start: (nv,) pose at t = 0.

    cartesian_speed: m/s or None. colliding: whether the scene is also kept from touching.
    """

    robot: Robot
    goal: Goal
    curve: Curve
    bounds: Bounds
    scene: Scene | None = None
    cartesian_speed: float | None = None
    start: np.ndarray | None = None
    colliding: bool = True

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

    def _pulled_back(self, gradient) -> np.ndarray:
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

    def gram(self, coefficients) -> np.ndarray:
        """(r, r) weighted information of the motion in base columns."""
        rows, tau = self._seen(coefficients)
        base = (self._base(rows) * self._weights(tau)[:, None]).reshape(self.goal.basis.count, -1)
        return base @ base.T

    def noise(self, coefficients) -> np.ndarray:
        """(nv,) standard deviation of the torques that is to be expected along the motion."""
        return self.goal.noise_along(self._seen(coefficients)[1])

    def _seen(self, coefficients) -> tuple[np.ndarray, np.ndarray]:
        q, v, a, _ = self.states(coefficients)
        rows = all_rows(self.robot, self.goal.layout, v, a, motion(self.robot, q, v, a), self.goal.coulomb_width)
        return rows, self.torque(rows, v, a)

    def _base(self, rows) -> np.ndarray:
        """(r, nv, n) rows of the base columns."""
        return np.moveaxis(rows[:, self.goal.basis.columns], 1, 0)

    def _weights(self, tau) -> np.ndarray:
        """(nv,) square root of the samples that a point of the grid stands for, over their noise."""
        samples = self.goal.rate * self.curve.duration / self.curve.samples
        return np.sqrt(samples) / self.goal.noise_along(tau)

    @cached_property
    def model(self) -> np.ndarray:
        return model_parameters(self.robot, self.goal.layout)

    def torque(self, rows, v, a) -> np.ndarray:
        """(nv, n) that the model needs. rows: (nv, p, n)."""
        tau = np.einsum("ipn,p->in", rows, self.model, optimize=True)
        for term, values in self._untold.items():
            tau += values[:, None] * effect_column(term, v, a, coulomb_width=self.goal.coulomb_width)
        return tau

    @cached_property
    def _untold(self) -> dict[str, np.ndarray]:
        """Friction and armature of the model that are no columns of the goal."""
        named = {"viscous": "damping", "coulomb": "frictionloss", "armature": "armature"}
        return {t: getattr(self.robot, named[t]) for t in TERMS if t in named and t not in self.goal.layout.terms}

    def _untold_slopes(self, v):
        """Order of the state, and derivative (nv, n) by it, of each torque outside the goal's columns."""
        for term, values in self._untold.items():
            if term == "coulomb":
                width = self.goal.coulomb_width
                yield 1, values[:, None] * (1 - np.tanh(v / width) ** 2) / width
            else:
                yield {"viscous": 1, "armature": 2}[term], values[:, None]

    def cost(self, z, multipliers: dict, penalty: float, tight: dict) -> tuple[float, np.ndarray, dict]:
        """Cost, gradient and violated limits: share beyond each, by name (nv, n)."""
        X = self.coefficients(z)
        states = self.states(X)
        q, v, a = states[:3]
        state = motion(self.robot, q, v, a)
        rows = all_rows(self.robot, self.goal.layout, v, a, state, self.goal.coulomb_width)
        tau = self.torque(rows, v, a)
        weights = self._weights(tau)[:, None]
        base = self._base(rows) * weights
        flat = base.reshape(len(base), -1)
        value, F = self.goal.cost(flat @ flat.T)
        pull = 2 * (F @ flat).reshape(base.shape)
        Z = np.zeros_like(rows)
        Z[:, self.goal.basis.columns] = np.moveaxis(pull * weights, 0, 1)
        by_tau = self.goal.louder(tau, np.sum(pull * base, axis=(0, 2)) / 2)
        by_state, beyond = np.zeros_like(states), {}
        for order, name in enumerate(JOINT_LIMITS):
            centre = self.bounds.middle[:, None] if order == 0 else 0.0
            limit = self._limit(name, tight)
            if not np.isfinite(limit).any():
                continue
            off = states[order] - centre
            beyond[name] = np.abs(off) / limit - 1
            force = self._pressed(beyond[name], multipliers.get(name, 0.0), penalty)
            value += force[0]
            by_state[order] += force[1] * np.sign(off) / limit
        limit = self._limit("effort", tight)
        if np.isfinite(limit).any():
            beyond["effort"] = np.abs(tau) / limit - 1
            force = self._pressed(beyond["effort"], multipliers.get("effort", 0.0), penalty)
            value += force[0]
            by_tau += force[1] * np.sign(tau) / limit
        Z += by_tau[:, None] * self.model[:, None]
        for order, slope in self._untold_slopes(v):
            by_state[order] += by_tau * slope
        if self.cartesian_speed is not None:
            added, by_q, by_v, beyond["cartesian speed"] = self._corners(state, multipliers, penalty, tight)
            value += added
            by_state[0] += by_q
            by_state[1] += by_v
        if self.scene is not None and self.colliding:
            added, by_state[0, :, ::SPARSE] = self._collisions(q, by_state[0, :, ::SPARSE], penalty, tight)
            value += added
        gradient = rows_gradient(self.robot, self.goal.layout, q, v, a, Z, state, self.goal.coulomb_width)
        for order, part in enumerate((gradient.q, gradient.v, gradient.a)):
            by_state[order] += part
        return value, self._pulled_back(np.einsum("onk,oin->ki", self.values, by_state, optimize=True)), beyond

    def _limit(self, name: str, tight: dict) -> np.ndarray:
        limit = self.bounds.half if name == "position" else getattr(self.bounds, name)
        limit = limit * tight.get(name, 1.0)
        return np.where(self.bounds.locked, np.inf, limit)[:, None]

    def _pressed(self, beyond, multiplier, penalty: float) -> tuple[float, np.ndarray]:
        """Augmented-Lagrangian term of `beyond <= 0` and its derivative, averaged over samples."""
        n = beyond.shape[-1]
        pressed = np.maximum(0.0, multiplier + penalty * beyond)
        return float((pressed**2 - np.square(multiplier)).sum()) / (2 * penalty * n), pressed / n

    def _corners(self, state: Motion, multipliers, penalty, tight):
        limit = self.cartesian_speed * tight.get("cartesian speed", 1.0)
        twist = body_twists(state)
        speed, worst = corner_speeds(self.robot, self.scene, twist)
        beyond = speed / limit - 1
        added, force = self._pressed(beyond, multipliers.get("cartesian speed", 0.0), penalty)
        velocity = twist[:3] + np.cross(twist[3:], worst, axis=0)
        pull = force * velocity / (limit * np.maximum(speed, 1e-9))
        by_q, by_v = twist_gradient(self.robot, state, np.concatenate([pull, np.cross(worst, pull, axis=0)]))
        return added, by_q, by_v, beyond

    def _collisions(self, q, by_q, penalty, tight):
        assert self.scene is not None
        poses = q[:, ::SPARSE]
        spare = tight.get("clearance", SPARE)
        near = self.scene.contacts(poses.T, spare)
        if not len(near.sample):
            return 0.0, by_q
        still = np.zeros_like(poses)
        slope = near.gradient(self.robot, motion(self.robot, poses, still, still))
        depth = (spare - near.room) / NEAR
        n = poses.shape[1]
        force = penalty * depth / NEAR / n
        by_q = by_q.copy()
        np.add.at(by_q.T, near.sample, -force[:, None] * slope)
        return float(penalty * np.sum(depth**2)) / (2 * n), by_q


def corner_speeds(robot: Robot, scene: Scene | None, twist) -> tuple[np.ndarray, np.ndarray]:
    """Highest speed (nb, n) of the corners of each body's box, and that corner (3, nb, n). twist: (6, nb, n)."""
    boxes = scene.corners if scene is not None else (np.zeros((1, 3)),) * robot.nb
    speed, worst = np.zeros(twist.shape[1:]), np.zeros((3, *twist.shape[1:]))
    for b, corners in enumerate(boxes):
        velocity = twist[:3, b, None] + np.cross(twist[3:, b, None], corners.T[:, :, None], axis=0)
        speeds = np.linalg.norm(velocity, axis=0)
        place = np.argmax(speeds, axis=0)
        speed[b], worst[:, b] = np.take_along_axis(speeds, place[None], axis=0)[0], corners[place].T
    return speed, worst
