"""A quadruped that walks in MuJoCo, recorded as a real one is: encoders, torques, an estimator's base, an inertial
sensor, flags of contact.

The legs follow a clock: feet swing ahead, land and push back, by inverse kinematics and stiff PD loops, and where feet
land is corrected by how fast and how tilted the trunk is. Feet are spheres on a plane with Coulomb friction.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.errors import ModelError, OptionError, choices
from steelyard.inertia import rotational_inertia, transform
from steelyard.log import Log
from steelyard.model import Robot, library
from steelyard.simulate.motion import WalkNoise, recorded, simulated
from steelyard.simulate.trajectories import JointPD
from steelyard.simulate.truth import SAMPLE, SimulatedGround, Truth, compiled, on_ground, with_servos

FEET: tuple[str, ...] = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
AHEAD, ASIDE = np.array([1, 1, -1, -1]), np.array([1, -1, 1, -1])  # of the legs
CROUCH = 0.70  # of a stretched leg, at which hips are carried
KP, KD, LIMIT = 150.0, 4.0, 45.0  # N m/rad, N m s/rad, N m, of a robot of
MASS, HEIGHT = 15.34, 0.30  # kg, and m of its hips above its feet
POINT, BALL = 2e-3, 0.022  # m, radius of feet: nearly points, and as they are
SENSOR = "imu"  # frame of the inertial sensor in the trunk


@dataclass(frozen=True)
class Gait:
    """period: s of a stride. stance: share of it that a foot stands. phase: of each leg's stride. speed: m/s ahead."""

    period: float
    stance: float
    phase: tuple[float, float, float, float]
    speed: float
    lift: float = 0.07


GAITS = {
    "trot": Gait(0.6, 0.62, (0.0, 0.5, 0.5, 0.0), 0.25, 0.06),
    "walk": Gait(0.9, 0.8, (0.0, 0.5, 0.75, 0.25), 0.12),
    "bound": Gait(0.4, 0.65, (0.0, 0.0, 0.5, 0.5), 0.15, 0.05),
    "gallop": Gait(0.4, 0.45, (0.0, 0.2, 0.5, 0.7), 1.0, 0.08),
    "stance": Gait(1.0, 1.0, (0.0, 0.0, 0.0, 0.0), 0.0),
}


@dataclass(frozen=True)
class Legs:
    """Legs of a quadruped: an ab/ad joint about x, hip and knee about y, and a foot."""

    hip_x: float  # and `hip_y`: m from the trunk's origin to the ab/ad joints, ahead and aside
    hip_y: float
    side: float  # m from there to the hip
    upper: float  # and `lower`: m of thigh and shank
    lower: float
    signs: tuple[float, float, float]  # (3,) of the joints, 1 where they turn about +x, +y, +y

    @classmethod
    def of(cls, robot: Robot) -> "Legs":
        """Read from a robot that stands with straight legs at zero. Raises ModelError: no four such legs under a free
        trunk."""
        found = [_leg(robot, foot, ahead, aside) for foot, ahead, aside in zip(FEET, AHEAD, ASIDE, strict=True)]
        first = found[0]
        if not robot.floating or any(not np.allclose(each, first, atol=1e-6) for each in found):
            raise ModelError(
                f"Robot '{robot.name}' is not one that walks here: four equal legs under a free trunk, with joints "
                f"about x, y and y, straight down at zero, and feet {', '.join(FEET)}. "
                "Take sy.library.quadruped() or sy.library.cheetah3()."
            )
        return cls(*(float(x) for x in first[:5]), signs=(float(first[5]), float(first[6]), float(first[7])))

    @cached_property
    def height(self) -> float:
        """m of the hips above the feet as they walk."""
        return round(CROUCH * (self.upper + self.lower), 2)

    def stood(self, shift):
        """(4, 3) m from each ab/ad joint to its foot, in the trunk, for a trunk that is shifted by (3,)."""
        below = np.stack([0 * ASIDE, self.side * ASIDE, -self.height + 0 * ASIDE], axis=1)
        return below - shift

    def angles(self, lean, foot):
        """(4, 3) rad for feet (4, 3) under ab/ad joints, of a trunk that leans by small angles (3,)."""
        hips = np.stack([self.hip_x * AHEAD, self.hip_y * ASIDE, 0 * ASIDE], axis=1)
        where = hips + foot
        x, y, z = (where - _cross(*lean, *where.T) - hips).T
        side, upper, lower = self.side * ASIDE, self.upper, self.lower
        depth = np.sqrt(np.maximum(y**2 + z**2 - side**2, 0.02))
        hip = np.arctan2(z, y) + np.arctan2(depth, side)
        reach = np.clip(np.hypot(x, depth), 0.1, 0.999 * (upper + lower))
        knee = -np.arccos(np.clip((reach**2 - upper**2 - lower**2) / (2 * upper * lower), -1, 1))
        thigh = np.arctan2(-x, depth) - np.arctan2(lower * np.sin(knee), upper + lower * np.cos(knee))
        return np.stack([(hip + np.pi) % (2 * np.pi) - np.pi, thigh, knee], axis=1) * self.signs


