"""A robot on its legs in MuJoCo, whose servos follow goals, and what its sensors say of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError
from steelyard.log import Log
from steelyard.model.joint import displaced
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.robot import Frame, Robot
from steelyard.simulate.trajectories import STEP
from steelyard.simulate.truth import SAMPLE, Truth
from steelyard.spatial import rotation_from_quaternion

SETTLE = 1.0  # s before the log begins
VISCOUS, COULOMB, STICTION = 0.1, 0.2, 0.05  # N m s/rad, N m, rad/s: friction of the drives, between motor and joint
GRAVITY = np.array([0.0, 0.0, -9.81])
UPRIGHT = 0.5  # cosine of the tilt from which a robot falls
STANDS = 5.0  # N, above which a foot is said to stand


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


@dataclass(frozen=True, eq=False)
class SimulatedMotion:
    """In Steelyard's convention: q; v; a, accelerations that forces make at once, mean, as steps go on; tau, torques
    behind friction, motor, torques of motors (n, nv - 6); wrenches (n, 6) at each foot in its axes; goals (n, nv - 6).
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    mean: np.ndarray
    tau: np.ndarray
    motor: np.ndarray
    wrenches: dict[str, np.ndarray]
    goals: np.ndarray


@captured_warnings()
def simulated(
    m, start, plan: Callable, duration: float, feet: Mapping[str, tuple[int, Frame]], truth: Truth, *, holds: bool
) -> SimulatedMotion:
    """The motion of a robot with a free base.

    m: MuJoCo's model; its actuators are those of all joints, in their order, its first geom is the ground. start: qpos.
    plan: of time, s, and MjData, the goals (nu,) of the joints; asked for at each sample. duration: s. feet: MuJoCo's
    number of the body, and the frame in it, by name. truth: the step, how late goals come, and when it slips. holds:
    whether goals hold until the next and come late, or drives interpolate between them. Raises OptionError: the robot
    falls.
    """
    import mujoco

    d, every = mujoco.MjData(m), round(SAMPLE / truth.step)
    settle, n, floor = round(SETTLE / SAMPLE), round(duration / SAMPLE), 0
    names, places = list(feet), {body: foot for foot, (body, _) in enumerate(feet.values())}
    q, (v, a, mean, tau) = np.empty((n, m.nq)), np.zeros((4, n, m.nv))
    motor, told = np.empty((n, m.nu)), np.empty((settle + n, m.nu))
    pushes, force, before, firm = [], np.zeros(6), np.zeros(m.nv), m.geom_friction[floor, 0]
    d.qpos[:] = start
    d.ctrl[:] = d.qpos[7:]

    def note(at):
        """Accelerations and forces are those of the state before a step."""
        a[at], motor[at] = d.qacc, d.qfrc_actuator[6:]
        tau[at, 6:] = motor[at] + d.qfrc_passive[6:]
        stick = d.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
        np.add.at(tau[at], d.efc_id[stick], d.efc_force[stick])
        for i in range(d.ncon):
            bodies = m.geom_bodyid[d.contact.geom[i]]
            body = max(bodies)
            _, frame = feet[names[places[body]]]
            mujoco.mj_contactForce(m, d, i, force)
            upwards = 1.0 if bodies[1] == body else -1.0
            pushed = d.contact.frame[i].reshape(3, 3).T @ force[:3] * upwards
            turned = d.xmat[body].reshape(3, 3)
            arm = d.contact.pos[i] - d.xpos[body] - turned @ frame.position
            pushes.append((places[body], at, (turned @ frame.rotation).T, arm, pushed))

    for at in range(-settle, n):
        goals = told[settle + at] = plan(at * SAMPLE, d)
        step = (goals - d.ctrl) / every  # drives interpolate between goals: no kick every sample
        if at >= 0:
            q[at], v[at] = d.qpos, d.qvel
            if d.xmat[1, 8] < UPRIGHT:
                raise OptionError(
                    f"The robot falls after {at * SAMPLE:.2g} s: firmer ground, less payload, or another gait."
                )
        if truth.slip:
            since, until, slippery = truth.slip
            m.geom_friction[floor, 0] = slippery if since <= at * SAMPLE < until else firm
        for k in range(every):
            if holds:
                late = int(np.floor((k - truth.delay / truth.step) / every + 1e-9))
                d.ctrl = told[max(settle + at + late, 0)]
            else:
                d.ctrl += step
            last = d.qvel.copy()
            if at >= 0 and k == 0 and holds:
                mujoco.mj_forward(m, d)  # forces after a step of RK4 are those within it
                note(at)
            mujoco.mj_step(m, d)
            if at >= 0 and k == 0:
                mean[at] = (d.qvel - before) / (2 * truth.step)
                if not holds:
                    note(at)
            before = last
    wrenches = np.zeros((len(feet), n, 6))
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
    return SimulatedMotion(q, v, a, mean, tau, motor, dict(zip(names, wrenches, strict=True)), told[settle:])


def recorded(
    robot: Robot, sensors: Sequence[str], exact: Log, motion: SimulatedMotion, noise: WalkNoise, rng, *, hidden: bool
) -> tuple[Log, dict[str, np.ndarray]]:
    """What sensors say of a motion.

    sensors: frames of inertial sensors on its base. exact: the motion as a log. motion: the same, as it was simulated.
    noise: of the sensors. rng: numpy's generator. hidden: whether friction acted in the simulation, and neither speeds
    nor torques are recorded. Returns the log, and (n, 3) forces by foot.
    """
    n, joints = motion.goals.shape

    def drawn(size, columns):
        return size * rng.normal(size=(n, columns))

    true_v, a, torque = exact.require("v", "a", "tau")
    q, tau = exact.q.copy(), torque.copy()
    v = true_v + 0.5 * STEP * a  # whose derivative a is: that of a step of Euler's is half a step late
    imu = {}
    for name in sensors:
        sensor = felt(robot.frame(name), exact.q, *((true_v, motion.mean) if hidden else (v, a)))
        imu[name] = sensor + np.concatenate([drawn(noise.gyro, 3), drawn(noise.acceleration, 3)], axis=1)
    q[:, :3] += _estimated(drawn(noise.position, 3))
    turn = _estimated(drawn(noise.turn, 3))
    q[:, 3:7] = displaced(robot.joints[0], q[:, :7], np.concatenate([np.zeros_like(turn), turn], axis=1))[:, 3:]
    q[:, 7:] += drawn(noise.angle, joints)
    v[:, :3] += _estimated(drawn(noise.velocity, 3))
    v[:, 3:6] += drawn(noise.gyro, 3)
    v[:, 6:] += drawn(noise.rate, joints)
    tau[:, 6:] += VISCOUS * true_v[:, 6:] + COULOMB * np.tanh(true_v[:, 6:] / STICTION) + drawn(noise.torque, joints)
    forces = {foot: wrench[:, :3] + drawn(noise.force, 3) for foot, wrench in exact.external.items()}
    size = {foot: np.linalg.norm(wrench[:, :3], axis=1) for foot, wrench in exact.external.items()}
    log = Log(
        t=exact.t,
        q=q,
        v=None if hidden else v,
        tau=None if hidden else tau,
        command=np.concatenate([np.zeros((n, 6)), motion.goals], axis=1),
        contacts={foot: (each > STANDS).astype(float) for foot, each in size.items()},
        imu=imu,
        joint_names=exact.joint_names,
        name=exact.name.split(",")[0],
    )
    return log, forces


def felt(frame: Frame, q, v, a):
    """(n, 6) angular velocity and acceleration less gravity, in the axes of a sensor's frame on a free base, rad/s and
    m/s^2."""
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
