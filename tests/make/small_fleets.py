"""Fleets of small arms whose logs Pinocchio wrote: what differs between robots and what changes over weeks is known."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from small_runs import JOINTS, motion, write_model
from steelyard.terms import COULOMB_WIDTH

WEEK = 7 * 86400.0


@dataclass(frozen=True)
class Truth:
    """A robot as it is in one week: masses of upper arm and forearm, friction of its joints, a load on the rod."""

    mass: float = 4.0
    forearm: float = 2.0
    load: float = 0.0
    viscous: tuple = (0.6, 0.4, 3.0)
    coulomb: tuple = (0.3, 0.2, 1.0)


def torques(model: Path, truth: Truth, q, v, a, rng, noise=0.02):
    """Pinocchio's torques (n, 3) with friction and noise; the load is a point in the origin of the rod."""
    import pinocchio as pin

    m = pin.buildModelFromUrdf(str(model))
    m.inertias[-1] += pin.Inertia(truth.load, np.zeros(3), np.zeros((3, 3)))
    d = m.createData()
    tau = np.array([pin.rnea(m, d, *row).copy() for row in zip(q, v, a, strict=True)])
    tau += np.array(truth.viscous) * v + np.array(truth.coulomb) * np.tanh(v / COULOMB_WIDTH)
    return tau + noise * np.std(tau, axis=0) * rng.normal(size=tau.shape)


def write_run(path: Path, truth: Truth, *, seed: int, samples=1500, rate=100.0, noise=0.02, joints=JOINTS) -> Path:
    """One log of a robot: CSV or Parquet by the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    model = write_model(path.with_suffix(".urdf"), mass=truth.mass, forearm=truth.forearm)
    t, q, v, a = motion(samples=samples, rate=rate, seed=seed)
    tau = torques(model, truth, q, v, a, np.random.default_rng([seed, 1]), noise)
    model.unlink()
    return write_table(path, t, q, tau, joints)


def write_table(path: Path, t, q, tau, joints=JOINTS) -> Path:
    names = ["t", *(f"q_{j}" for j in joints), *(f"tau_{j}" for j in joints)]
    values = np.column_stack([t, q, tau])
    if path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(dict(zip(names, values.T, strict=True))), path, row_group_size=700)
    else:
        np.savetxt(path, values, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path


def write_fleet(folder: Path, truths: dict[str, list[Truth]], *, seed=0, **options) -> tuple[Path, Path]:
    """A nominal model and logs of all robots, one a week. Returns the paths of model and table."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["robot,time,log"]
    for r, (name, weeks) in enumerate(truths.items()):
        for week, truth in enumerate(weeks):
            log = write_run(folder / name / f"{week}.parquet", truth, seed=1000 * seed + 50 * r + week, **options)
            lines.append(f"{name},{week * WEEK},{log.relative_to(folder)}")
    table = folder / "robots.csv"
    table.write_text("\n".join(lines) + "\n")
    return write_model(folder / "arm.urdf", mass=5.0, forearm=1.6), table


def individuals(count: int, weeks: int, *, seed=0, spread=0.05) -> dict[str, list[Truth]]:
    """Robots that differ by `spread` in masses and friction, and stay as they are."""
    rng = np.random.default_rng([seed, 2])
    found = {}
    for r in range(count):
        one = Truth()
        factor = np.exp(spread * rng.normal(size=8))
        one = replace(
            one,
            mass=one.mass * factor[0],
            forearm=one.forearm * factor[1],
            viscous=tuple(np.array(one.viscous) * factor[2:5]),
            coulomb=tuple(np.array(one.coulomb) * factor[5:8]),
        )
        found[f"arm{r:02d}"] = [one] * weeks
    return found


def exit_or_not(what) -> float:
    """Work for a worker, or its death."""
    if what == "fatal":
        os._exit(1)
    return what + 1.0
