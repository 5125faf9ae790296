"""Files that play a motion: one `MotionFormat` a kind of file, and `write`, which takes the one of a file's name.

Files for robots hold the joints that move, and no others. A file appears whole or not at all.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.errors import OptionError, choices
from steelyard.excite.planned_motion import Design
from steelyard.excite.players import PLAYERS, Player, script
from steelyard.log import write_csv, write_npz
from steelyard.model import mjcf_text
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.mujoco_state import to_mujoco

UNITS = "t in s; revolute joints in rad, rad/s, rad/s^2, N m, prismatic ones in m, m/s, m/s^2, N"
EXACT = ".15g"  # the third difference of positions at 1 kHz is jerk times 1e-9 s^3: rounding must be far below
MOST_PIECES = 900  # controllers of UR stop at 1000 to 2500 motions (ros-industrial/universal_robot#411)
SHORT = ".9g"  # where velocities and accelerations are given beside positions


@dataclass(frozen=True)
class MotionFormat:
    """One kind of file."""

    ending: str  # of its name
    title: str  # in words
    rate: float  # Hz of its samples
    write: Callable[[Design, Path, float], object]  # puts a design at a rate into a file
    joints: int | None = None  # number of those that must move, None for any
    makes: tuple[str, ...] = ()  # profiles of the robots that it is for, empty for any
    turning: bool = False  # whether joints that move have to be revolute

    def fits(self, design: Design) -> bool:
        """Whether the joints that move are as many, and of such a kind, as the file is for."""
        kinds = {joint.name: joint.turns for joint in design.robot.joints}
        turning = [kinds[design.robot.dof_names[i]] for i in design.moving]
        return self.joints in (None, len(turning)) and (all(turning) or not self.turning)


def write(design: Design, path, *, rate: float | None = None) -> Path:
    """Write a design in the format that the end of its name tells.

    Args:
        design: the motion.
        path: .csv or .npz (logs with t, q, v, a and the predicted torques), .yaml (`trajectory_msgs/JointTrajectory`),
            .json (`control_msgs/action/FollowJointTrajectory` goal), .libfranka.csv (positions at 1 kHz), .script
            (URScript), .xml (an MJCF with one keyframe a sample, to be included in a model with the same joints) or
            .ur_rtde.py and so on, by the name of a player (a script that plays the motion on the robot and records it).
        rate: Hz of the samples, by default that of the format.

    Returns:
        The path.

    Raises:
        OptionError: another name, a robot that the format is not for, or a file that cannot be written.
    """
    path = Path(path)
    form = format_of(path)
    if rate is not None and not rate > 0:
        raise OptionError(f"rate is a positive number of Hz; got {rate}.")
    if not form.fits(design):
        count = "only" if form.joints is None else form.joints
        raise OptionError(
            f"'{path}': {form.title} takes {count} {'revolute ' * form.turning}joints; of '{design.robot.name}' "
            f"{', '.join(_names(design))} move. Lock the others, or take another format."
        )
    with storage.placed(path, "Motion"):
        form.write(design, path, form.rate if rate is None else rate)
    return path


def write_all(design: Design, folder) -> list[Path]:
    """Write a design as `motion` in every format that fits the robot, into a folder that is made if need be."""
    return [
        write(design, Path(folder) / f"motion{form.ending}")
        for form in FORMATS
        if form.fits(design) and not (form.makes and design.make and design.make not in form.makes)
    ]


def format_of(path: Path) -> MotionFormat:
    """Format of a file by the end of its name. Raises OptionError for one that no format has."""
    name = path.name.lower()
    name = name.removesuffix(".yml") + ".yaml" if name.endswith(".yml") else name
    forms = (*FORMATS, *SCRIPTS)
    found = [form for form in forms if name.endswith(form.ending)]
    if not found:
        raise OptionError(
            f"'{path}': a motion is written to {', '.join(f'{f.ending} ({f.title})' for f in forms)}; choose one of "
            "these suffixes, or a folder for all."
        )
    return max(found, key=lambda form: len(form.ending))


def of_player(name: str) -> MotionFormat:
    """Format of a player's script. Raises OptionError for a name that there is not."""
    found = next((form for form in SCRIPTS if form.ending == f".{name}.py"), None)
    if found is None:
        raise OptionError(f"No player '{name}'; there are {choices(each.name for each in PLAYERS)}.")
    return found


def _times(design: Design, rate: float) -> np.ndarray:
    """(n,) times of samples, s; the last is the end of the motion, at rest, however short the step to it."""
    return np.append(np.arange(int(np.ceil(design.duration * rate - 1e-9))) / rate, design.duration)


def _samples(design: Design, rate: float):
    """t (n,), and q, v, a (n, k) of the joints that move."""
    t = _times(design, rate)
    q, v, a = design.evaluate(t)
    moving = list(design.moving)
    return t, q[:, [design.robot.scalar_positions[i] for i in moving]], v[:, moving], a[:, moving]


def _names(design: Design) -> list[str]:
    return [design.robot.dof_names[i] for i in design.moving]


def _row(values, spec: str = SHORT) -> str:
    return "[" + ", ".join(f"{0.0 + value:{spec}}" for value in values) + "]"


def _lines(path: Path, lines: Iterable[str]) -> None:
    storage.write_bytes(path, ("\n".join(lines) + "\n").encode())


def _log_csv(design: Design, path: Path, rate: float) -> None:
    write_csv(design.log(rate), path, comment=f"Planned motion of {design.robot.name} at {rate:g} Hz. {UNITS}")


def _log_npz(design: Design, path: Path, rate: float) -> None:
    write_npz(design.log(rate), path)


