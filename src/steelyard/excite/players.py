"""Scripts that play a motion on a robot and record the log for identification: one `Player` a maker's interface.

A script is the loop of `player_parts/loop.py`, one class `Robot` around the maker's Python package, and the motion as
quintic pieces. It needs nothing else than NumPy and that package.
"""

import pprint
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from steelyard.errors import OptionError
from steelyard.excite.planned_motion import Design
from steelyard.model.references import allowed_folders, around

STEP = 0.04  # s between the knots, as of URScript's pieces


@dataclass(frozen=True)
class Player:
    """A maker's interface.

    settings: further names of the script's plan, of the joints' names. motors: the same where one command is for all
    motors of a robot, `motors` by joint among them; joints that stay still are then held by it, too.
    """

    name: str  # and `title`: as of `--player`, and in words
    title: str
    rate: float  # Hz of commands
    parts: Sequence[str]  # `player_parts` that make its `Robot`
    following: float  # rad (m) that a joint may be beyond all that was commanded in the last `lag` s
    lag: float
    stale: float  # s without a new measurement after which the connection is lost
    drive: str | None = None  # kind of drive that the log is identified with, None where it has joint torques
    joints: int | None = None  # number of joints that the interface takes, None for any
    turning: bool = True  # whether these are revolute
    settings: Callable[[Sequence[str]], Mapping] = lambda names: {}
    motors: Callable[[Design], Mapping] | None = None


def _servos(names: Sequence[str], baud: int = 1000000) -> dict:
    """Identity, count where the joint is at zero, and direction of each servo, which the user completes."""
    return {"baud": baud, "servos": {name: (i + 1, 2048, 1) for i, name in enumerate(names)}}


def _numbers_of(names: Sequence[str]) -> dict:
    return {"servos": {name: i + 1 for i, name in enumerate(names)}}


@dataclass(frozen=True)
class Machine:
    """A robot of Unitree. joints: names in the order of its motors, without `_joint`. messages: package of its IDL.
    kp, kd: of each motor, N m/rad and N m s/rad. damping: N m s/rad, at the end.

    Source: examples of low-level control in unitree_sdk2_python; damping: deployment of unitree_rl_gym.
    """

    title: str
    joints: Sequence[str]
    messages: str
    kp: Sequence[float]
    kd: Sequence[float]
    damping: float


def _each(ends: Sequence[str], parts: str) -> tuple[str, ...]:
    return tuple(f"{end}_{part}" for end in ends for part in parts.split())


SIDES = ("left", "right")
ARM = "shoulder_pitch shoulder_roll shoulder_yaw elbow wrist_roll wrist_pitch wrist_yaw"
LEGS_OF_G1 = _each(SIDES, "hip_pitch hip_roll hip_yaw knee ankle_pitch ankle_roll")
LEGS_OF_H1_2 = _each(SIDES, "hip_yaw hip_pitch hip_roll knee ankle_pitch ankle_roll")
MACHINES = (
    Machine("Go2, B2", _each(("FR", "FL", "RR", "RL"), "hip thigh calf"), "unitree_go", [60.0] * 12, [5.0] * 12, 5.0),
    Machine(
        "G1",
        (*LEGS_OF_G1, *_each(["waist"], "yaw roll pitch"), *_each(SIDES, ARM)),
        "unitree_hg",
        [60.0, 60.0, 60.0, 100.0, 40.0, 40.0] * 2 + [60.0, 40.0, 40.0] + [40.0] * 14,
        [1.0, 1.0, 1.0, 2.0, 1.0, 1.0] * 2 + [1.0] * 17,
        8.0,
    ),
    Machine(
        "H1-2", (*LEGS_OF_H1_2, "torso", *_each(SIDES, ARM)), "unitree_hg", [100.0] * 13 + [50.0] * 14, [1.0] * 27, 8.0
    ),
)


def _unitree(design: Design) -> dict:
    """Number, kp and kd of each motor by the names of joints, which models have in another order."""
    robot = design.robot
    names = [name.removesuffix("_joint") for name in robot.dof_names]
    shared = [sum(name in machine.joints for name in names) for machine in MACHINES]
    machine = MACHINES[int(np.argmax(shared))]
    foreign = [robot.dof_names[i] for i in design.moving if names[i] not in machine.joints]
    if foreign or shared.count(max(shared)) > 1:
        known = "; ".join(f"{each.title}: {', '.join(f'{name}_joint' for name in each.joints)}" for each in MACHINES)
        raise OptionError(
            f"Player 'unitree' finds motors by the names of joints, and those of '{robot.name}' "
            f"({', '.join(foreign or robot.dof_names) or 'none'}) do not tell which. Rename joints in the model, lock "
            f"others (--locked), and keep the waist's in it. {known}."
        )
    own = dict(zip(names, robot.dof_names, strict=True))
    table = zip(machine.joints, machine.kp, machine.kd, strict=True)
    return {
        "messages": machine.messages,
        "motors": {own.get(name, f"{name}_joint"): (i, kp, kd) for i, (name, kp, kd) in enumerate(table)},
        "damping": machine.damping,
        "tick": 0.001,
        "release": True,
        "domain": 0,
    }


