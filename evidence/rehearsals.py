"""Rehearsals beside what then happens: the same motion, played by robots that a rehearsal has not drawn.

Their masses are scaled and carry lumps, their friction, gains and delays are drawn anew, and MuJoCo moves them under a
controller at 0.1 ms: nothing is of the rehearsal but the motion, the sensors' numbers and the natural sizes. *Rough*
truths have friction with Stribeck's shape that grows with load as well, of which a rehearsal knows nothing.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import steelyard as sy
from evidence.draws.pushes import RATE, Friction, Motors, driven, tracking
from evidence.runner import Row
from evidence.tables import table
from robots import package_folder, urdf
from steelyard.drives.held_out import WINDOW
from steelyard.dynamics import inverse_dynamics
from steelyard.excite.motion_design import HOME
from steelyard.excite.profiles import profile_for
from steelyard.excite.rehearsal import ENOUGH, Rehearsal, rehearse
from steelyard.fit.prior import model_parameters
from steelyard.simulate import Sensors, rich_motion
from steelyard.simulate.trajectories import Trajectory
from steelyard.terms import COULOMB_WIDTH

LIMIT, WORKERS = 1500.0, 1
PACKAGES = ("numpy", "scipy", "mujoco")
FINGERS = {"panda_finger_joint1": 0.0}
ROBOTS: dict[str, Callable[[], sy.Robot]] = {
    "UR5 with gripper": lambda: sy.load(urdf("ur5_gripper")),
    "Panda": lambda: sy.load(urdf("panda"), lock=FINGERS),
    "SCARA": sy.library.scara,
    "Jaco (dm_control)": lambda: sy.load(package_folder("dm_control") / "third_party/kinova/jaco_arm.xml"),
    "SO-101, commands": lambda: sy.load(urdf("so101")),
}
COMMANDS, HOBBY = "commands", Sensors(rate=50.0, encoder_resolution=1.5e-3)
TRUTHS, ROUGH = 3, 2  # of each kind
DURATION = 10.0  # s, of the motion, and of the random one that judges
STEP = 1e-4  # s: errors of some 1e-4 of the torque are predicted
STIFF, DAMPED = 1600.0, 80.0  # 1/s^2, 1/s of the controller
SCALE, LUMP = (0.7, 1.3), (0.0, 0.2)  # times the masses; of them, of a lump somewhere in the body
RUBS, GROWS = (0.02, 0.12), (0.3, 0.03)  # of the peak torque: Coulomb and viscous friction, armature; of rough truths:
# breakaway over Coulomb friction, friction per torque borne
GAIN, LATE = (20.0, 45.0), (0.002, 0.018)  # peak torques a rad of servos; s


@dataclass(frozen=True)
class Truth:
    """A robot that moves, its friction, and (nv,) kp, N m/rad, and delay, s, of its servos; None: it is driven by
    computed torques."""

    robot: sy.Robot
    friction: Friction
    kp: np.ndarray | None = None
    delay: np.ndarray | None = None


def cases() -> list[str]:
    return list(ROBOTS)


def row(case: str) -> Row:
    """Predictions, and what other truths make of the motion."""
    robot, by_command = ROBOTS[case](), COMMANDS in case
    options = {"drive": "position"} if by_command else {}
    sensors = HOBBY if by_command else Sensors()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = sy.excite.design(robot, DURATION, start=HOME, profile=profile_for(robot))
        told = rehearse(robot, motion, sensors=sensors, **options)
        kinds = {"alike": TRUTHS - by_command, "rough": ROUGH - by_command}
        return predicted(told) | {
            kind: [reached(told, motion, options, seed, kind) for seed in range(count)] for kind, count in kinds.items()
        }


def predicted(told: Rehearsal) -> Row:
    given, left = told.errors
    return {
        "names": len(told.names),
        "decided": int(told.shown.sum()),
        "model": given,
        "left": left,
        "held": told.covered,
        "shortest": told.shortest,
        "moved": told.moved,
    }


def reached(told: Rehearsal, motion: Trajectory, options: dict, seed: int, kind: str) -> Row:
    """Error on unlike motion after the whole motion and after the shortest that does; of parameters that the rehearsal
    calls decided the errors over the promised ones, and the share in the promised and in their own intervals."""
    truth = drawn(told.robot, motion, seed, kind, by_command=bool(options))
    judge = played(truth, other(told.robot, motion, seed), told.sensors if options else None, seed)
    log = played(truth, motion, told.sensors, seed)
    result = sy.identify(told.robot, log, **options)
    found: Row = {"left": left(result, judge)}
    if told.shortest is not None and not options:  # of commands it takes as long again
        part = log[: round(told.shortest / told.duration * len(log))]
        found["left by shortest"] = left(sy.identify(told.robot, part, **options), judge)
    decided = [name for name, shown in zip(told.names, told.shown, strict=True) if shown]
    scale = {name: each for name, *each in zip(told.names, told.trials[0].size, told.promised, strict=True)}
    off = errors_of_drives(result, truth) if options else errors_of_base(result, truth.robot)
    compared = [name for name in decided if name in off]
    ratios = np.abs([off[name][0] / np.prod(scale[name]) for name in compared])
    return found | {
        "compared": len(compared),
        "over promised": float(np.median(ratios)),
        "in promised": float(np.mean(ratios <= 1)),
        "in own": float(np.mean([off[name][1] for name in compared])),
    }


def drawn(robot: sy.Robot, motion: Trajectory, seed: int, kind: str, *, by_command: bool = False) -> Truth:
    """A truth: scaled bodies with lumps, armature, friction and servos by the torques of the motion."""
    rng = np.random.default_rng([seed, 71, kind == "rough"])
    theta = robot.inertias * rng.uniform(*SCALE, (robot.nb, 1))
    mass = np.where(theta[:, :1] > 0, theta[:, :1], 1.0)
    second = np.trace(sy.inertia.pseudo.to_matrix(theta)[:, :3, :3], axis1=1, axis2=2)
    place = theta[:, 1:4] / mass + 0.5 * np.sqrt(second / mass[:, 0])[:, None] * rng.normal(size=(robot.nb, 3))
    lump = sy.inertia.from_com_inertia(rng.uniform(*LUMP, robot.nb) * theta[:, 0], place, np.zeros((robot.nb, 3, 3)))
    q, v, a = motion.evaluate(np.linspace(0.0, motion.duration, 400))
    peak, speed, jolt = (np.abs(x).max(axis=0) for x in (inverse_dynamics(robot, q, v, a), v, a))
    peak = np.maximum(peak, 1e-3 * peak.max())
    low, high, spin = rng.uniform(*RUBS, (3, robot.nv)) * peak
    own = robot.with_inertias(theta + lump).with_joint_properties(
        damping=robot.damping + low / np.maximum(speed, 1e-2),
        frictionloss=robot.frictionloss + high,
        armature=robot.armature + spin / np.maximum(jolt, 1e-2),
    )
    breakaway, load = GROWS if kind == "rough" else (0.0, 0.0)
    friction = Friction(own.damping, own.frictionloss, breakaway * own.frictionloss, load, COULOMB_WIDTH)
    servos = (rng.uniform(*GAIN, robot.nv) * peak, rng.uniform(*LATE, robot.nv)) if by_command else ()
    return Truth(own, friction, *servos)


def other(robot: sy.Robot, motion: Trajectory, seed: int) -> Trajectory:
    """A random motion of the joints that a motion moves."""
    course, q = rich_motion(robot, duration=DURATION, seed=500 + seed), motion.evaluate(np.linspace(0, DURATION, 99))[0]
    moves = np.ptp(q, axis=0) > 1e-6

    def evaluate(t):
        at, v, a = course.evaluate(t)
        return np.where(moves, at, q[0]), moves * v, moves * a

    return Trajectory(evaluate, DURATION)


def tracked(truth: Truth, motion: Trajectory) -> Motors:
    """A stiff controller that knows the friction."""
    courses = motion.evaluate(np.arange(0.0, motion.duration, STEP))

    def course(t):
        return tuple(x[round(t / STEP)] for x in courses)

    stiff = tracking(course, STIFF, DAMPED)
    return lambda t, data, mass: stiff(t, data, mass) + truth.friction.torque(course(t)[1], data.qfrc_bias)


def commanded(truth: Truth, motion: Trajectory) -> Motors:
    """Servos that hold each command until the next, and are late."""
    commands = motion.evaluate(np.arange(0.0, motion.duration, 1 / HOBBY.rate))[0]
    each = np.arange(commands.shape[1])

    def motors(t, data, mass):
        at = np.maximum(np.floor((t - truth.delay) * HOBBY.rate + 1e-9), 0).astype(int)
        return truth.kp * (commands[at, each] - data.qpos)

    return motors


def played(truth: Truth, motion: Trajectory, sensors: Sensors | None, seed: int) -> sy.Log:
    """What sensors say of a motion; without them all there is."""
    motors = (tracked if truth.kp is None else commanded)(truth, motion)
    start = [x[0] for x in motion.evaluate(np.zeros(1))]
    log, _ = driven(truth.robot, motors, start, duration=motion.duration, friction=truth.friction, step=STEP)
    if sensors is None:
        return log
    rng = np.random.default_rng([seed, 72])
    tau = log.tau + sensors.torque_noise * np.sqrt(np.mean(log.tau**2, axis=0)) * rng.normal(size=log.tau.shape)
    q = np.round(log.q / sensors.encoder_resolution) * sensors.encoder_resolution
    seen = log.replace(q=q, v=None, a=None, tau=tau if truth.kp is None else None)[:: round(RATE / sensors.rate)]
    return seen if truth.kp is None else seen.replace(command=motion.evaluate(seen.t)[0])


def left(result, judge: sy.Log) -> float:
    """Error on unlike motion, as a rehearsal states it."""
    if judge.command is None:
        return sy.validate(result.estimate, judge).relative_error
    return float(np.sqrt(np.mean(sy.rollout(result.robot, judge, window=WINDOW).error ** 2)))


def errors_of_base(result, truth: sy.Robot) -> dict[str, tuple[float, bool]]:
    """Of every base parameter its error, and whether its own interval holds the truth."""
    own, estimate = result.uncertainty.base, result.estimate
    values = estimate.basis.regroup(model_parameters(truth, estimate.layout))
    inside = (own.lower <= values) & (values <= own.upper)
    return dict(zip(own.names, zip(own.estimate - values, inside, strict=True), strict=True))


def errors_of_drives(result, truth: Truth) -> dict[str, tuple[float, bool]]:
    """Likewise of drives; nothing says the scale of torques, so numbers are at that of the gain that was found."""
    found = {}
    for j, (name, own) in enumerate(result.drives.items()):
        scale = own.kp / truth.kp[j]
        true = {key: scale * getattr(truth.robot, key)[j] for key in ("damping", "frictionloss", "armature")}
        for key, value in (true | {"delay": truth.delay[j]}).items():
            low, high = own.intervals.get(key, (np.nan, np.nan))
            if np.isfinite(low):
                found[f"{name}.{key}"] = float(getattr(own, key) - value), bool(low <= value <= high)
    return found


TEXT = """# Rehearsals

