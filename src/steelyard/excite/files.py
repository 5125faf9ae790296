"""A design as a file: CSV, NPZ, a ROS JointTrajectory in YAML, MuJoCo keyframes. A file appears whole or not at all."""

import io
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.errors import OptionError
from steelyard.excite.experiment import Design
from steelyard.log import write_csv, write_npz
from steelyard.model import to_mujoco

FORMATS = {".csv": "CSV", ".npz": "NPZ", ".yaml": "ROS JointTrajectory", ".xml": "MuJoCo keyframes"}
RATES = {".csv": 1000.0, ".npz": 1000.0, ".yaml": 100.0, ".xml": 50.0}  # Hz


def write(design: Design, path, *, rate: float | None = None) -> Path:
    """Write a design in the format of its suffix: .csv, .npz, .yaml (`trajectory_msgs/JointTrajectory`) or .xml (an
    MJCF with one keyframe a sample, to be included in a model with the same joints).

    CSV and NPZ are logs with t, q, v, a and the predicted torques; a JointTrajectory only joints of one degree.
    rate: Hz of the samples; 1000, 100 for YAML and 50 for keyframes by default. Raises OptionError for another suffix.
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

    from steelyard.model import draft

    m = mujoco.MjModel.from_xml_string(draft(design.robot, Path("robot.xml")).files[-1][1].decode())
    t, q, v, a = _samples(design, rate)
    qpos, qvel, _ = to_mujoco(m, design.robot, q, v, a)

    def row(x) -> str:
        return " ".join(f"{value:.9g}" for value in x)

    keys = (
        f'    <key name="t{k:05d}" time="{t[k]:.9g}" qpos="{row(qpos[k])}" qvel="{row(qvel[k])}"/>\n'
        for k in range(len(t))
    )
    return "<mujoco>\n  <keyframe>\n" + "".join(keys) + "  </keyframe>\n</mujoco>\n"