SERVOS = {"following": 0.3, "lag": 0.2, "stale": 0.2, "drive": "position"}
PLAYERS = (
    Player("dynamixel", "DYNAMIXEL servos", 100.0, ("servo_bus", "dynamixel"), settings=_servos, **SERVOS),
    Player("feetech", "Feetech servos", 50.0, ("servo_bus", "feetech"), settings=_servos, **SERVOS),
    Player("lerobot", "LeRobot's bus of servos", 50.0, ("lerobot",), settings=_numbers_of, **SERVOS),
    Player("xarm", "xArm-Python-SDK", 100.0, ("xarm",), following=0.1, lag=0.2, stale=0.15),
    Player("ur_rtde", "ur_rtde", 500.0, ("ur_rtde",), following=0.1, lag=0.2, stale=0.1, drive="current", joints=6),
    Player(
        "franka",
        "pylibfranka",
        1000.0,
        ("franka",),
        following=0.1,
        lag=0.1,
        stale=0.1,
        joints=7,
        settings=lambda names: {"realtime": True},
    ),
    Player(
        "ros2",
        "ROS 2",
        100.0,
        ("ros2",),
        following=0.2,
        lag=0.2,
        stale=0.2,
        turning=False,
        settings=lambda names: {"states": "/joint_states"},
    ),
    Player("unitree", "unitree_sdk2py", 500.0, ("unitree",), following=0.3, lag=0.3, stale=0.1, motors=_unitree),
)


def script(player: Player, design: Design, name: str, rate: float) -> str:
    """The text of a player's script. name: of the files that it records, without time and suffix. rate: Hz of
    commands."""
    robot, settings = design.robot, player.motors(design) if player.motors else {}
    driven = [i for i in robot.scalar_positions if robot.dof_names[i] in settings.get("motors", ())]
    moving = driven or list(design.moving)
    called, name = (re.sub(r"[^\w .-]", "_", each) for each in (robot.name, name))  # go into texts of the script
    names = [robot.dof_names[i] for i in moving]
    columns = [robot.scalar_positions[i] for i in moving]
    pieces = int(np.ceil(design.duration / STEP - 1e-9))
    q, v, a = design.evaluate(np.linspace(0, design.duration, pieces + 1))
    knots = q[:, columns], v[:, moving], a[:, moving]
    lower, upper, fastest = robot.lower[columns], robot.upper[columns], robot.velocity_limits[moving]
    ends = (
        knots[0].min(axis=0) - player.following,
        knots[0].max(axis=0) + player.following,
        1.5 * abs(knots[1]).max(axis=0),
    )
    plan = {
        "about": f"Plays a motion of {called} by {player.title} and records it.",
        "robot": called,
        "name": name,
        "joints": tuple(names),
        "lower": _numbers(np.where(np.isfinite(lower), lower, ends[0])),
        "upper": _numbers(np.where(np.isfinite(upper), upper, ends[1])),
        "speed": _numbers(np.where(np.isfinite(fastest), fastest, ends[2])),
        "following": _numbers(np.full(len(names), player.following)),
        "lag": player.lag,
        "rate": rate,
        "stale": player.stale,
        "brake": 0.4,
        "slow": 0.2,
        "settle": 1.0,
        "step": design.duration / pieces,
        **player.settings(names),
        **settings,
        "identify": ["steelyard", "identify", *_model(design)],
        "options": [
            *(["--drive", player.drive] if player.drive else []),
            *_locks(design, moving),
            "-o",
            f"{name}_result",
        ],
    }
    parts = files("steelyard.excite") / "player_parts"
    own = [(parts / f"{part}.py").read_text("utf-8") for part in ("loop", *player.parts)]
    rows = (" ".join(f"{x:.10g}" for each in knots for x in each[k]) for k in range(pieces + 1))
    return "\n\n".join(
        [
            HEAD.format(title=plan["about"], name=name, player=player.name),
            *(each.strip() + "\n" for each in own),
            "class Plan:\n" + "".join(f"    {key} = {_literal(value)}\n" for key, value in plan.items()),
            f'# q, v, a of every joint at each knot\nPlan.knots = """\n{chr(10).join(rows)}\n"""',
            'if __name__ == "__main__":\n    sys.exit(main(Plan, Robot))\n',
        ]
    )


HEAD = '''"""{title}

    python {name}.{player}.py ADDRESS

It shows the measured pose and asks, moves slowly to the start, plays the motion and records. `Plan` below has limits,
and how joints and servos belong together. The motion ends early by key, on a following error, beyond a limit and when
the connection is lost; what was recorded until then is written, too. lower, upper: rad (m). speed: rad/s (m/s).
following: rad (m) that a joint may be beyond all that was commanded in the last `lag` s. rate: Hz. stale: s without a
new measurement. brake: s in which a key stops the motion along its path. slow: rad/s (m/s) of the way to the start.
settle: s that this way takes at least, and that the robot stands there.
"""
'''


def _numbers(values) -> tuple[float, ...]:
    return tuple(float(f"{x:.9g}") for x in values)


def _literal(value) -> str:
    return pprint.pformat(value, width=112, sort_dicts=False).replace("\n", "\n    ")


def _model(design: Design) -> list[str]:
    """The model file and what it is read with, as arguments of a command."""
    source = design.robot.source
    if source is None:
        return [f"{design.robot.name}.urdf"]
    path, gravity = source.path.absolute(), [f"{x:g}" for x in design.robot.gravity]
    unnamed = (*allowed_folders(path), around(path))
    return [
        str(path),
        *(["--fixed"] if source.held else []),
        *(["--gravity", *gravity] if gravity != ["0", "0", "-9.81"] else []),
        *(word for folder in source.folders if folder not in unnamed for word in ("--folder", str(folder))),
        *(word for name, value in source.arguments.items() for word in ("--arg", f"{name}={value}")),
    ]


def _locks(design: Design, recorded: Sequence[int]) -> list[str]:
    robot, start = design.robot, design.start
    still = {robot.dof_names[i]: start[c] for i, c in robot.scalar_positions.items() if i not in recorded}
    if robot.source is not None:
        still |= {name: where[0] for name, where in robot.source.locked.items() if len(where) == 1}
    return [word for name, value in still.items() for word in ("--lock", f"{name}={value:.9g}")]
