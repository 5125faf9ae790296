"""The same measured motion of a quadruped's position servos, by Steelyard and by mujoco.sysid: seconds, and error of
motion on the last three tenths of the log, that neither has seen (mrad: windows of 0.5 s, and in one piece).

Gains are known. mujoco.sysid finds damping, friction loss and armature of each joint from windows of the same length;
Steelyard also delays, masses and centres of mass, with intervals. Needs the
shared log.
"""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np

import steelyard as sy
from robots import SHARED_DATA, urdf
from steelyard.drives.drive import Drive
from steelyard.model import mjcf_text

PYTHON = os.environ.get("PEERS_PYTHON", sys.executable)  # of peers, where they need an environment of their own
CODE = Path(__file__).parent / "peer_code" / "mujoco_sysid_drives.py"
TRAINED = 0.7


def run() -> dict:
    given = sy.load(urdf("go2"))
    given = replace(given, drives=dict.fromkeys(given.dof_names, Drive("position", kp=20.0, kd=1.5)))
    log = sy.read_log(SHARED_DATA / "go2_air.npz", given)
    kept = int(TRAINED * len(log))
    train, held = log[:kept], log[kept:]
    start = time.perf_counter()
    found = sy.identify(given, train, drive="model")
    rows = {"Steelyard": _row(found.robot, held, time.perf_counter() - start)}
    with TemporaryDirectory() as folder:
        robot, seconds = _by_sysid(given, train, Path(folder))
    rows["mujoco.sysid"] = _row(robot, held, seconds)
    rows["given model"] = _row(given, held, None)
    return rows


def _by_sysid(given: sy.Robot, log: sy.Log, folder: Path) -> tuple[sy.Robot, float]:
    spec = mujoco.MjSpec.from_string(mjcf_text(given))
    for joint in spec.joints:
        kind = mujoco.mjtSensor.mjSENS_JOINTPOS
        spec.add_sensor(name=f"{joint.name}_position", type=kind, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=joint.name)
    spec.compile()
    (folder / "model.xml").write_text(spec.to_xml())
    np.savez(folder / "log.npz", t=log.t - log.t[0], q=log.q, command=log.command)
    files = [str(folder / name) for name in ("model.xml", "log.npz", "found.npz")]
    subprocess.run([PYTHON, str(CODE), *files], check=True)
    with np.load(folder / "found.npz") as read:
        numbers = {name: read[name] for name in ("damping", "frictionloss", "armature")}
        return given.with_joint_properties(**numbers), float(read["seconds"])


def _row(robot: sy.Robot, held: sy.Log, seconds: float | None) -> dict:
    pieces = {"windows, mrad": sy.rollout(robot, held, window=0.5), "whole, mrad": sy.rollout(robot, held)}
    errors = {name: 1e3 * float(np.sqrt(np.mean(each.rmse**2))) for name, each in pieces.items()}
    return {"seconds": seconds, **errors}
