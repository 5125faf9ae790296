"""A quadruped that walks in MuJoCo, recorded as a real one is: encoders, torques, an estimator's base, an inertial
sensor, flags of contact.

The legs follow a clock: feet swing ahead, land and push back, by inverse kinematics and stiff PD loops, and where feet
land is corrected by how fast and how tilted the trunk is. Feet are spheres on a plane with Coulomb friction.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from steelyard.errors import OptionError, choices
from steelyard.inertia import rotational_inertia, transform
from steelyard.log import Log
from steelyard.model import Robot, library, mjcf_text
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.robot import Frame
from steelyard.simulate.legs import AHEAD, ASIDE, FEET, Legs
from steelyard.spatial import rotation_from_quaternion

STEP, SAMPLE = 1e-3, 5e-3  # s of the simulation, of the log
VISCOUS, COULOMB, STICTION = 0.1, 0.2, 0.05  # N m s/rad, N m, rad/s: friction of the drives, between motor and joint
KP, KD, LIMIT = 150.0, 4.0, 45.0  # N m/rad, N m s/rad, N m, of a robot of
MASS, HEIGHT = 15.34, 0.30  # kg, and m of its hips above its feet
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


@dataclass(frozen=True, eq=False, repr=False)
class Walk(Card):
    """true, nominal: the robot that walked, and the model of it with wrong masses. log: what sensors said, with flags
    of contact and an inertial sensor in the base; its torques are those of motors. exact: the motion itself at the same
    times, with accelerations, torques behind the friction of drives and the wrenches at the feet. forces: (n, 3) by
    foot, what sensors in the feet said."""

    true: Robot
    nominal: Robot
    log: Log
    exact: Log
    forces: dict[str, np.ndarray]

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
    radius: float = 0.002,
    turn: float = 0.0,
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
        radius: m, of the feet, about their frames; a foot that is no point rolls.
        turn: rad/s, to the left.

    Returns:
        The Walk: truth, a wrong model, and what was recorded.

    Raises:
        OptionError: an unknown gait, or the robot falls.
        ModelError: a robot with other legs.
    """
    if gait not in GAITS:
        raise OptionError(f"There is no gait {gait!r}; choose from {choices(GAITS)}.")
    robot, rng = robot or library.quadruped(), np.random.default_rng(seed)
    true = robot.with_inertias(_with_payload(robot, payload))
    ground = (friction, softness, slope, radius)
    q, v, a, tau, wrenches = _simulated(_spinning_as_armature(true), GAITS[gait], duration, rng, turn, *ground)
    t = SAMPLE * np.arange(len(q), dtype=np.float64)
    external = dict(zip(FEET, wrenches, strict=True))
    if true.rotors:  # what they add as they spin is left out by MuJoCo, and small: the same motion at another moment
        a = _accelerations(true, q, v, tau, external)
    exact = Log(t=t, q=q, v=v, a=a, tau=tau, external=external, joint_names=true.dof_names, name=f"{gait}, exact")
    return Walk(true, _nominal(robot, rng), *_recorded(robot, exact, noise or WalkNoise(), rng, gait))


def _with_payload(robot, mass: float):
    """A box on the trunk."""
    inertias = robot.inertias.copy()
    at, size = np.array([0.05, 0.02, 0.11]), np.array([0.2, 0.15, 0.1])
    I = mass / 12 * np.diag(np.sum(size**2) - size**2) + mass * (at @ at * np.eye(3) - np.outer(at, at))
    inertias[0] += np.r_[mass, mass * at, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    return inertias


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
    still = np.zeros(robot.nv)
    return robot.with_inertias(inertias).with_joint_properties(armature=armature, damping=still, frictionloss=still)


@lru_cache
def _compiled(text: str, feet: tuple, size: float, friction: float, softness: float, slope: float, radius: float):
    """MuJoCo's model on its ground; feet: body and (3,) place of each; size: see `_simulated`."""
    import mujoco

    spec = mujoco.MjSpec.from_string(text)
    ground = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50, 50, 1], name="ground")
    ground.quat = [np.cos(slope / 2), 0, -np.sin(slope / 2), 0]
    ground.contype, ground.conaffinity, ground.condim = 1, 0, 3
    ground.friction, ground.solref = [friction, 0, 0], [softness, 1]
    ground.priority = 1
    for name, (body, place) in zip(FEET, feet, strict=True):
        shank = next(each for each in spec.bodies if each.name == body)
        foot = shank.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], pos=place)
        foot.name, foot.mass, foot.contype, foot.conaffinity = name, 0.0, 0, 1
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            servo = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=KP * size, kv=KD * size**1.15)
            servo.forcelimited, servo.forcerange = True, [-LIMIT * size, LIMIT * size]
    m = spec.compile()
    m.opt.timestep, m.opt.cone, m.opt.impratio = STEP, mujoco.mjtCone.mjCONE_ELLIPTIC, 20
    m.opt.integrator, m.opt.tolerance = mujoco.mjtIntegrator.mjINT_EULER, 1e-13
    m.dof_damping[:], m.dof_frictionloss[:] = 0, 0
    return m


