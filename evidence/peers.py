"""The same job, from a model with wrong masses and a raw log to link parameters and friction, by four tools.
Columns "/ ours" hold a tool's number over Steelyard's of the same job: above 1, ours is faster or nearer. Where
FIGAROH's physical fit finds no optimum, its least-squares base parameters stand for its links, which are then not
physical.

Each file of `evidence/bench/peer_code` is what a user of that tool would write; its lines are counted without comments
and blank lines. Tools run in processes of their own, one after another, imports left out of the times; `make peers`.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pinocchio as pin

import pinocchio_adapter as adapter
import steelyard as sy
from evidence.bench.peer_cases import NAMES, Case, case_of
from evidence.benchmarks import machines
from evidence.runner import Row
from evidence.tables import table
from steelyard.inertia import pseudo
from steelyard.prepare.prepared import with_motion

CODE = Path(__file__).parent / "bench" / "peer_code"
WORKERS, LIMIT = 1, 1800.0
PACKAGES = ("numpy", "scipy", "clarabel", "cvxpy", "mujoco", "pin", "figaroh", "cyipopt-wheels")
OURS = "Steelyard"
TOOLS = {
    OURS: "steelyard_job",
    "Pinocchio + cvxpy": "cvxpy_job",
    "FIGAROH": "figaroh_job",
    "mujoco.sysid": "mujoco_sysid_job",
}
HIGHEST_CUTOFF = 10.0  # Hz, or a sixth of the rate; the same for all, and for the samples held out
TRAINED = 0.7  # share of the log that the tools see
UNLIMITED = '<limit lower="-20" upper="20" effort="1e4" velocity="1e3"/>'
LIMIT = 90.0  # s for a tool
FLAT = 1e-8  # of the smallest eigenvalue of a pseudo-inertia: what cone solvers leave
PYTHON = os.environ.get("PEERS_PYTHON", sys.executable)  # of peers, where they need an environment of their own


@dataclass(frozen=True, eq=False)
class Found:
    """Link parameters (nb, 10), friction (nv,) each, seconds of the first and later calls."""

    theta: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    armature: np.ndarray
    offset: np.ndarray
    seconds: np.ndarray


@dataclass(frozen=True)
class Judged:
    """What a result is worth: seconds of the first and of later calls, relative error of held-out torques, relative
    distance from the truth in base parameters where that is known, links that can exist, negative coefficients."""

    first: float
    again: float | None
    error: float
    distance: float | None
    physical: str
    negative: int


def cases() -> tuple[str, ...]:
    return NAMES


def row(case: str) -> Row:
    with TemporaryDirectory() as folder:
        return {"table": _rows(case_of(case), Path(folder))}


def page(rows: list[Row]) -> str:
    """The table of all jobs and tools."""
    ended = [each for each in rows if "table" in each]
    found = {f"{each['case']}, {tool}": line for each in ended for tool, line in each["table"].items()}
    raised = "".join(f"\n{each['case']}: {each['raised']}: {each['message']}\n" for each in rows if "raised" in each)
    said = " ".join(__doc__.split("\n\n")[0].split())
    return f"# The same job by four tools\n\n{machines(rows)}\n\n{said}\n\n{table(found)}{raised}"


def _rows(case: Case, folder: Path) -> dict[str, dict]:
    """Row of each tool. All see the same file of a model and the first part of the raw log."""
    urdf = sy.save(replace(case.given, source=None), folder / "given.urdf").path
    text = urdf.read_text("utf-8")
    text = re.sub(r'type="continuous"', 'type="revolute"', text)  # Pinocchio would take two coordinates for it
    text = re.sub(r"(<axis[^>]*/>)(?!\s*<limit)", rf"\1{UNLIMITED}", text)
    urdf.write_text(text, "utf-8")
    kept = int(TRAINED * len(case.log))
    train, held = case.log[:kept], case.log[kept:]
    file, cutoff = sy.write_npz(train, folder / "train.npz"), min(HIGHEST_CUTOFF, case.log.rate / 6)
    held = with_motion(sy.filters.restamp(held), cutoff)
    model = pin.buildModelFromUrdf(str(urdf))
    judged: dict[str, Judged | str] = {}
    for tool, module in TOOLS.items():
        found = _found(module, urdf, file, cutoff, folder / f"{module}.npz")
        judged[tool] = found if isinstance(found, str) else _judged(found, case, model, held)
        print(case.name, tool, judged[tool], flush=True)
    code = {tool: {"lines of code": _lines(CODE / f"{module}.py")} for tool, module in TOOLS.items()}
    return {tool: code[tool] | _row(each, judged[OURS]) for tool, each in judged.items()}


def _row(judged: Judged | str, ours: Judged | str) -> dict:
    """Columns of a tool: its figures, and those of speed and accuracy over ours."""
    if isinstance(judged, str):
        return {"note": judged}
    row = {
        "first call, s": judged.first,
        "again, s": judged.again,
        "held-out torque error": f"{judged.error:.2%}",
        "distance from the truth": None if judged.distance is None else f"{judged.distance:.2%}",
        "physical links": judged.physical,
        "negative friction or armature": judged.negative,
    }
    if judged is ours or isinstance(ours, str):
        return row
    pairs = {
        "first call / ours": (judged.first, ours.first),
        "again / ours": (judged.again, ours.again),
        "error / ours": (judged.error, ours.error),
        "distance / ours": (judged.distance, ours.distance),
    }
    return row | {name: f"{theirs / mine:.3g}" for name, (theirs, mine) in pairs.items() if theirs and mine}


def _found(module: str, urdf: Path, file: Path, cutoff: float, out: Path) -> Found | str:
    """What a tool finds, or why it finds nothing."""
    python = sys.executable if module in ("steelyard_job", "cvxpy_job") else PYTHON
    command = [python, str(CODE / "run.py"), module, str(urdf), str(file), str(cutoff), str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {LIMIT:.0f} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    with np.load(out) as arrays:
        return Found(**arrays)


def _judged(found: Found, case: Case, model: pin.Model, held: sy.Log) -> Judged:
    """Held-out torque error, distance from the truth in torques, physical links and times of what was found."""
    errors = held.tau - _torque(found, case.given, model, held.q, held.v, held.a, held.direction)
    smallest = np.linalg.eigvalsh(pseudo.to_matrix(found.theta)).min(axis=-1)
    return Judged(
        first=float(found.seconds[0]),
        again=float(found.seconds[-1]) if len(found.seconds) > 1 else None,
        error=float(np.linalg.norm(errors) / np.linalg.norm(held.tau)),
        distance=None if case.truth is None else _distance(found, case.truth, model),
        physical=f"{np.count_nonzero(smallest > -FLAT)} of {len(smallest)}",
        negative=sum(int(np.count_nonzero(x < -1e-6)) for x in (found.viscous, found.coulomb, found.armature)),
    )


def _torque(found: Found, robot, model, q, v, a, direction) -> np.ndarray:
    """Torques (n, nv) by Pinocchio's regressor, and friction with the direction of motion that the filter leaves."""
    data = model.createData()
    Y = np.stack([adapter.regressor(model, data, robot, *state) for state in zip(q, v, a, strict=True)])
    rest = found.viscous * v + found.coulomb * direction[:, : v.shape[1]] + found.armature * a + found.offset
    return Y @ found.theta.ravel() + rest


def _distance(found: Found, truth: sy.Robot, model) -> float:
    """Distance in base parameters, measured by the torques that they cost on random states, friction left out."""
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-size, size, (300, truth.nv)) for size in (1.5, 1.5, 5.0))
    zero = np.zeros(truth.nv)
    mine = replace(found, viscous=zero, coulomb=zero, offset=zero)
    exact = Found(truth.inertias, zero, zero, truth.armature, zero, found.seconds)
    theirs = _torque(exact, truth, model, q, v, a, 0 * v)
    return float(np.linalg.norm(_torque(mine, truth, model, q, v, a, 0 * v) - theirs) / np.linalg.norm(theirs))


def _lines(path: Path) -> int:
    """Lines of code: without the documentation at the top, comments and blank lines."""
    text = re.sub(r'^""".*?"""', "", path.read_text("utf-8"), count=1, flags=re.DOTALL)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))
