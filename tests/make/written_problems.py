"""A model and a log as files, identified by the command line, and what it wrote read back."""

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from lxml import etree
from pyarrow import parquet
from typer.testing import CliRunner

import steelyard as sy
from small_runs import JOINTS
from steelyard.app import app
from steelyard.errors import REFUSED


@dataclass(frozen=True)
class Problem:
    """A URDF and a log (n,), (n, 3) of its joints, and the options of the command line."""

    urdf: str
    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    joints: tuple[str, ...] = JOINTS
    options: dict = field(default_factory=lambda: {"--friction": "viscous", "--cutoff": "8", "--gravity": "0 0 -9.81"})

    def edited(self, edit, **changes) -> "Problem":
        """The same with `edit(root)` done to the XML tree, by nothing of the package."""
        root = etree.fromstring(self.urdf.encode())
        edit(root)
        return replace(self, urdf=etree.tostring(root, encoding="unicode"), **changes)

    def having(self, **options) -> "Problem":
        return replace(self, options=self.options | {f"--{key}": str(value) for key, value in options.items()})


@dataclass(frozen=True)
class Found:
    """What the run wrote, read back."""

    robot: sy.Robot
    summary: dict

    def torques(self, q, v, a):
        """Torques (n, nv) that model file and summary predict; a URDF has no place for the armature."""
        said = {each["name"]: each for each in self.summary["joints"]}
        viscous, armature = (
            np.array([said[name].get(key, {}).get("identified", 0.0) for name in self.robot.joint_names])
            for key in ("viscous", "armature")
        )
        np.testing.assert_allclose(self.robot.damping, viscous, rtol=1e-9)
        return sy.inverse_dynamics(self.robot.with_joint_properties(armature=armature), q, v, a) + viscous * v


def write_log(folder, problem, kind, name="run"):
    names = ["t", *(f"q_{j}" for j in problem.joints), *(f"tau_{j}" for j in problem.joints)]
    table = np.column_stack([problem.t, problem.q, problem.tau])
    path = folder / f"{name}.{kind}"
    if kind == "csv":
        np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    elif kind == "npz":
        np.savez(path, t=problem.t, q=problem.q, tau=problem.tau, joint_names=np.array(problem.joints))
    else:
        parquet.write_table(pa.table(dict(zip(names, table.T, strict=True))), path)
    return path


def identified(problem, folder, *, kind="csv", model="arm.urdf", logs=None) -> Found:
    """Files written, identified by the command line, and read back from its files."""
    folder.mkdir(exist_ok=True)
    path = folder / model
    (folder / "arm.urdf").write_text(problem.urdf)
    if path.suffix == ".xml":
        sy.save(sy.load(folder / "arm.urdf"), path)
    words = [word for key, value in problem.options.items() for word in (key, *value.split())]
    logs = logs or [write_log(folder, problem, kind)]
    done = CliRunner().invoke(app, ["identify", str(path), *map(str, logs), "-o", str(folder / "out"), "-q", *words])
    assert done.exit_code != REFUSED, done.stderr
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    return Found(sy.load(folder / "out" / summary["files"][0]), summary)


def states(seed=7, samples=40):
    """Positions, velocities and accelerations (n, 3) within the motion of the log."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, size=(samples, 3)) * np.array([0.8, 0.8, 0.2]) * size for size in (1.0, 3.0, 10.0)]


def apart(found, expected) -> float:
    """Largest difference of torques (n, nv), as a share of the joint's largest torque."""
    return float(np.max(np.abs(found - expected) / np.max(np.abs(expected), axis=0)))
