"""A quadruped that walks in MuJoCo, recorded as a real one is: encoders, torques, an estimator's base, an inertial
sensor, flags of contact.

The legs follow a clock: feet swing ahead, land and push back, by inverse kinematics and stiff PD loops, and where feet
land is corrected by how fast and how tilted the trunk is. Feet are spheres on a plane with Coulomb friction.
"""

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.errors import OptionError, choices
from steelyard.inertia import rotational_inertia, transform
from steelyard.log import Log
from steelyard.model import Robot, library
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.robot import Frame
from steelyard.simulate.legs import AHEAD, ASIDE, FEET, Legs
from steelyard.simulate.trajectories import JointPD
from steelyard.simulate.truth import INTEGRATORS, SAMPLE, Ground, Truth, on_ground, with_servos
from steelyard.spatial import rotation_from_quaternion

STEP = 1e-3  # s of the simulation, where no other is stated
VISCOUS, COULOMB, STICTION = 0.1, 0.2, 0.05  # N m s/rad, N m, rad/s: friction of the drives, between motor and joint
KP, KD, LIMIT = 150.0, 4.0, 45.0  # N m/rad, N m s/rad, N m, of a robot of
MASS, HEIGHT = 15.34, 0.30  # kg, and m of its hips above its feet
POINT, BALL = 2e-3, 0.022  # m, radius of feet: nearly points, and as they are
GRAVITY = np.array([0.0, 0.0, -9.81])
UPRIGHT = 0.5  # cosine of the tilt from which a robot falls
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
class WalkNoise:
    """Standard deviations of the sensors, SI; 0: exact."""

    angle: float = 2e-4
    rate: float = 0.01
    torque: float = 0.1
    position: float = 1e-3
    turn: float = 5e-4
    velocity: float = 0.01
    gyro: float = 3e-3
    acceleration: float = 0.05
    force: float = 1.0


EXACT = WalkNoise(**dict.fromkeys(WalkNoise.__dataclass_fields__, 0.0))


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
    given = with_servos(robot, float(own.stiffness), float(own.damping), LIMIT * size)
    true = stated.robot(given)
    floor, radius = Ground(friction, softness, slope), radius or (BALL if truth else POINT)
    moved, still = _spinning_as_armature(true), np.zeros(true.nv)
    if truth is None:
        moved = moved.with_joint_properties(damping=still, frictionloss=still)
    plan = replace(GAITS[gait], period=GAITS[gait].period / pace, speed=GAITS[gait].speed * pace)
    motion = _simulated(moved, legs, plan, duration, rng, turn, floor, radius, stated, truth is not None)
    q, v, a, tau, wrenches = motion.q, motion.v, motion.a, motion.tau, motion.wrenches
    t = SAMPLE * np.arange(len(q), dtype=np.float64)
    external = dict(zip(FEET, wrenches, strict=True))
    if true.rotors:  # what they add as they spin is left out by MuJoCo, and small: the same motion at another moment
        a = _accelerations(true, q, v, tau, external)
    exact = Log(t=t, q=q, v=v, a=a, tau=tau, external=external, joint_names=true.dof_names, name=f"{gait}, exact")
    nominal = given if truth else _nominal(given, rng)
    log, forces = _recorded(robot, exact, motion, noise or WalkNoise(), rng, truth is not None)
    return Walk(true, nominal, log, exact, forces, on_ground(nominal, FEET, (SENSOR,), floor, radius).to_xml())


def _nominal(robot, rng):
    """Wrong masses: each link 10 to 40 % off, the trunk a fifth too heavy."""
    factors = np.r_[1.2, rng.uniform(0.6, 1.4, size=robot.nb - 1)]
    return robot.with_inertias(robot.inertias * factors[:, None])


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


@dataclass(frozen=True, eq=False)
class _Motion:
    """In Steelyard's convention: q; v; a, accelerations that forces make at once, mean, as steps go on; tau, torques
    behind friction, motor, torques of motors (n, 12); wrenches (4, n, 6) at the feet in their axes; goals (n, 12)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    mean: np.ndarray
    tau: np.ndarray
    motor: np.ndarray
    wrenches: np.ndarray
    goals: np.ndarray


def _compiled(robot: Robot, ground: Ground, radius: float, truth: Truth):
    """MuJoCo's model of a robot as it is."""
    import mujoco

    friction, softness = (getattr(truth, key) or getattr(ground, key) for key in ("friction", "softness"))
    own = replace(ground, friction=friction, softness=softness, ledge=truth.ledge)
    m = on_ground(robot, FEET, (SENSOR,), own, radius).compile()
    m.opt.timestep, m.opt.integrator, m.opt.tolerance = truth.step, INTEGRATORS[truth.integrator], 1e-13
    m.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if truth.cone == "elliptic" else mujoco.mjtCone.mjCONE_PYRAMIDAL
    return m


