"""A report of a log of a million samples of a robot with 35 joints: seconds from the result to the written files, each
part, and their size in MB (target: 3 s, 8 MB).

The fit itself is not timed. Held-out samples are those of a short run, repeated; the file that is hashed is as large as
such a log. Health is what `identify` says of the log as it was recorded.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

import steelyard as sy
from evidence.bench.timing import seconds
from steelyard.app.redraw import robot_view
from steelyard.fit import Validation
from steelyard.model import Robot
from steelyard.pipeline import Job, Result
from steelyard.pipeline.identification import run as identify
from steelyard.pipeline.inspection import health
from steelyard.prepare.prepared import spectral_cutoff
from steelyard.report.identification_report import summary, view_of
from steelyard.report.record import Record, render, write
from steelyard.report.rendering import markdown, page
from steelyard.report.signal_curves import curves, save_curves

SAMPLES, HELD_OUT, SHORT = 1_000_000, 0.3, 4000
JOINTS, RATE = 35, 1000.0
REPEATS = 3


def run():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = long_result(folder)
        found, signals = summary(result), curves(result)
        record = Record(found, signals)
        view = view_of(record)
        write(record, folder)
        render(view_of(record, robot=robot_view(found, folder)), folder)
        parts = {
            "summary, with hashes": timed(lambda: summary(result)),
            "curves": timed(lambda: curves(result)),
            "figures": timed(lambda: view_of(record)),
            "3D view, without meshes": timed(lambda: robot_view(found, folder)),
            "page": timed(lambda: page(view)),
            "Markdown": timed(lambda: markdown(view)),
            "curves.npz": timed(lambda: save_curves(signals, folder / "curves.npz")),
        }
        rows = {name: {"s": value} for name, value in parts.items()}
        rows["all"] = {"s": sum(parts.values()), "MB": (folder / "report.html").stat().st_size / 1e6}
        rows["health, in identify"] = {"s": timed(health_of(result.prior), repeats=1)}
        return rows


def long_result(folder: Path) -> Result:
    """Result of a short run, with the held-out samples and the file of a long one."""
    robot = chain(folder)
    t = np.arange(SHORT) / RATE * 10
    q, v, a = motion(t, robot.nv)
    tau = sy.inverse_dynamics(robot, q, v, a)
    tau += 0.02 * tau.std(axis=0) * np.random.default_rng(1).normal(size=tau.shape)
    sy.write_npz(sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names), folder / "run.npz")
    result = identify(Job(str(folder / "chain.urdf"), (str(folder / "run.npz"),), cutoff=0.0))
    with (folder / "long.bin").open("wb") as file:
        for _ in range(2 * JOINTS):
            file.write(np.random.default_rng(0).bytes(8 * SAMPLES))
    times = -(-int(HELD_OUT * SAMPLES) // len(result.held_out))
    held = result.held_out
    t = np.arange(times * len(held)) / RATE
    long = sy.Log(
        t=t, joint_names=held.joint_names, **{k: tiled(getattr(held, k), times) for k in ("q", "v", "a", "tau")}
    )
    before, after = (
        Validation(t, tiled(each.predicted, times), long.tau, each.joint_names)
        for each in (result.before, result.after)
    )
    job = replace(result.job, logs=(str(folder / "long.bin"),))
    return replace(result, job=job, held_out=long, before=before, after=after)


def chain(folder: Path) -> Robot:
    """An arm of 35 joints, each turned against the one before."""
    rng = np.random.default_rng(0)
    links = ['<link name="ground"/>']
    for i in range(JOINTS):
        m, c = rng.uniform(0.5, 2.0), rng.normal(scale=0.02, size=3)
        xx, yy, zz = rng.uniform(4, 6, size=3) * 1e-3
        links.append(
            f'<link name="link{i}"><inertial><origin xyz="{c[0]:.4f} {c[1]:.4f} {c[2]:.4f}"/><mass value="{m:.4f}"/>'
            f'<inertia ixx="{xx:.5f}" iyy="{yy:.5f}" izz="{zz:.5f}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{i}" type="revolute"><parent link="{f"link{i - 1}" if i else "ground"}"/>'
            f'<child link="link{i}"/><origin xyz="0 0 0.1" rpy="1.5708 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        )
    path = folder / "chain.urdf"
    path.write_text(f'<robot name="chain">{"".join(links)}</robot>')
    return sy.load(path)


def motion(t, joints: int):
    """Sums of three sines a joint: q, v, a (n, joints)."""
    rng = np.random.default_rng(3)
    w, phase = rng.uniform(0.5, 4, size=(3, joints)), rng.uniform(0, 6, size=(3, joints))
    angle = t[:, None, None] * w + phase
    return (
        0.3 * np.sin(angle).sum(axis=1),
        0.3 * (w * np.cos(angle)).sum(axis=1),
        -0.3 * (w**2 * np.sin(angle)).sum(axis=1),
    )


def health_of(robot: Robot):
    """What `identify` does to say how healthy a long log is, as a function without arguments."""
    t = np.arange(SAMPLES) / RATE
    q = np.concatenate([motion(part, robot.nv)[0] for part in np.array_split(t, 100)])
    log = sy.Log(t=t, q=q, v=q, a=q, tau=q, joint_names=robot.joint_names)
    recorded = sy.Log(t=t, q=q, tau=q, joint_names=robot.joint_names)
    return lambda: health(recorded, findings=(), ready=log, cutoff=spectral_cutoff(recorded, ()))


def tiled(x, times: int):
    return np.tile(x, (times, 1))


def timed(function, repeats: int = REPEATS) -> float:
    """Median seconds of a call."""
    return median(seconds(function) for _ in range(repeats))
