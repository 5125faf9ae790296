"""From files to files: a model, earlier logs and an old motion in, a design out.

A design is written as CSV, NPZ, a ROS JointTrajectory in YAML or MuJoCo keyframes. A file appears whole or not at all.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.errors import OptionError
from steelyard.excite.limits import Limits
from steelyard.excite.measured_axes import measured_kinds
from steelyard.excite.motion_design import design
from steelyard.excite.planned_motion import Design
from steelyard.information import Information, accumulate, is_information, load_information
from steelyard.log import Log, read_log, write_csv, write_npz
from steelyard.model import Robot, load, to_mujoco
from steelyard.prepare import NOTHING, Corrections, prepare

FORMATS = {".csv": "CSV", ".npz": "NPZ", ".yaml": "ROS JointTrajectory", ".xml": "MuJoCo keyframes"}
RATES = {".csv": 1000.0, ".npz": 1000.0, ".yaml": 100.0, ".xml": 50.0}  # Hz


def design_files(
    model,
    *,
    out: Iterable[Path] = (),
    limits: Mapping,
    after: Iterable[Path] = (),
    warm: Path | None = None,
    explain: bool = False,
    held: bool = False,
    gravity=None,
    folders=(),
    read: Callable[[Path, Robot], Log] | None = None,
    show: Callable[[Design], Iterable[str]] = lambda made: (),
    **options,
) -> tuple[str, bool]:
    """Design a motion for a model file and write it, as `steelyard excite` does.

    Args:
        model: path of the model.
        out: files to write.
        limits: fields of `Limits`.
        after: earlier logs and saved Information.
        warm: a log to start from.
        explain: whether the text is the whole description of the design.
        held: whether a free base stays where the model has it.
        gravity, folders: as of `load`.
        read: reads and prepares a log of `after` for the robot, as it is by default.
        show: writes pictures of the design and returns lines that say which.
        options: of `design`.

    Returns:
        The text to show, and whether a target was missed.

    Raises:
        SteelyardError: before anything is written.
    """
    for path in out:
        if path.suffix.lower() not in (*FORMATS, ".yml"):
            raise OptionError(
                f"--out {path}: a motion is written to {', '.join(FORMATS)}; choose one of these suffixes."
            )
        storage.require_folder(path.parent)  # before the work, not after
    robot = load(model, floating=False if held else None, gravity=gravity, folders=folders)
    terms = {name: options[name] for name in ("friction", "armature")}
    terms["rows"] = measured_kinds(robot, options["rows"])
    known = earlier_information(robot, after, terms, read)
    first = None if warm is None else read_log(warm, robot)
    made = design(robot, limits=Limits(**limits), after=known, warm=first, **options)
    written = [write(made, path) for path in out]
    lines = [made.explain() if explain else _summary(made), *(f"Wrote {path}." for path in written), *show(made)]
    target = options.get("target")
    return "\n".join(lines), target is not None and made.condition > target


def earlier_information(robot: Robot, paths: Iterable[Path], terms, read=None) -> Information | None:
    """Information of logs and of saved Information together, None without any. terms: options of `accumulate`."""
    paths = list(paths)
    saved = [load_information(path, robot) for path in paths if is_information(path)]
    read = read or _prepared
    logs = [read(path, robot) for path in paths if not is_information(path)]
    if logs:
        saved.append(accumulate(robot, logs, **terms))
    return sum(saved[1:], saved[0]) if saved else None


def _prepared(path: Path, robot: Robot) -> Log:
    return prepared_for_design(read_log(path, robot), robot)


def prepared_for_design(log: Log, robot: Robot, corrections: Corrections = NOTHING) -> Log:
    """An earlier log as identification would use it; velocities and accelerations that it has are taken as recorded.

    Args:
        log: the earlier log.
        robot: the robot.
        corrections: of mistakes in the log.

    Returns:
        The prepared log.
    """
    recorded = log.v is not None and log.a is not None
    return prepare(log, robot, corrections=corrections, cutoff=0.0 if recorded else None).log


def _summary(made: Design) -> str:
    tightest = made.margins[0]
    return "\n".join(
        [
            f"{made.duration:g} s for {len(made.robot.joint_names)} joints: condition number {made.condition:.3g}, "
            f"{made.condition_before:.3g} for the random motion it started from.",
            f"Every limit is kept at 1 kHz; the tightest is {tightest.limit_name} of {tightest.where}.",
            *made.notes,
        ]
    )


def write(design: Design, path, *, rate: float | None = None) -> Path:
    """Write a design in the format of its suffix.

    Args:
        design: the motion.
        path: .csv or .npz (logs with t, q, v, a and the predicted torques), .yaml (`trajectory_msgs/JointTrajectory`,
            joints of one degree only) or .xml (an MJCF with one keyframe a sample, to be included in a model with the
            same joints).
        rate: Hz of the samples; 1000, 100 for YAML and 50 for keyframes by default.

    Returns:
        The path.

    Raises:
        OptionError: another suffix, or a file that cannot be written.
    """
    path = Path(path)
    suffix = {".yml": ".yaml"}.get(path.suffix.lower(), path.suffix.lower())
    if suffix not in FORMATS:
        raise OptionError(
            f"'{path}': a motion is written to {', '.join(f'{s} ({name})' for s, name in FORMATS.items())}; choose one."
        )
    if rate is not None and not rate > 0:
        raise OptionError(f"rate is a positive number of Hz; got {rate}.")
    rate = RATES[suffix] if rate is None else rate
    try:
        with storage.folders_above(path):
            if suffix == ".csv":
                return write_csv(design.log(rate), path)
            if suffix == ".npz":
                return write_npz(design.log(rate), path)
            text = _ros(design, rate) if suffix == ".yaml" else _keyframes(design, rate)
            storage.write_bytes(path, text.encode())
    except OSError as error:
        raise OptionError(f"Motion {path} cannot be written: {error.strerror or error}.") from error
    return path


def _samples(design: Design, rate: float):
    t = np.append(np.arange(int(np.ceil(design.duration * rate - 1e-9))) / rate, design.duration)
    return t, *design.evaluate(t)


def _ros(design: Design, rate: float) -> str:
    import json

    def row(x) -> str:
        return "[" + ", ".join(f"{value:.9g}" for value in x) + "]"

    out = io.StringIO()
    single = design.robot.scalar_positions  # place in v: place in q
    names = ", ".join(json.dumps(design.robot.dof_names[i]) for i in single)
    out.write(f"joint_names: [{names}]\npoints:\n")
    for t, q, v, a in zip(*_samples(design, rate), strict=True):
        nanoseconds = round(t * 1e9)
        out.write(f"- positions: {row(q[list(single.values())])}\n")
        out.write(f"  velocities: {row(v[list(single)])}\n  accelerations: {row(a[list(single)])}\n")
        seconds, rest = divmod(nanoseconds, 10**9)
        out.write(f"  time_from_start: {{sec: {seconds}, nanosec: {rest}}}\n")
    return out.getvalue()


def _keyframes(design: Design, rate: float) -> str:
    import mujoco

    from steelyard.model import mjcf_text

    m = mujoco.MjModel.from_xml_string(mjcf_text(design.robot))
    t, q, v, a = _samples(design, rate)
    qpos, qvel, _ = to_mujoco(m, design.robot, q, v, a)

    def row(x) -> str:
        return " ".join(f"{value:.9g}" for value in x)

    keys = (
        f'    <key name="t{k:05d}" time="{t[k]:.9g}" qpos="{row(qpos[k])}" qvel="{row(qvel[k])}"/>\n'
        for k in range(len(t))
    )
    return "<mujoco>\n  <keyframe>\n" + "".join(keys) + "  </keyframe>\n</mujoco>\n"