@captured_warnings()
def _simulated(robot, gait, duration, rng, turn, *ground):
    """q, v, a, tau in Steelyard's convention, and wrenches (4, n, 6) at the feet in their axes."""
    import mujoco

    legs = Legs.of(robot)
    size = robot.inertias[:, 0].sum() * legs.height / (MASS * HEIGHT)  # torques grow with it
    frames = [robot.frame(foot) for foot in FEET]
    places = tuple((robot.body_names[frame.body], tuple(frame.position)) for frame in frames)
    m = _compiled(mjcf_text(robot), places, round(size, 3), *ground)
    d, every = mujoco.MjData(m), round(SAMPLE / STEP)
    feet = [m.geom(foot).id for foot in FEET]
    *_, slope, radius = ground
    sway = _sway(rng)
    up = np.array([-np.sin(slope), 0, np.cos(slope)])
    d.qpos[:7] = [*(up * (legs.height + radius)), np.cos(slope / 2), 0, -np.sin(slope / 2), 0]
    d.qpos[7:] = legs.angles(np.zeros(3), legs.stood(np.zeros(3))).ravel()
    settle, n = round(1.0 / SAMPLE), round(duration / SAMPLE)
    q, v, a, tau = np.empty((n, 19)), np.empty((n, 18)), np.empty((n, 18)), np.zeros((n, 18))
    pushes, held, force = [], np.zeros((4, 3)), np.zeros(6)
    d.ctrl[:] = d.qpos[7:]
    for at in range(-settle, n):
        goals, held = _goals(gait, legs, at * SAMPLE, d, sway, held, up, turn)
        step = (goals - d.ctrl) / every  # drives interpolate between goals: no kick every sample
        if at >= 0:
            q[at], v[at] = d.qpos, d.qvel
            if d.xmat[1, 8] < UPRIGHT:
                raise OptionError(
                    f"The robot falls after {at * SAMPLE:.2g} s: firmer ground, less payload, or another gait."
                )
        d.ctrl += step
        mujoco.mj_step(m, d)
        if at >= 0:  # accelerations and forces are those of the state before the step
            a[at], tau[at, 6:] = d.qacc, d.qfrc_actuator[6:]
            for i in range(d.ncon):
                foot = feet.index(max(d.contact.geom[i]))
                mujoco.mj_contactForce(m, d, i, force)
                pushed = d.contact.frame[i].reshape(3, 3).T @ force[:3]
                arm = d.contact.pos[i] - d.geom_xpos[feet[foot]]
                R = d.xmat[m.geom_bodyid[feet[foot]]].reshape(3, 3) @ frames[foot].rotation
                pushes.append((foot, at, R.T, arm, pushed))
        for _ in range(every - 1):
            d.ctrl += step
            mujoco.mj_step(m, d)
    wrenches = np.zeros((4, n, 6))
    if pushes:
        foot, at, turned, arm, pushed = map(np.array, zip(*pushes, strict=True))
        moments = np.einsum("nij,nj->ni", turned, np.cross(arm, pushed))
        own = np.concatenate([np.einsum("nij,nj->ni", turned, pushed), moments], axis=1)
        np.add.at(wrenches, (foot, at), own)
    q[:, 3:7] = np.roll(q[:, 3:7], -1, axis=1)
    R = rotation_from_quaternion(q[:, 3:7])
    v[:, :3], a[:, :3] = (np.einsum("nji,nj->ni", R, x[:, :3]) for x in (v, a))
    a[:, :3] -= np.cross(v[:, 3:6], v[:, :3])
    return q, v, a, tau, wrenches


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


def _recorded(robot, exact, noise, rng, name):
    """The log, the motion itself, and forces of the feet."""
    n = len(exact)

    def drawn(size, columns):
        return size * rng.normal(size=(n, columns))

    q, tau = exact.q.copy(), exact.tau.copy()
    v = exact.v + 0.5 * STEP * exact.a  # whose derivative a is: that of a step of Euler's is half a step late
    sensor = felt(robot.frame(SENSOR), exact.q, v, exact.a)
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
    return Log(t=exact.t, q=q, v=v, tau=tau, name=name, **known), exact, forces


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
