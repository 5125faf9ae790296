"""Recordings of robots whose bodies are not those of their model file, in the forms that programs leave them in.

Torques are Pinocchio's, or MuJoCo simulates the robot; nothing of the library makes any of them.
"""

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pyarrow as pa
import pyarrow.parquet as pq

SECONDS, RATE = 8.0, 200.0


@dataclass(frozen=True)
class Recording:
    """Samples of an arm: names of its joints, s, rad, rad/s, rad/s^2, N m."""

    names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


def swing(rng, middle, reach, seconds=SECONDS, rate=RATE):
    """Sums of sines about `middle` (n,) that stay within `reach` (n,) of it: t, q, v, a."""
    t = np.arange(0, seconds, 1 / rate)
    w = 2 * np.pi * rng.uniform(0.15, 0.9, (4, len(middle)))
    phase = rng.uniform(0, 2 * np.pi, w.shape)
    size = reach * rng.dirichlet(np.ones(4), len(middle)).T
    angle = w * t[:, None, None] + phase
    q = middle + np.sum(size * np.sin(angle), axis=1)
    return t, q, np.sum(size * w * np.cos(angle), axis=1), -np.sum(size * w**2 * np.sin(angle), axis=1)


def arm(path: Path, seed: int, *, held: dict[str, float] | None = None, seconds: float = SECONDS) -> Recording:
    """Recording of a URDF's robot with other masses: joints of `held` stand there and are not recorded."""
    rng, held = np.random.default_rng(seed), held or {}
    model = truth(path, held)
    lower, upper = np.maximum(model.lowerPositionLimit, -2.0), np.minimum(model.upperPositionLimit, 2.0)
    t, q, v, a = swing(rng, (lower + upper) / 2, 0.4 * (upper - lower), seconds)
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])
    return Recording(tuple(model.names)[1:], t, q, v, a, tau)


def truth(path: Path, held: dict[str, float]) -> pin.Model:
    """The robot as it really is: every moving body 20 % heavier than its file says, in the same place."""
    whole = pin.buildModelFromUrdf(str(path))
    for inertia in list(whole.inertias)[1:]:
        if inertia.mass > 0.05:  # a gripper's fingers are what they are
            inertia.mass *= 1.2
    q = pin.neutral(whole)
    for name, stands in held.items():
        q[whole.joints[whole.getJointId(name)].idx_q] = stands
    return pin.buildReducedModel(whole, [whole.getJointId(name) for name in held], q)


