"""A small arm whose log Pinocchio wrote: a complete run in a fraction of a second, with known truth."""

from pathlib import Path

import numpy as np

from steelyard.terms import COULOMB_WIDTH

JOINTS = ("shoulder", "elbow", "slide")
MODEL = """<?xml version="1.0"?>
<!-- keep me -->
<robot name="{name}">
  <link name="ground"/>
  <link name="{upper}">
    <inertial><origin xyz="0.2 0.01 0.03"/><mass value="{mass}"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.09" iyz="0.002" izz="0.08"/></inertial>
  </link>
  <link name="forearm">
    <inertial><origin xyz="0.15 -0.02 0.01"/><mass value="{forearm}"/>
      <inertia ixx="0.008" ixy="0" ixz="0.001" iyy="0.03" iyz="0" izz="0.03"/></inertial>
  </link>
  <link name="rod">
    <inertial><origin xyz="0.05 0 0.02"/><mass value="0.7"/>
      <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.004"/></inertial>
  </link>
  <joint name="{shoulder}" type="revolute"><parent link="ground"/><child link="{upper}"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
  <joint name="{elbow}" type="revolute"><parent link="{upper}"/><child link="forearm"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 0.6 0.8"/><limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
  <joint name="{slide}" type="prismatic"><parent link="forearm"/><child link="rod"/><origin xyz="0.3 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-0.5" upper="0.5" effort="100" velocity="10"/></joint>
</robot>
"""
NAMES = dict(zip(JOINTS, JOINTS, strict=True), name="arm", upper="upper")


def write_model(path: Path, *, mass=4.0, forearm=2.0, **names) -> Path:
    """A shoulder, an elbow and a slide; the true robot by default."""
    path.write_text(MODEL.format(**NAMES | names, mass=mass, forearm=forearm), encoding="utf-8")
    return path


def motion(samples=1500, rate=100.0, seed=0, moving=(1.0, 1.0, 1.0)):
    """t (n,), q, v, a (n, 3) of smooth sines. moving: factor of each joint's motion."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / rate
    w = rng.uniform(0.8, 7.0, size=(3, 4))
    size = rng.uniform(0.5, 1.0, size=(3, 4)) * (np.array([0.5, 0.5, 0.08]) * moving)[:, None] / np.sqrt(w)
    angle = t[:, None, None] * w + rng.uniform(0, 6, size=(3, 4))
    return (
        t,
        np.einsum("njk,jk->nj", np.sin(angle), size),
        np.einsum("njk,jk->nj", np.cos(angle), size * w),
        -np.einsum("njk,jk->nj", np.sin(angle), size * w**2),
    )


def torques(model: Path, q, v, a, *, noise=0.01, seed=1):
    """Pinocchio's torques of a model (n, 3), with friction and noise."""
    import pinocchio as pin

    m = pin.buildModelFromUrdf(str(model))
    d = m.createData()
    tau = np.array([pin.rnea(m, d, *row).copy() for row in zip(q, v, a, strict=True)])
    tau += np.array([0.6, 0.4, 3.0]) * v + np.array([0.3, 0.2, 1.0]) * np.tanh(v / COULOMB_WIDTH)
    return tau + noise * np.std(tau, axis=0) * np.random.default_rng(seed).normal(size=tau.shape)


def write_log(path: Path, model: Path, *, joints=JOINTS, change=None, **options) -> Path:
    """A CSV log of the true robot. change: called with t, q, tau to spoil them."""
    samples = {key: options.pop(key) for key in ("samples", "rate", "seed", "moving") if key in options}
    t, q, v, a = motion(**samples)
    tau = torques(model, q, v, a, **options)
    if change is not None:
        t, q, tau = change(t, q, tau)
    header = ",".join(["t", *(f"q_{j}" for j in joints), *(f"tau_{j}" for j in joints)])
    np.savetxt(path, np.column_stack([t, q, tau]), delimiter=",", header=header, comments="", fmt="%.17g")
    return path


def write_case(folder: Path, *, change=None, **options) -> tuple[Path, Path]:
    """A model that is wrong by tens of percent, and a log of the true robot. Returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = write_model(folder / "truth.urdf")
    log = write_log(folder / "run.csv", truth, change=change, **options)
    return write_model(folder / "arm.urdf", mass=5.5, forearm=1.3), log