@captured_warnings()
def _simulated(robot, legs, gait, duration, rng, turn, ground, radius, truth, holds) -> _Motion:
    """The motion. holds: whether goals hold until the next and come late, or drives interpolate between them."""
    import mujoco

    frames = [robot.frame(foot) for foot in FEET]
    m = _compiled(robot, ground, radius, truth)
    d, every = mujoco.MjData(m), round(SAMPLE / truth.step)
    feet, floor, slope = [m.geom(foot).id for foot in FEET], m.geom("ground").id, ground.slope
    firm, sway = m.geom_friction[floor, 0], _sway(rng)
    up = np.array([-np.sin(slope), 0, np.cos(slope)])
    d.qpos[:7] = [*(up * (legs.height + radius)), np.cos(slope / 2), 0, -np.sin(slope / 2), 0]
    d.qpos[7:] = legs.angles(np.zeros(3), legs.stood(np.zeros(3))).ravel()
    settle, n = round(1.0 / SAMPLE), round(duration / SAMPLE)
    q, v, a, mean = np.empty((n, 19)), np.empty((n, 18)), np.empty((n, 18)), np.empty((n, 18))
    tau, motor, told = np.zeros((n, 18)), np.empty((n, 12)), np.empty((settle + n, 12))
    pushes, held, force, before = [], np.zeros((4, 3)), np.zeros(6), np.zeros(18)
    d.ctrl[:] = d.qpos[7:]

    def note(at):
        """Accelerations and forces are those of the state before a step."""
        a[at], motor[at] = d.qacc, d.qfrc_actuator[6:]
        tau[at, 6:] = motor[at] + d.qfrc_passive[6:]
        stick = d.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
        np.add.at(tau[at], d.efc_id[stick], d.efc_force[stick])
        for i in range(d.ncon):
            foot = feet.index(max(d.contact.geom[i]))
            mujoco.mj_contactForce(m, d, i, force)
            upwards = 1.0 if d.contact.geom[i, 1] == feet[foot] else -1.0
            pushed = d.contact.frame[i].reshape(3, 3).T @ force[:3] * upwards
            arm = d.contact.pos[i] - d.geom_xpos[feet[foot]]
            R = d.xmat[m.geom_bodyid[feet[foot]]].reshape(3, 3) @ frames[foot].rotation
            pushes.append((foot, at, R.T, arm, pushed))

    for at in range(-settle, n):
        goals, held = _goals(gait, legs, at * SAMPLE, d, sway, held, up, turn)
        told[settle + at] = goals
        step = (goals - d.ctrl) / every  # drives interpolate between goals: no kick every sample
        if at >= 0:
            q[at], v[at] = d.qpos, d.qvel
            if d.xmat[1, 8] < UPRIGHT:
                raise OptionError(
                    f"The robot falls after {at * SAMPLE:.2g} s: firmer ground, less payload, or another gait."
                )
        if truth.slip:
            start, end, slippery = truth.slip
            m.geom_friction[floor, 0] = slippery if start <= at * SAMPLE < end else firm
        for k in range(every):
            if holds:
                late = int(np.floor((k - truth.delay / truth.step) / every + 1e-9))
                d.ctrl = told[max(settle + at + late, 0)]
            else:
                d.ctrl += step
            last = d.qvel.copy()
            if at >= 0 and k == 0 and holds:
                mujoco.mj_forward(m, d)
                note(at)
            mujoco.mj_step(m, d)
            if at >= 0 and k == 0:
                mean[at] = (d.qvel - before) / (2 * truth.step)
                if not holds:
                    note(at)
            before = last
    wrenches = np.zeros((4, n, 6))
    if pushes:
        foot, at, turned, arm, pushed = map(np.array, zip(*pushes, strict=True))
        moments = np.einsum("nij,nj->ni", turned, np.cross(arm, pushed))
        own = np.concatenate([np.einsum("nij,nj->ni", turned, pushed), moments], axis=1)
        np.add.at(wrenches, (foot, at), own)
    q[:, 3:7] = np.roll(q[:, 3:7], -1, axis=1)
    R = rotation_from_quaternion(q[:, 3:7])
    for x in (v, a, mean):
        x[:, :3] = np.einsum("nji,nj->ni", R, x[:, :3])
    for x in (a, mean):
        x[:, :3] -= np.cross(v[:, 3:6], v[:, :3])
    return _Motion(q, v, a, mean, tau, motor, wrenches, told[settle:])


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


