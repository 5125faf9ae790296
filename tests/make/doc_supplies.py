"""What the examples of the documentation take for granted: files by name, and variables by name.

Files are those of a small arm (`small_runs`), made when a page first names them. Variables are made when a block reads
one that no earlier block of its page has set.
"""

import re
import shlex
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import trimesh
from evidence.bench.tray_experiment import test_object as object_of_weights
from typer.testing import CliRunner

import steelyard as sy
from payload_logs import static, swing
from small_runs import JOINTS, MODEL, NAMES, motion, torques, write_log, write_model
from steelyard.app import app
from steelyard.inertia import parameters
from steelyard.payload.wrench_sums import wrench_regressor

DEMO = "steelyard demo --out demo-out"
THING = object_of_weights("tee")  # what is held
EMPTY = 0.1 * THING.theta  # an empty hand
FLANGE = """  <link name="flange"/>
  <joint name="mount" type="fixed"><parent link="rod"/><child link="flange"/><origin xyz="0.1 0 0"/></joint>
</robot>"""
SIDE = """version = 1
[[rotor]]
joint = "elbow"
gear_ratio = 50
carrier = "upper"
axis = [0, 0.6, 0.8]
mass = 0.2
inertia = 1e-4
[known.masses]
upper = 4.0
"""


class Supplies:
    """Files in a folder, and variables, both by name."""

    def __init__(self, folder: Path):
        self.folder = folder

    def file(self, name: str, page: str = "") -> Path:
        own = FILES_ON_PAGE.get(page, {})
        path = self.folder / (Path(page).stem if name in own else "") / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            (own.get(name) or FILES[name])(self, path)
        return path

    def variable(self, page: str, name: str):
        """Raises KeyError where the page takes something for granted that nobody supplies."""
        return (VARIABLES_ON_PAGE.get(page, {}).get(name) or VARIABLES[name])(self)

    @cache  # noqa: B019  lives as long as the tests of the pages
    def robot(self):
        return sy.load(self.file("arm.urdf"))

    @cache  # noqa: B019
    def log(self, seed=0):
        t, q, v, a = motion(seed=seed)
        tau = torques(self.file("truth.urdf"), q, v, a, seed=seed)
        return sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=JOINTS)

    @cache  # noqa: B019
    def information(self):
        return sy.accumulate(self.robot(), self.log(), armature=True)


SOLID = '</inertial><collision><geometry><sphere radius="0.06"/></geometry></collision>'


def model(supplies, path, **wrong):
    write_model(path, **wrong)
    text = path.read_text("utf-8").replace("</robot>", FLANGE)
    path.write_text(text.replace("</inertial>", SOLID, 3), "utf-8")  # links have geometry, as real models do


def npz(supplies, path):
    log = supplies.log(7)
    np.savez(path, t=log.t, q=log.q, tau=log.tau, joint_names=JOINTS)


def csv(seed, **options):
    return lambda supplies, path: write_log(path, supplies.file("truth.urdf"), seed=seed, **options)


def parquet(supplies, path):
    import pyarrow
    import pyarrow.parquet

    log = supplies.log()
    columns = {"t": log.t} | {f"{k}_{n}": getattr(log, k)[:, j] for k in ("q", "tau") for j, n in enumerate(JOINTS)}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def mcap(supplies, path):
    import log_files

    log = supplies.log()[:400]
    log_files.mcap(log, path.parent, name=path.name)


def result(supplies, path):
    sy.identify(supplies.file("arm.urdf"), [supplies.file("run.csv")], out=path)


def copied(name):
    def copy(supplies, path):
        source = supplies.file(name)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, path)

    return copy


def wrench(log):
    keys = [key for key in ("t", "wrench", "rotation", "twist", "acceleration") if getattr(log, key) is not None]
    return lambda supplies, path: np.savez(path, **{key: getattr(log, key) for key in keys})


def carried(theta):
    """A log of the arm's joints with a wrist sensor, as CSV."""

    def write(supplies, path):
        log = supplies.log()[::5]
        robot = supplies.robot()
        placed = sy.payload.carried_log(
            robot, t=log.t, q=log.q, v=log.v, a=log.a, wrench=np.zeros((len(log.t), 6)), frame="flange"
        )
        values = np.column_stack([log.t, log.q, log.v, log.a, wrench_regressor(placed) @ theta])
        names = ["t", *(f"{key}_{joint}" for key in "qva" for joint in JOINTS), "fx", "fy", "fz", "nx", "ny", "nz"]
        np.savetxt(path, values, delimiter=",", header=",".join(names), comments="")

    return write


