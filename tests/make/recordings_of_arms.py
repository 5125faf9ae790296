"""Recorded motion of two arms with realistic sensors, and mistakes made with it."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import steelyard as sy
from robots import urdf
from steelyard.inertia import from_com_inertia
from steelyard.information import accumulate
from steelyard.prepare import with_motion
from steelyard.simulate import Sensors, record

ARMS = ("puma560", "panda")
FRICTION = {  # file, and what the model file does not state
    "panda": ("panda", {"damping": 0.5, "frictionloss": 0.4, "armature": 0.05}),
    "ur10": ("ur10_robot", {"damping": 2.0, "frictionloss": 3.0, "armature": 0.1}),
}
PAYLOAD = from_com_inertia(2.0, np.array([0.0, 0.02, 0.1]), 0.004 * np.eye(3))


@lru_cache
def arm(name: str) -> sy.Robot:
    """The bundled PUMA 560, or a Panda with its fingers fixed, or a UR10: these without meshes, with friction."""
    if name == "puma560":
        return sy.library.puma560()
    file, friction = FRICTION[name]
    text = urdf(file).read_text("utf-8")
    text = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text)
    text = re.sub(r"<mimic[^>]*/>|<(visual|collision)>.*?</\1>", "", text, flags=re.DOTALL)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.urdf"
        path.write_text(text, encoding="utf-8")
        robot = sy.load(path)
    return robot.with_joint_properties(**{each: np.full(robot.nv, value) for each, value in friction.items()})


@lru_cache
def recorded(name: str, *, seed: int = 0, payload: bool = False, delay: float = 0.0) -> sy.Log:
    """20 s of an arm at 500 Hz, as its sensors saw it."""
    robot = arm(name)
    if payload:
        theta = robot.inertias.copy()
        theta[-1] += PAYLOAD
        robot = robot.with_inertias(theta)
    return record(robot, duration=20.0, seed=seed, sensors=Sensors(delay=delay)).log


def late(log: sy.Log, joint: int, delay: float) -> sy.Log:
    """The torque of one joint comes late."""
    tau = log.tau.copy()
    tau[:, joint] = np.interp(log.t - delay, log.t, tau[:, joint])
    return log.replace(tau=tau)


def scaled(log: sy.Log, *, q=None, tau=None) -> sy.Log:
    """Positions and torques times factors by joint, `{1: -1.0}`."""
    changed = {}
    for key, factors in (("q", q), ("tau", tau)):
        values = getattr(log, key).copy()
        for joint, factor in (factors or {}).items():
            values[:, joint] *= factor
        changed[key] = values
    return log.replace(**changed)


def with_gravity(robot: sy.Robot, vector) -> sy.Robot:
    return replace(robot, gravity=np.asarray(vector, dtype=float))


@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimate and the filtered log it comes from."""

    estimate: sy.fit.Estimate
    log: sy.Log


def fitted(robot: sy.Robot, log: sy.Log, *, fit=sy.fit.consistent, **options) -> Fitted:
    filtered = with_motion(log)
    info = accumulate(robot, filtered, armature=True, **options)
    return Fitted(fit(info), filtered)


def diagnosis_of(robot: sy.Robot, log: sy.Log, **options) -> sy.diagnose.Diagnosis:
    done = fitted(robot, log, **options)
    return sy.diagnose.diagnose(done.estimate, done.log)