def _goals(gait, legs, time, d, sway, held, up, turn):
    """Angles (12,) of the legs; how far (4, 3) each foot is put aside to catch the trunk."""
    w, size, phase = sway
    ramp = float(np.clip((time + 0.9) / 0.9, 0, 1))
    share = ramp * (1.0 if gait.stance == 1 else 0.4)
    shift = share * np.sum(size * np.sin(2 * np.pi * w * max(time, 0) + phase), axis=0)
    R = d.xmat[1].reshape(3, 3)
    tilt = R.T @ up  # the ground's normal as the trunk sees it
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
        held = np.where(swing[:, None], held + 0.05 * (caught - held), held)
        foot += np.clip(held, -0.08, 0.08)
    lean = np.array([0.6 * roll + shift[3], 0.6 * pitch + shift[4], shift[5]])
    return legs.angles(lean, foot).ravel(), held


def _recorded(robot, exact, motion: _Motion, noise, rng, hidden: bool):
    """The log, and forces of the feet. hidden: whether friction acted in the simulation, and speeds and torques are not
    recorded."""
    n = len(exact)

    def drawn(size, columns):
        return size * rng.normal(size=(n, columns))

    q, tau = exact.q.copy(), exact.tau.copy()
    v = exact.v + 0.5 * STEP * exact.a  # whose derivative a is: that of a step of Euler's is half a step late
    sensor = felt(robot.frame(SENSOR), exact.q, *((exact.v, motion.mean) if hidden else (v, exact.a)))
    sensor += np.concatenate([drawn(noise.gyro, 3), drawn(noise.acceleration, 3)], axis=1)
    q[:, :3] += _estimated(drawn(noise.position, 3))
    q[:, 3:7] = _turned(q[:, 3:7], _estimated(drawn(noise.turn, 3)))
    q[:, 7:] += drawn(noise.angle, 12)
    v[:, :3] += _estimated(drawn(noise.velocity, 3))
    v[:, 3:6] += drawn(noise.gyro, 3)
    v[:, 6:] += drawn(noise.rate, 12)
    tau[:, 6:] += VISCOUS * exact.v[:, 6:] + COULOMB * np.tanh(exact.v[:, 6:] / STICTION) + drawn(noise.torque, 12)
    forces = {foot: wrench[:, :3] + drawn(noise.force, 3) for foot, wrench in exact.external.items()}
    flags = {foot: (np.linalg.norm(wrench[:, :3], axis=1) > 5).astype(float) for foot, wrench in exact.external.items()}
    known = {"contacts": flags, "imu": {SENSOR: sensor}, "joint_names": exact.joint_names}
    known |= {"command": np.concatenate([np.zeros((n, 6)), motion.goals], axis=1), "name": exact.name.split(",")[0]}
    return Log(t=exact.t, q=q, **({} if hidden else {"v": v, "tau": tau}), **known), forces


def felt(frame: Frame, q, v, a):
    """What an inertial sensor measures.

    Args:
        frame: of the sensor, on the base.
        q: (n, nq) of a robot with a free base.
        v: (n, nv).
        a: (n, nv).

    Returns:
        (n, 6) angular velocity and acceleration less gravity in the axes of the frame, rad/s and m/s^2.
    """
    w, dw, r = v[:, 3:6], a[:, 3:6], frame.position
    p = a[:, :3] + np.cross(w, v[:, :3]) - rotation_from_quaternion(q[:, 3:7]).mT @ GRAVITY
    p = p + np.cross(dw, r) + np.cross(w, np.cross(w, r))
    return np.concatenate([w @ frame.rotation, p @ frame.rotation], axis=1)


def _estimated(noise):
    """Errors of an estimator: slow, of the size of the noise that it was made from."""
    slow = np.zeros_like(noise)
    for k in range(1, len(noise)):
        slow[k] = 0.97 * slow[k - 1] + np.sqrt(1 - 0.97**2) * noise[k]
    return slow


def _turned(quaternion, turn):
    """x y z w turned by small rotation vectors in the body."""
    x, w = quaternion[:, :3], quaternion[:, 3:]
    found = np.concatenate(
        [x + 0.5 * (w * turn + np.cross(x, turn)), w - 0.5 * np.sum(x * turn, axis=1, keepdims=True)], axis=1
    )
    return found / np.linalg.norm(found, axis=1, keepdims=True)