def box(scale):
    def write(supplies, path):
        solid = trimesh.creation.box(scale * THING.sides)
        solid.apply_translation(0.5 * scale * (THING.solid.lower + THING.solid.upper))
        solid.export(path)

    return write


def folder_of_models(supplies, path):
    path.mkdir()
    shutil.copy(supplies.file("arm.urdf"), path)


def fleet(supplies, path):
    rows = ["robot,time,log"]
    for k in range(4):
        name = f"run{k}.csv"
        write_log(path.parent / name, supplies.file("truth.urdf"), seed=k, samples=600)
        rows.append(f"arm{7 + k % 2},2026-03-{2 + k:02}T06:00,{path.parent / name}")
    path.write_text("\n".join(rows) + "\n", "utf-8")


def demo(supplies, path):
    """What the command `DEMO` leaves, for all the pages that show it."""
    done = CliRunner().invoke(app, [*shlex.split(DEMO)[1:-1], str(path)], catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output


def quadruped(supplies, path):
    sy.save(sy.library.cheetah3_leg(), path)


FILES = {
    "truth.urdf": lambda supplies, path: model(supplies, path),
    "arm.urdf": lambda supplies, path: model(supplies, path, mass=5.5, forearm=1.3),
    "robot.urdf": lambda supplies, path: model(supplies, path, mass=-5.5, forearm=1.3),
    "arm_identified.urdf": copied("truth.urdf"),
    "arm.steelyard.toml": lambda supplies, path: path.write_text(SIDE, "utf-8"),
    "quadruped.urdf": quadruped,
    "models": folder_of_models,
    "run.csv": csv(0),
    "run1.csv": csv(0),
    "next.csv": csv(3),
    "joints.csv": csv(4),
    "with_payload.csv": csv(4),
    "empty_joints.csv": csv(4),
    "run2.npz": npz,
    "run.parquet": parquet,
    "run.mcap": mcap,
    "traj.csv": csv(5, samples=300),
    "demo-out": demo,
    "result": result,
    "march": copied("result"),
    "april": copied("result"),
    "may": copied("result"),
    "robots.csv": fleet,
    "held.npz": wrench(swing(THING.theta, noise=(0.05, 0.002, 0.01, 0.05))),
    "empty.npz": wrench(static(EMPTY, poses=12, bias=0.3)),
    "held.csv": carried(THING.theta + EMPTY),
    "empty.csv": carried(EMPTY),
    "hammer.stl": box(1.0),
    "bracket.stl": box(1.0),
    "gripper.stl": box(1000.0),
    "part.stl": box(1000.0),
}


def two_joints(supplies, path):
    """The small arm without its slide."""
    text = MODEL.format(**NAMES, mass=4.0, forearm=2.0)
    path.write_text(
        re.sub(r'  <(link name="rod"|joint name="slide").*?</(link|joint)>\n', "", text, flags=re.DOTALL), "utf-8"
    )


def odd_columns(supplies, path):
    """Columns that are named twice over: as they are inferred, and as the page tells `channels`."""
    log = supplies.log()
    names = ["t", "clock", "q_shoulder", "q_elbow", "enc_a", "enc_b", "drive_2", "tau_shoulder", "tau_elbow", "drive_1"]
    q, tau = log.q[:, :2], log.tau[:, :2]
    values = np.column_stack([log.t, log.t, q, q, tau[:, 1], tau, tau[:, 0]])
    np.savetxt(path, values, delimiter=",", header=",".join(names), comments="")


def degrees(supplies, path):
    log = supplies.log()
    np.savez(path, t=1e3 * log.t, q=np.degrees(log.q[:, :2]), tau=log.tau[:, :2])


FILES_ON_PAGE = {
    "docs/logs.md": {"arm.urdf": two_joints, "run.csv": odd_columns, "run.npz": degrees},
}


def state(nv, seed=0, samples=20):
    """q, v, a of joints with one degree each."""
    return np.random.default_rng(seed).normal(size=(3, samples, nv))


def puma_log(supplies):
    q, v, a = state(6, 1, 300)
    tau = sy.inverse_dynamics(sy.library.puma560(), q, v, a)
    tau = tau + 0.01 * np.random.default_rng(2).normal(size=tau.shape)
    return sy.Log(t=np.arange(300) * 0.01, q=q, v=v, a=a, tau=tau)


def reference(supplies):
    log = supplies.log()
    return log.replace(v=None, a=None, tau=None)


def differentiated(supplies):
    return sy.filters.differentiate(supplies.log().replace(v=None, a=None), cutoff=10.0)


def currents(supplies, load=None):
    """A log whose drives report half of the torque."""
    log = supplies.log()
    robot = sy.load(supplies.file("truth.urdf"))
    theta = robot.inertias.copy()
    theta[-1] += 0.0 if load is None else parameters.from_com_inertia(load, np.array([0.1, 0.0, 0.0]), 1e-3 * np.eye(3))
    tau = sy.inverse_dynamics(robot.with_inertias(theta), log.q, log.v, log.a) + log.v + np.tanh(log.v / 0.05)
    return log.replace(tau=0.5 * tau)


def on_a_sensor(supplies):
    log = supplies.log()
    robot = supplies.robot()
    wrench = sy.base_wrench_regressor(robot, log.q, log.v, log.a) @ robot.inertias.ravel()
    return log.replace(wrenches={"base": wrench})


def motors(supplies):
    """A log of the motors of the five-bar."""
    robot = sy.library.five_bar()
    t, q, v, a = (value[..., :2] if value.ndim > 1 else value for value in motion(samples=300))
    tau = sy.closed_loop.inverse_dynamics(robot, 0.2 * q, 0.2 * v, 0.2 * a)
    return sy.Log(t=t, q=0.2 * q, v=0.2 * v, a=0.2 * a, tau=tau, joint_names=robot.actuated)


def moments(part):
    """Gram matrix, moments and prior of one fit of a payload."""

    def make(supplies):
        Y = wrench_regressor(swing(THING.theta)).reshape(-1, 10)
        return {"gram": (Y.T @ Y)[None], "moment": (Y.T @ Y @ THING.theta)[None], "prior": THING.theta}[part]

    return make


def sample(field):
    return lambda supplies: getattr(swing(THING.theta), field)[0]


BODIES = np.tile(parameters.from_com_inertia(1.3, np.array([0.1, 0.0, 0.0]), 0.02 * np.eye(3)), (2, 1))
VARIABLES = {
    "sy": lambda s: sy,
    "np": lambda s: np,
    "robot": Supplies.robot,
    "model": Supplies.robot,
    "log": Supplies.log,
    "logs": lambda s: iter([s.log(), s.log(1)]),
    "another": lambda s: s.log(1),
    "new": lambda s: s.log(2),
    "reference": reference,
    "controller": lambda s: None,
    "cutoff": lambda s: 10.0,
    "torque_cutoff": lambda s: 10.0,
    "info": Supplies.information,
    "estimate": lambda s: sy.fit.consistent(s.information()),
    "theta": lambda s: s.robot().inertias,
    "q": lambda s: state(3)[0],
    "v": lambda s: state(3)[1],
    "a": lambda s: state(3)[2],
}
VARIABLES_ON_PAGE = {
    "docs/closed_loops.md": {
        "q": lambda s: 0.1 * state(2)[0],
        "v": lambda s: state(2)[1],
        "a": lambda s: state(2)[2],
        "log": motors,
    },
    "docs/fitting.md": {
        "log": differentiated,
        "Y": lambda s: np.random.default_rng(0).normal(size=(200, 2, 24)),
        "tau": lambda s: np.random.default_rng(1).normal(size=(200, 2)),
        "theta0": lambda s: BODIES,
        "center": lambda s: np.zeros(3),
        "Q": lambda s: np.eye(3),
    },
    "docs/derivatives.md": {"log": puma_log},
    "docs/identifiability.md": {
        "robot": lambda s: sy.library.puma560(),
        "theta": lambda s: sy.library.puma560().inertias.ravel(),
        "theta0": lambda s: sy.library.puma560().inertias.ravel(),
    },
    "docs/information.md": {
        "log": on_a_sensor,
        "currents": currents,
        "currents_with_load": lambda s: currents(s, 2.5),
    },
    "docs/inertia.md": {
        "head_vertices": lambda s: np.array(trimesh.creation.box([0.1, 0.03, 0.03]).vertices),
        "head_faces": lambda s: np.array(trimesh.creation.box([0.1, 0.03, 0.03]).faces),
        "handle_vertices": lambda s: np.array(trimesh.creation.box([0.02, 0.02, 0.3]).vertices),
        "handle_faces": lambda s: np.array(trimesh.creation.box([0.02, 0.02, 0.3]).faces),
        "R": lambda s: np.eye(3),
        "p": lambda s: np.array([0.0, 0.0, -0.15]),
    },
    "docs/payload.md": {
        **{name: sample(name) for name in ("t", "rotation", "wrench", "twist", "acceleration")},
        **{name: moments(name) for name in ("gram", "moment", "prior")},
        "payload": lambda s: sy.payload,
    },
    "docs/uncertainty.md": {"logs": lambda s: {"empty": s.log(), "again": s.log(1), "later": s.log(2)}},
}