def table(path: Path, columns: dict[str, np.ndarray], delimiter=",", header=True) -> Path:
    """A text table of columns (n,)."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        if header:
            writer.writerow(columns)
        writer.writerows(np.column_stack(list(columns.values())).tolist())
    return path


def by_index(stem: str, values: np.ndarray, form="{}[{}]") -> dict[str, np.ndarray]:
    return {form.format(stem, j): values[:, j] for j in range(values.shape[1])}


def lerobot(folder: Path, seen: Recording, *, effort: bool) -> Path:
    """A data set of one episode as LeRobot lays it out, with measured efforts or without."""
    signals = {"observation.state": seen.q, "action": seen.q} | ({"observation.effort": seen.tau} if effort else {})
    features = {
        name: {"dtype": "float32", "shape": [len(seen.names)], "names": list(seen.names)} for name in signals
    } | {"timestamp": {"dtype": "float32", "shape": [1]}, "episode_index": {"dtype": "int64", "shape": [1]}}
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps({"features": features, "fps": RATE}))
    chunk = folder / "data" / "chunk-000"
    chunk.mkdir(parents=True)
    columns = {name: pa.array(list(values.astype(np.float32))) for name, values in signals.items()}
    columns |= {"timestamp": pa.array(seen.t.astype(np.float32)), "episode_index": pa.array([0] * len(seen.t))}
    pq.write_table(pa.table(columns), chunk / "episode_000000.parquet")
    return folder


QUADRUPED = """<mujoco model="quadruped"><option timestep="0.001" integrator="RK4"/><compiler angle="radian"/>
<worldbody><body name="trunk" pos="0 0 1"><freejoint name="root"/>
<inertial pos="0.02 0 -0.005" mass="{trunk}" diaginertia="0.09 0.08 0.03"/>{legs}</body></worldbody>
<actuator>{motors}</actuator></mujoco>"""
LEG = """<body name="{n}_hip" pos="{x} {y} 0"><inertial pos="0 0.01 0" mass="{m0}" diaginertia="8e-4 1e-3 9e-4"/>
<joint name="{n}_hip_joint" axis="1 0 0"/><body name="{n}_thigh" pos="0 {s} 0">
<inertial pos="0 0 -0.05" mass="{m1}" diaginertia="5e-3 5e-3 1e-3"/><joint name="{n}_thigh_joint" axis="0 1 0"/>
<body name="{n}_calf" pos="0 0 -0.21"><inertial pos="0.005 0 -0.12" mass="{m2}" diaginertia="2e-3 2e-3 5e-5"/>
<joint name="{n}_calf_joint" axis="0 1 0"/></body></body></body>"""


def quadruped(scale: float) -> str:
    """MJCF of a quadruped with a free base and a motor in each of its 12 joints, masses of legs times `scale`."""
    corners = {"FL": (0.19, 0.05), "FR": (0.19, -0.05), "RL": (-0.19, 0.05), "RR": (-0.19, -0.05)}
    legs = "".join(
        LEG.format(n=n, x=x, y=y, s=np.sign(y) * 0.095, m0=0.7 * scale, m1=1.1 * scale, m2=0.2 * scale)
        for n, (x, y) in corners.items()
    )
    joints = [f"{n}_{part}_joint" for n in corners for part in ("hip", "thigh", "calf")]
    motors = "".join(f'<motor joint="{name}"/>' for name in joints)
    return QUADRUPED.format(trunk=6.9 * scale, legs=legs, motors=motors)


def mujoco_arrays(xml: str, seed: int, *, held: bool, seconds: float) -> dict[str, np.ndarray]:
    """What a user saves of a simulation, every fifth step: `time`, `qpos`, `qvel`, `ctrl`, `qfrc_actuator`.

    held: whether a stand holds the base, whose columns then say that it rests and nothing of what holds it.
    """
    rng = np.random.default_rng(seed)
    spec = mujoco.MjSpec.from_string(xml)
    if held:
        root = spec.joint("root")
        spec.delete(root)
    model = spec.compile()
    data, count = mujoco.MjData(model), model.nu
    middle = np.tile([0.0, 0.8, -1.6], count // 3)
    _, q, v, _ = swing(rng, middle, np.full(count, 0.45), seconds, 1 / model.opt.timestep)
    data.qpos[-count:] = q[0]
    data.qvel[-count:] = v[0]
    if not held:
        data.qvel[:6] = [0.2, -0.1, 1.5, 2.0, -1.5, 2.5]
    rows: dict[str, list] = {key: [] for key in ("time", "qpos", "qvel", "ctrl", "qfrc_actuator")}
    for k in range(len(q)):
        data.ctrl[:] = 25 * (q[k] - data.qpos[-count:]) + 0.8 * (v[k] - data.qvel[-count:])
        mujoco.mj_forward(model, data)
        if k % 5 == 0:
            for key, found in rows.items():
                found.append(np.copy(getattr(data, key)))
        mujoco.mj_step(model, data)
    arrays = {key: np.array(found) for key, found in rows.items()}
    if held:
        still = np.tile([0, 0, 1.0, 1.0, 0, 0, 0], (len(arrays["time"]), 1))
        arrays["qpos"] = np.hstack([still, arrays["qpos"]])
        for key in ("qvel", "qfrc_actuator"):
            arrays[key] = np.hstack([np.zeros((len(still), 6)), arrays[key]])
    return arrays