Written by `python -m evidence rehearsals`. `steelyard rehearse` predicts what a motion of {duration:g} s, designed by
`steelyard excite`, will show of a robot; its defaults, SO-101 with `--drive position --rate 50 --resolution 1.5e-3`.
Then robots that it has not drawn play the motion: other masses with lumps, other friction, gains and delays, moved by
MuJoCo under a controller of its own ({alike} truths, of commands {fewer}). *Rough* truths ({rough}, of commands one)
have breakaway friction of {breakaway:.0f} % and friction of {load:.0f} % of the load besides, unknown to a rehearsal.

## Error on unlike motion

RMS over RMS torque; of commands mrad in windows of {window:g} s, beside perfect tracking.

{errors}

*Shortest*: seconds of the motion that would do, and the error that they leave over that of the whole (promised: at most
{enough:g}, or too small to matter; not tried of commands).

## Errors of parameters

Parameters that the rehearsal calls decided by the data. Promised: half of the 95 % interval; the median of the errors
over it would be 0.34 if errors were as promised.

{parameters}
{refused}"""


def page(rows: list[Row]) -> str:
    """The tables of all robots."""
    errors, parameters = {}, {}
    for each in (row for row in rows if "raised" not in row):
        told = _mrad if each["moved"] else _percent
        shorter = [one for one in (*each["alike"], *each["rough"]) if "left by shortest" in one]
        errors[each["case"]] = {
            "model": told([each["model"]]),
            "predicted": told([each["left"]]),
            "reached": told([one["left"] for one in each["alike"]]),
            "reached, rough friction": told([one["left"] for one in each["rough"]]),
            "shortest, s": each["shortest"] and f"{each['shortest']:g}",
            "its error over the whole's": _range([one["left by shortest"] / one["left"] for one in shorter]),
        }
        parameters[each["case"]] = {"decided": f"{each['decided']} of {each['names']}"}
        for kind, words in (("alike", ""), ("rough", ", rough friction")):
            mean = {
                key: np.mean([one[key] for one in each[kind]]) for key in ("over promised", "in promised", "in own")
            }
            parameters[each["case"]] |= {
                f"median error over promised{words}": f"{mean['over promised']:.2g}",
                f"within the promised{words}": f"{100 * mean['in promised']:.0f} %",
                f"in their own intervals{words}": f"{100 * mean['in own']:.0f} %",
            }
    return TEXT.format(
        duration=DURATION,
        alike=TRUTHS,
        fewer=TRUTHS - 1,
        rough=ROUGH,
        window=WINDOW,
        breakaway=100 * GROWS[0],
        load=100 * GROWS[1],
        enough=ENOUGH,
        errors=table(errors) if errors else "Not run.",
        parameters=table(parameters) if parameters else "Not run.",
        refused="".join(f"\nWithout a result: {row['case']}: {row['raised']}.\n" for row in rows if "raised" in row),
    )


def _range(values, unit: str = "") -> str:
    if not values:
        return ""
    low, high = (f"{x:.2g}" for x in (min(values), max(values)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _percent(shares) -> str:
    return _range([100 * x for x in shares], " %")


def _mrad(errors) -> str:
    return _range([1e3 * x for x in errors], " mrad")