def _stamp(t: float) -> dict[str, int]:
    seconds, rest = divmod(round(t * 1e9), 10**9)
    return {"sec": seconds, "nanosec": rest}


def _trajectory(design: Design, rate: float) -> dict:
    points = [
        {
            "positions": [float(f"{x:{SHORT}}") for x in q],
            "velocities": [float(f"{x:{SHORT}}") for x in v],
            "accelerations": [float(f"{x:{SHORT}}") for x in a],
            "time_from_start": _stamp(t),
        }
        for t, q, v, a in zip(*_samples(design, rate), strict=True)
    ]
    return {"joint_names": _names(design), "points": points}


def _ros_message(design: Design, path: Path, rate: float) -> None:
    message = _trajectory(design, rate)
    lines = [
        f"joint_names: {json.dumps(message['joint_names'])}",
        f"points:  # trajectory_msgs/JointTrajectory of {design.robot.name} at {rate:g} Hz. {UNITS}",
    ]
    for point in message["points"]:
        fields = [f"{key}: {json.dumps(value)}".replace('"', "") for key, value in point.items()]
        lines += [f"- {fields[0]}", *(f"  {each}" for each in fields[1:])]
    _lines(path, lines)


def _ros_goal(design: Design, path: Path, rate: float) -> None:
    goal = {"trajectory": _trajectory(design, rate)}
    _lines(path, [json.dumps(goal).replace('{"positions"', '\n{"positions"')])


def _franka(design: Design, path: Path, rate: float) -> None:
    _, q, _, _ = _samples(design, rate)
    lines = [
        f"# Joint positions of {design.robot.name} [rad] at {rate:g} Hz, a line each ms, for franka::JointPositions",
        "# " + ", ".join(f"{name} [rad]" for name in _names(design)),
        *(", ".join(f"{x:{EXACT}}" for x in row) for row in q),
    ]
    _lines(path, lines)


URSCRIPT = """\
# URScript: motion of {robot}, {duration:g} s. Joints: {names}.
# play(q, v, a): ends of quintic pieces of {period:g} s, positions [rad], velocities [rad/s], accelerations [rad/s^2].
def steelyard_motion():
  global steelyard_q = {start}
  global steelyard_v = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
  global steelyard_a = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
  def play(q1, v1, a1):
    step = get_steptime()
    h = {period:g}
    k = 1
    while k * step < h + 0.5 * step:
      x = k * step / h
      q = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
      i = 0
      while i < 6:
        b = h * steelyard_v[i]
        c = 0.5 * h * h * steelyard_a[i]
        d = q1[i] - steelyard_q[i] - b - c
        e = h * v1[i] - b - 2 * c
        f = 0.5 * h * h * a1[i] - c
        g = 10 * d - 4 * e + f + x * (7 * e - 15 * d - 2 * f + x * (6 * d - 3 * e + f))
        q[i] = steelyard_q[i] + x * (b + x * (c + x * g))
        i = i + 1
      end
      servoj(q, 0, 0, step, 0.05, 500)
      k = k + 1
    end
    steelyard_q = q1
    steelyard_v = v1
    steelyard_a = a1
  end
  movej(steelyard_q, 0.5, 0.5)
"""


def _urscript(design: Design, path: Path, rate: float) -> None:
    while design.duration * rate > MOST_PIECES:
        rate /= 2
    _, q, v, a = _samples(design, rate)
    pieces = (f"  play({_row(q[k])}, {_row(v[k])}, {_row(a[k])})" for k in range(1, len(q)))
    head = URSCRIPT.format(
        robot=design.robot.name,
        duration=design.duration,
        names=", ".join(_names(design)),
        period=1 / rate,
        start=_row(q[0]),
    )
    _lines(path, [head.rstrip("\n"), *pieces, "  stopj(2.0)", "end"])


def _script(player: Player, design: Design, path: Path, rate: float) -> None:
    _lines(path, [script(player, design, path.name.removesuffix(f".{player.name}.py"), rate)])


@captured_warnings()
def _keyframes(design: Design, path: Path, rate: float) -> None:
    import mujoco

    m = mujoco.MjModel.from_xml_string(mjcf_text(design.robot))
    t = _times(design, rate)
    qpos, qvel, _ = to_mujoco(m, design.robot, *design.evaluate(t))
    keys = (
        f'    <key name="t{k:05d}" time="{t[k]:{SHORT}}" qpos="{_row(qpos[k])[1:-1].replace(",", "")}" '
        f'qvel="{_row(qvel[k])[1:-1].replace(",", "")}"/>'
        for k in range(len(t))
    )
    _lines(path, ["<mujoco>", "  <keyframe>", *keys, "  </keyframe>", "</mujoco>"])


UNIVERSAL = ("ur3e", "ur5e", "ur10e", "ur16e")
FORMATS = (
    MotionFormat(".csv", "CSV", 1000.0, _log_csv),
    MotionFormat(".npz", "NPZ", 1000.0, _log_npz),
    MotionFormat(".yaml", "ROS JointTrajectory", 100.0, _ros_message),
    MotionFormat(".json", "goal of ros2_control's FollowJointTrajectory", 100.0, _ros_goal),
    MotionFormat(".libfranka.csv", "positions for libfranka", 1000.0, _franka, 7, ("panda", "fr3"), True),
    MotionFormat(".script", "URScript", 25.0, _urscript, 6, UNIVERSAL, True),
    MotionFormat(".xml", "MuJoCo keyframes", 50.0, _keyframes),
)
SCRIPTS = tuple(
    MotionFormat(
        f".{each.name}.py", f"player for {each.title}", each.rate, partial(_script, each), each.joints, (), each.turning
    )
    for each in PLAYERS
)