def _cross(a, b, c, x, y, z) -> np.ndarray:
    """(n, 3) product of (a, b, c) with vectors of (n,) components: `np.cross` takes far longer for a few."""
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=1)


def _leg(robot: Robot, foot: str, ahead: int, aside: int) -> np.ndarray:
    """(8,) what `Legs` holds of one leg, mirrored to the front left."""
    frame = robot.frame(foot)
    chain, joint = [], int(robot.body_joints[frame.body])
    while joint > 0 and len(chain) < 4:
        chain.insert(0, robot.joints[joint])
        joint = int(robot.parents[joint])
    if len(chain) != 3 or any(each.nv != 1 for each in chain):
        return np.full(8, np.nan)
    R, mirror = np.eye(3), np.array([ahead, aside, 1])
    steps, signs = [], []
    for each, axis in zip(chain, (0, 1, 1), strict=True):
        steps.append(R @ each.position)
        R = R @ each.rotation
        signs.append(round((R @ each.subspace[3:, 0])[axis], 6))
    hip, thigh, shank = steps
    sole = R @ frame.position
    found = np.array([*(hip * mirror)[:2], thigh[1] * aside, -shank[2], -sole[2], *signs])
    straight = np.r_[hip[2], thigh[[0, 2]], shank[:2], sole[:2], np.abs(signs) - 1]
    return found if np.allclose(straight, 0, atol=1e-6) else np.full(8, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Walk(Card):
    """true, nominal: the robot that walked, and the model of it with wrong masses, or without what a `Truth` adds. log:
    what sensors said, with flags of contact, an inertial sensor in the base, and the goals of joints as sent; its
    torques are those of motors. exact: the motion itself at the same times, with accelerations, torques behind the
    friction of drives and the wrenches at the feet. forces: (n, 3) by foot, what sensors in the feet said. mjcf: the
    nominal model as a user has it, with servos, feet and a floor."""

    true: Robot
    nominal: Robot
    log: Log
    exact: Log
    forces: dict[str, np.ndarray]
    mjcf: str

    def file(self, path: str | PathLike) -> Path:
        """Write the nominal model as MJCF; returns where."""
        Path(path).write_text(self.mjcf, encoding="utf-8")
        return Path(path)

    def _title(self) -> str:
        return f"Walk('{self.log.name}', {len(self.log)} samples, {self.log.duration:.3g} s)"

    def _rows(self):
        return {"true": self.true, "nominal": self.nominal, "log": self.log, "exact": self.exact}


def walk(
    gait: str = "trot",
    *,
    robot: Robot | None = None,
    duration: float = 60.0,
    seed: int = 0,
    noise: WalkNoise | None = None,
    payload: float = 0.0,
    friction: float = 0.8,
    softness: float = 0.02,
    slope: float = 0.0,
    radius: float | None = None,
    turn: float = 0.0,
    pace: float = 1.0,
    controller: JointPD | None = None,
    truth: Truth | None = None,
) -> Walk:
    """A quadruped walks, and its log is recorded at 200 Hz.

    Args:
        gait: "trot", "walk", "bound", "gallop" or "stance".
        robot: four equal legs with three joints each, as of `library.cheetah3()`; None: `library.quadruped()`. What its
            rotors add is in the exact torques and accelerations, and in the log's.
        duration: s.
        seed: of noise, of the sway of the trunk, and of the masses that the nominal model has wrong.
        noise: of the sensors; None: `WalkNoise()`.
        payload: kg, a box on the trunk.
        friction: coefficient of the ground.
        softness: s, time constant of the ground.
        slope: rad, uphill.
        radius: m, of the feet, about their frames; a foot that is no point rolls. None: 2 mm, with a truth 22 mm.
        turn: rad/s, to the left.
        pace: factor of the gait's frequency and speed.
        controller: stiffness and damping of the servos, numbers; None: by the size of the robot.
        truth: how the robot differs from `robot`, which is then the nominal model, with the friction of its joints. The
            log has positions, commands, each until the next, flags and the inertial sensor, but neither velocities nor
            torques. None: servos without delay, which interpolate between goals, and wrong masses in the nominal model.

    Returns:
        The Walk: truth, a wrong model, and what was recorded.

    Raises:
        OptionError: an unknown gait, a load stated twice, or the robot falls.
        ModelError: a robot with other legs.
    """
    if gait not in GAITS:
        raise OptionError(f"There is no gait {gait!r}; choose from {choices(GAITS)}.")
    if truth is not None and payload:
        raise OptionError("payload and truth both say what is on the trunk; state load in truth.")
    robot, rng = robot or library.quadruped(), np.random.default_rng(seed)
    legs, stated = Legs.of(robot), truth or Truth(load=payload)
    mass = _spinning_as_armature(robot).inertias[:, 0].sum() + payload
    size = round(mass * legs.height / (MASS * HEIGHT), 3)  # torques grow with it
    own = controller or JointPD(KP * size, KD * size**1.15)
    given = with_servos(robot, float(np.asarray(own.stiffness)), float(np.asarray(own.damping)), LIMIT * size)
    true = stated.robot(given)
    floor, radius = SimulatedGround(friction, softness, slope), radius or (BALL if truth else POINT)
    moved, still = _spinning_as_armature(true), np.zeros(true.nv)
    if truth is None:
        moved = moved.with_joint_properties(damping=still, frictionloss=still)
    plan = replace(GAITS[gait], period=GAITS[gait].period / pace, speed=GAITS[gait].speed * pace)
    m, up = compiled(moved, FEET, (SENSOR,), floor, radius, stated), np.array([-np.sin(slope), 0, np.cos(slope)])
    stand = legs.angles(np.zeros(3), legs.stood(np.zeros(3))).ravel()
    start = [*(up * (legs.height + radius)), np.cos(slope / 2), 0, -np.sin(slope / 2), 0, *stand]
    feet = {foot: (m.body(robot.body_names[robot.frame(foot).body]).id, robot.frame(foot)) for foot in FEET}
    goals = _Goals(plan, legs, up, turn, _sway(rng))
    motion = simulated(m, start, goals, duration, feet, stated, holds=truth is not None)
    q, v, a, tau, external = motion.q, motion.v, motion.a, motion.tau, motion.wrenches
    t = SAMPLE * np.arange(len(q), dtype=np.float64)
    if true.rotors:  # what they add as they spin is left out by MuJoCo, and small: the same motion at another moment
        a = _accelerations(true, q, v, tau, external)
    exact = Log(t=t, q=q, v=v, a=a, tau=tau, external=external, joint_names=true.dof_names, name=f"{gait}, exact")
    nominal = given
    if truth is None:  # masses are wrong: each link 10 to 40 % off, the trunk a fifth too heavy
        nominal = given.with_inertias(given.inertias * np.r_[1.2, rng.uniform(0.6, 1.4, size=robot.nb - 1)][:, None])
    log, forces = recorded(robot, (SENSOR,), exact, motion, noise or WalkNoise(), rng, hidden=truth is not None)
    return Walk(true, nominal, log, exact, forces, on_ground(nominal, FEET, (SENSOR,), floor, radius).to_xml())


def _spinning_as_armature(robot):
    """The robot for MuJoCo: rotors ride on their carriers, and their spin adds to the inertia of their joints."""
    inertias, armature = robot.inertias.copy(), robot.armature.copy()
    for rotor in robot.rotors:
        if rotor.carrier is not None:
            inertias[robot.body_index(rotor.carrier)] += transform(rotor.theta, rotor.rotation, rotor.position)
        spin = rotor.own_axis @ rotational_inertia(rotor.theta) @ rotor.own_axis
        for joint, ratio in rotor.gears:
            armature[robot.dof_names.index(joint)] += ratio**2 * spin
    return robot.with_inertias(inertias).with_joint_properties(armature=armature)


def _accelerations(robot, q, v, tau, external):
    """(n, nv) of the robot with its rotors as spinning bodies."""
    still = np.zeros_like(v)
    M = inverse_dynamics_derivatives(robot, q, v, still, rotors=True).dtau_da
    rest = inverse_dynamics(robot, q, v, still, external=external, rotors=True)
    return np.linalg.solve(M, (tau - rest)[..., None])[..., 0]


def _sway(rng):
    """Six slow motions of the trunk over the feet, as (frequency, size, phase) of two waves each."""
    size = np.array([0.025, 0.025, 0.02, 0.10, 0.10, 0.12])
    return rng.uniform(0.2, 0.9, size=(2, 6)), size * np.array([[0.6], [0.4]]), rng.uniform(0, 6, size=(2, 6))


class _Goals:
    """Angles (12,) of the legs at a time, for what the trunk does."""

    def __init__(self, gait: Gait, legs: Legs, up: np.ndarray, turn: float, sway):
        self.gait, self.legs, self.up, self.turn, self.sway = gait, legs, up, turn, sway
        self.held = np.zeros((4, 3))  # how far each foot is put aside to catch the trunk

    def __call__(self, time: float, d) -> np.ndarray:
        gait, legs, turn = self.gait, self.legs, self.turn
        w, size, phase = self.sway
        ramp = float(np.clip((time + 0.9) / 0.9, 0, 1))
        share = ramp * (1.0 if gait.stance == 1 else 0.4)
        shift = share * np.sum(size * np.sin(2 * np.pi * w * max(time, 0) + phase), axis=0)
        R = d.xmat[1].reshape(3, 3)
        tilt = R.T @ self.up  # the ground's normal as the trunk sees it
        pitch, roll = np.arctan2(-tilt[0], tilt[2]), np.arctan2(tilt[1], tilt[2])
        speed = R.T @ d.qvel[:3]
        heading = np.arctan2(R[1, 0], R[0, 0])
        foot = legs.stood(shift[:3])
        if gait.stance < 1 and time > 0:
            s = (time / gait.period + np.array(gait.phase)) % 1.0
            off = (turn * time - heading + np.pi) % (2 * np.pi) - np.pi
            turning = np.clip(turn + 1.5 * off, -0.5, 0.5)  # rad/s
            path = np.stack([gait.speed - turning * legs.hip_y * ASIDE, turning * legs.hip_x * AHEAD], axis=1)
            stride = path * gait.period * gait.stance
            swing = s >= gait.stance
            along = np.where(swing, (s - gait.stance) / (1 - gait.stance), s / gait.stance)
            ease = along - np.sin(2 * np.pi * along) / (2 * np.pi)
            foot[:, :2] += np.where(swing, ease - 0.5, 0.5 - along)[:, None] * stride
            foot[:, 2] += np.where(swing, gait.lift * np.sin(np.pi * along) ** 2, 0)
            caught = np.array([0.12 * (speed[0] - gait.speed), 0.14 * speed[1], 0])  # where a fall ends
            self.held = np.where(swing[:, None], self.held + 0.05 * (caught - self.held), self.held)
            foot += np.clip(self.held, -0.08, 0.08)
        lean = np.array([0.6 * roll + shift[3], 0.6 * pitch + shift[4], shift[5]])
        return legs.angles(lean, foot).ravel()
