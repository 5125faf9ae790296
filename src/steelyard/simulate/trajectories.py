"""Logs with known truth: a robot driven in MuJoCo along a motion, seen through imperfect sensors.

The engine is independent of our own dynamics, so a log recorded here tests the identification and not itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import require_type
from steelyard.cards import Card
from steelyard.errors import ModelError, OptionError, choices
from steelyard.fit import Estimate
from steelyard.fit.prediction_error import RANGE_SHARE, SPEED_SHARE, STROKE, TURN
from steelyard.log import Log
from steelyard.model import Robot, from_mujoco
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.mujoco_state import force_from_mujoco, to_mujoco
from steelyard.terms import COULOMB_WIDTH, TERMS

STEP = 1e-3  # s, control and integration step
BANDWIDTH = 40.0  # rad/s of the tracking controller
RUNAWAY = 1e10  # rad/s^2 or m/s^2, beyond which MuJoCo too gives a simulation up


@dataclass(frozen=True)
class Sensors:
    """What the recorded signals suffer from.

    encoder_resolution: step of the positions, rad or m. torque_noise: standard deviation over each joint's own RMS
    torque. delay: s by which torques arrive late. rate: Hz of the log.
    """

    encoder_resolution: float = 2e-5
    torque_noise: float = 0.01
    delay: float = 0.0
    rate: float = 500.0

    def __post_init__(self):
        for name in ("encoder_resolution", "torque_noise", "rate"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise OptionError(f"{name}={value}: a sensor's number is zero or positive.")


PERFECT = Sensors(encoder_resolution=0.0, torque_noise=0.0, rate=1.0 / STEP)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Card):
    """A smooth joint motion. evaluate(t (n,)) returns q, v, a, each (n, nv). duration: s."""

    evaluate: Callable
    duration: float


@dataclass(frozen=True, eq=False, repr=False)
class Recording(Card):
    """A recorded log and the truth beside it."""

    log: Log  # as the sensors saw it (v and a only from perfect sensors)
    truth: Log  # exact q, v, a and torque at the same times
    robot: Robot  # the model that moved


def rich_motion(robot: Robot, *, duration: float = 20.0, seed: int = 0, harmonics: int = 6) -> Trajectory:
    """A random periodic motion that stays inside position and velocity limits and moves every joint.

    Sums of sines with whole periods, amplitudes falling with frequency, `harmonics` of them a joint; the period is half
    the duration, at most 10 s. seed: of amplitudes and phases.
    Raises OptionError for robots with spherical, planar or free joints (pass a trajectory of your own).
    """
    composite = [j.name for j in robot.free_joints if j.nq != 1]
    if composite:
        raise OptionError(
            f"rich_motion moves one-degree joints only; pass a trajectory for a robot with {composite[0]}."
        )
    if not duration > 0:
        raise OptionError(f"duration is a positive number of seconds; got {duration}.")
    rng = np.random.default_rng(seed)
    base = 2 * np.pi / min(duration / 2, 10.0)
    order = np.arange(1, harmonics + 1)
    amplitude = rng.normal(size=(robot.nv, harmonics)) / np.sqrt(order)
    phase = rng.uniform(0, 2 * np.pi, size=(robot.nv, harmonics))
    middle, reach = _room(robot)
    dense = np.linspace(0, 2 * np.pi / base, 400)
    q, v, _ = _sines(dense, base * order, amplitude, phase)
    centre = (q.max(axis=0) + q.min(axis=0)) / 2
    factor = reach / np.abs(q - centre).max(axis=0)
    factor = np.minimum(factor, SPEED_SHARE * robot.velocity_limits / np.abs(v).max(axis=0))
    amplitude, offset = amplitude * factor[:, None], middle - centre * factor

    def evaluate(t):
        q, v, a = _sines(np.asarray(t, dtype=float), base * order, amplitude, phase)
        return q + offset, v, a

    return Trajectory(evaluate, duration)


@dataclass(frozen=True, eq=False)
class JointPD:
    """Independent joint controllers, `stiffness (q_ref - q) + damping (v_ref - v)`, each (nv,) or one number.

    Units: N m/rad and N m s/rad (N/m and N s/m for prismatic joints).
    """

    stiffness: ArrayLike
    damping: ArrayLike


def record(
    robot: Robot,
    trajectory: Trajectory | None = None,
    *,
    duration=20.0,
    seed=0,
    sensors: Sensors | None = None,
    controller: JointPD | None = None,
) -> Recording:
    """Drive a robot in MuJoCo along a motion and record what its sensors would.

    trajectory: `rich_motion(robot, duration=..., seed=...)` by default. sensors: `Sensors()` by default, `PERFECT`
    for exact signals with v and a. controller: computed torque by default, which follows the motion exactly. Friction
    of the model (damping, frictionloss) acts, smoothed around standstill like the columns of `accumulate`; armature
    too. Raises ModelError when the motion cannot be tracked.
    """
    require_type(Robot, robot=robot)
    sensors = Sensors() if sensors is None else sensors
    trajectory = trajectory or rich_motion(robot, duration=duration, seed=seed)
    every = round(1.0 / (sensors.rate * STEP))
    if every < 1 or abs(every * sensors.rate * STEP - 1) > 1e-6:
        raise OptionError(
            f"rate={sensors.rate} Hz: the simulation records at {1 / STEP:.0f} Hz divided by a whole number."
        )
    t = np.arange(round(trajectory.duration / STEP)) * STEP
    truth = _drive(robot, t, *trajectory.evaluate(t), controller=controller)
    truth = Log(**truth, joint_names=_column_names(robot), name=f"{robot.name} simulated, truth")
    log = _sensed(truth, sensors, np.random.default_rng([seed, 1]))
    return Recording(log=log[::every], truth=truth[::every], robot=robot)


def follow(model: Robot | Estimate, reference: Log, *, controller: JointPD | None = None) -> Log:
    """The noise-free motion (q, v, a, tau at the reference's time stamps) of a model that follows a reference.

    model: a Robot, or a physically consistent Estimate, whose torque offsets act too (couplings and columns of the
    user do not). reference: positions that the controller was told or, where these were not logged, smoothly filtered
    ones; one-degree joints only. controller: the robot's, computed torque by default. For `fit.instrumental` and
    `fit.output_torque`: filter the result like the measured log. Raises ModelError when the motion cannot be followed.
    """
    from scipy.interpolate import make_interp_spline

    robot = model.require_robot() if isinstance(model, Estimate) else model
    if reference.nq != robot.nv or len(reference) < 6:
        raise OptionError(
            f"follow needs 6 samples or more and {robot.nv} positions, one a degree of freedom; log "
            f"'{reference.name}' has {len(reference)} and {reference.nq}."
        )
    curve = make_interp_spline(reference.t, reference.q, k=5)
    t = np.arange(reference.t[0], reference.t[-1] + STEP, STEP)
    at = np.minimum(t, reference.t[-1])
    unstated = {}
    if isinstance(model, Estimate):
        for term in model.layout.terms:
            if TERMS[term].stated is None:
                unstated[term] = np.zeros(robot.nv)
                unstated[term][list(model.layout.dofs)] = model.friction[term]
    motion = _drive(robot, t, curve(at), curve(at, 1), curve(at, 2), controller=controller, unstated=unstated)
    at_reference = {key: make_interp_spline(t, motion[key], k=3)(reference.t) for key in ("q", "v", "a", "tau")}
    return Log(t=reference.t, **at_reference, joint_names=_column_names(robot), name=f"{robot.name} simulated")


def _column_names(robot: Robot) -> tuple[str, ...]:
    return robot.joint_names if len(robot.joint_names) == robot.nv else robot.dof_names


def _room(robot: Robot):
    """Middle and half-width (nv,) of the range that a motion may use."""
    lower, upper = robot.lower, robot.upper
    limited = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
    middle = np.where(limited, (np.where(limited, lower, 0) + np.where(limited, upper, 0)) / 2, 0.0)
    widest = np.array([TURN if j.turns else STROKE for j in robot.free_joints])
    half = np.where(limited, RANGE_SHARE * (np.where(limited, upper, 0) - np.where(limited, lower, 0)) / 2, widest)
    return middle, np.minimum(half, widest)


def _sines(t, frequency, amplitude, phase):
    """Sum of sines of frequencies (h,) rad/s, amplitudes and phases (nv, h), and its derivatives, each (n, nv)."""
    angle = t[:, None, None] * frequency + phase
    sine, cosine = np.sin(angle), np.cos(angle)
    return (
        np.einsum("njh,jh->nj", sine, amplitude),
        np.einsum("njh,jh->nj", cosine, amplitude * frequency),
        -np.einsum("njh,jh->nj", sine, amplitude * frequency**2),
    )


def _drive(
    robot: Robot,
    t,
    q_ref,
    v_ref,
    a_ref,
    *,
    controller: JointPD | None = None,
    unstated: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> dict:
    """Track a reference in MuJoCo: t, q, v, a, tau of every step, torque and states of a row of one instant
    (leapfrog; `mj_step` would have velocities half a step late). unstated: (nv,) by friction term that the model
    does not state."""
    import mujoco

    m = _compiled(robot)
    if robot.mimic_names and (controller is not None or any(map(np.any, unstated.values()))):
        raise ModelError(
            f"Robot '{robot.name}' has mimic joints ({choices(robot.mimic_names)}), which are driven along with their "
            "masters by computed torque alone; leave controller and torque offsets out."
        )
    for name in robot.mimic_names:  # friction and armature are those of the master's coordinate
        at = m.joint(name).dofadr[0]
        m.dof_damping[at] = m.dof_frictionloss[at] = m.dof_armature[at] = 0
    d = mujoco.MjData(m)
    reference = to_mujoco(m, robot, q_ref, v_ref, a_ref)
    qpos, qvel, qacc, bias, applied = d.qpos, d.qvel, d.qacc_smooth, d.qfrc_bias, d.qfrc_applied
    qpos[:], between = reference[0][0], reference[1][0] - STEP / 2 * reference[2][0]
    states = [np.empty((len(t), size)) for size in (m.nq, m.nv, m.nv, m.nv)]
    error, pull, inertia = np.empty(m.nv), np.empty(m.nv), np.empty((m.nv, m.nv))
    # friction is applied by hand: MuJoCo's own friction loss is a constraint without a closed form
    friction = _Friction({"viscous": m.dof_damping.copy(), "coulomb": m.dof_frictionloss.copy(), **unstated})
    m.dof_damping[:] = m.dof_frictionloss[:] = 0
    stiffness, gain = (0.0, 0.0) if controller is None else map(np.asarray, (controller.stiffness, controller.damping))
    with captured_warnings(), np.errstate(over="ignore", invalid="ignore"):  # motions that diverge are refused below
        for k in range(len(t)):
            mujoco.mj_fwdPosition(m, d)
            mujoco.mj_differentiatePos(m, error, 1.0, qpos, reference[0][k])
            rate = reference[1][k] - between
            wanted = (reference[2][k] + 2 * BANDWIDTH * rate + BANDWIDTH**2 * error) / (1 + BANDWIDTH * STEP)
            qvel[:] = between + STEP / 2 * wanted if controller is None else between
            mujoco.mj_fwdVelocity(m, d)
            if controller is None:  # it knows friction, too, which cancels until its torques are written down
                mujoco.mj_mulM(m, d, pull, wanted)
                np.add(pull, bias, out=applied)
            else:
                pull = stiffness * error + gain * rate - bias - friction.torque(between)
                mujoco.mj_fullM(m, d, inertia)
                inertia.flat[:: m.nv + 1] += STEP / 2 * (gain + friction.slope(between))
                qvel[:] += STEP / 2 * np.linalg.solve(inertia, pull)
                mujoco.mj_fwdVelocity(m, d)
                applied[:] = stiffness * error + gain * (reference[1][k] - qvel) - friction.torque(qvel)
            mujoco.mj_fwdAcceleration(m, d)
            states[0][k], states[1][k], states[2][k], states[3][k] = qpos, qvel, qacc, applied
            between = between + STEP * qacc
            mujoco.mj_integratePos(m, qpos, between, STEP)
    qpos, qvel, qacc, force = states
    force += friction.torque(qvel)
    if not (np.abs(qacc) < RUNAWAY).all():
        raise ModelError(f"The simulation of robot '{robot.name}' diverged; check its masses and the motion's speed.")
    q, v, a = from_mujoco(m, robot, qpos, qvel, qacc)
    return {"t": t, "q": q, "v": v, "a": a, "tau": force_from_mujoco(m, robot, qpos, force)}


@dataclass(frozen=True, eq=False)
class _Friction:
    """Friction of each degree in MuJoCo's order: parameters (nv,) by term."""

    parameters: Mapping[str, np.ndarray]

    def torque(self, v) -> np.ndarray:
        direction = np.tanh(v / COULOMB_WIDTH)
        return np.asarray(sum(value * TERMS[term].column(v, v, direction) for term, value in self.parameters.items()))

    def slope(self, v) -> np.ndarray:
        """Its derivative with the velocity."""
        direction = np.tanh(v / COULOMB_WIDTH)
        slope = (1 - direction**2) / COULOMB_WIDTH
        rates = [value * TERMS[term].rates(v, v, direction, slope)[0] for term, value in self.parameters.items()]
        return np.sum(np.broadcast_arrays(*rates), axis=0)


def _compiled(robot: Robot):
    """MuJoCo model of a robot's rigid bodies, without contacts and joint stops."""
    if robot.loops:
        raise ModelError(
            f"Robot '{robot.name}' has closed loops ({choices(robot.loop_names)}), which this simulation would leave "
            "open. Compute torques of its motors with closed_loop.inverse_dynamics instead."
        )
    import mujoco

    from steelyard.model import mjcf_text

    m = mujoco.MjModel.from_xml_string(mjcf_text(robot))
    m.opt.timestep = STEP
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return m


def _sensed(truth: Log, sensors: Sensors, rng) -> Log:
    if sensors.encoder_resolution == 0 and sensors.torque_noise == 0 and sensors.delay == 0:
        return truth
    q = truth.q
    if sensors.encoder_resolution > 0:
        q = np.round(q / sensors.encoder_resolution) * sensors.encoder_resolution
    (exact,) = truth.require("tau")
    late = np.stack([np.interp(truth.t - sensors.delay, truth.t, column) for column in exact.T], axis=1)
    level = sensors.torque_noise * np.sqrt(np.mean(exact**2, axis=0))
    tau = late + level * rng.normal(size=late.shape)
    return Log(t=truth.t, q=q, tau=tau, joint_names=truth.joint_names, name=truth.name.replace(", truth", ""))
