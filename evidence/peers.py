"""The same job, from a model with wrong masses and a log to link parameters and friction, by four tools. Each log is
cut into four contiguous blocks; repeated samples are dropped and stamps made even for all tools. Each block is held out
in turn, the other three are fitted. Errors: RMS torque error over RMS torque on the held-out block, filtered alike for
all tools: mean, least and largest of the blocks, and pooled (root of all squares). Steelyard: `steelyard identify`
writes a result, `steelyard validate RESULT` judges it. Seconds: mean of one run; of Steelyard the whole command with
imports and report, of others without imports. Columns "/ ours" hold a tool's number over Steelyard's of the same job:
above 1, ours is faster or nearer. Where FIGAROH's physical fit finds no optimum, its least-squares base parameters
stand for its links, which are then not physical.

Each file of `evidence/bench/peer_code` is what a user of that tool would write; its lines are counted without comments
and blank lines. Tools run in processes of their own, one after another; `make peers`.
"""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from itertools import pairwise
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
WORKERS, LIMIT = 1, 600.0
PACKAGES = ("numpy", "scipy", "clarabel", "cvxpy", "mujoco", "mujoco-sysid", "pin", "figaroh")
OURS = "Steelyard"
TOOLS = {
    "Pinocchio + cvxpy": "cvxpy_job",
    "FIGAROH": "figaroh_job",
    "mujoco.sysid": "mujoco_sysid_job",
}
OPTIONS = {"tx40 measured": ("--coupling", "joint5+joint6")}  # for one more row of ours: what the file cannot say
HIGHEST_CUTOFF = 10.0  # Hz, or a sixth of the rate; the same for all, and for the samples held out
BLOCKS = 4
UNLIMITED = '<limit lower="-20" upper="20" effort="1e4" velocity="1e3"/>'
LONGEST = 180.0  # s for a tool
FLAT = 1e-8  # of the smallest eigenvalue of a pseudo-inertia: what cone solvers leave
PYTHON = os.environ.get("PEERS_PYTHON", sys.executable)  # of peers, where they need an environment of their own


@dataclass(frozen=True, eq=False)
class Found:
    """Link parameters (nb, 10), friction (nv,) each, seconds; error: relative one of held-out torques, where judged."""

    theta: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    armature: np.ndarray
    offset: np.ndarray
    seconds: float
    error: float = np.nan


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
    commits = ", ".join(dict.fromkeys(each["commit"] for each in rows))
    return f"# The same job by four tools\n\n{machines(rows)} Commit {commits}.\n\n{said}\n\n{table(found)}{raised}"


def _rows(case: Case, folder: Path) -> dict[str, dict]:
    """Row of each tool. All see the same file of a model and the first part of the raw log."""
    urdf = sy.save(replace(case.given, source=None), folder / "given.urdf").path
    text = urdf.read_text("utf-8")
    text = re.sub(r'type="continuous"', 'type="revolute"', text)  # Pinocchio would take two coordinates for it
    text = re.sub(r"(<axis[^>]*/>)(?!\s*<limit)", rf"\1{UNLIMITED}", text)
    urdf.write_text(text, "utf-8")
    edges = np.linspace(0, len(case.log), BLOCKS + 1).astype(int)
    blocks = [sy.filters.restamp(case.log[i:j]) for i, j in pairwise(edges)]
    files, cutoff = [], min(HIGHEST_CUTOFF, case.log.rate / 6)
    for k, block in enumerate(blocks, start=1):
        files.append(sy.write_npz(block, folder / f"block{k}.npz"))
    held = [with_motion(block, cutoff) for block in blocks]
    weights = np.array([np.sum(each.tau**2) for each in held])
    model = pin.buildModelFromUrdf(str(urdf))
    ways = {OURS: ()} | ({f"{OURS} {' '.join(OPTIONS[case.name])}": OPTIONS[case.name]} if case.name in OPTIONS else {})
    found: dict[str, list[Found]] = {}
    notes: dict[str, str] = {}
    for tool in (*ways, *TOOLS):
        try:
            for k, log in enumerate(held):
                rest, out = [file for file in files if file != files[k]], folder / f"{len(found)}-{k}"
                if tool in ways:
                    each = _by_command(case, urdf, rest, files[k], cutoff, out, ways[tool])
                else:
                    each = _by_script(TOOLS[tool], urdf, rest, cutoff, out.with_suffix(".npz"))
                    errors = log.tau - _torque(each, case.given, model, log.q, log.v, log.a, log.direction)
                    each = replace(each, error=float(np.linalg.norm(errors) / np.linalg.norm(log.tau)))
                found.setdefault(tool, []).append(each)
                print(case.name, tool, k + 1, f"{each.error:.2%} {each.seconds:.3g} s", flush=True)
        except RuntimeError as error:
            notes[tool] = str(error)
    rows = {tool: _row(each, case, model, weights, tool in ways) for tool, each in found.items() if tool not in notes}
    rows |= {tool: {"note": note} for tool, note in notes.items()}
    code = {tool: 1 if tool in ways else _lines(CODE / f"{TOOLS[tool]}.py") for tool in (*ways, *TOOLS)}
    return {tool: {"lines of code": code[tool]} | rows[tool] | _over(rows[tool], rows[OURS]) for tool in code}


def _row(found: list[Found], case: Case, model: pin.Model, weights: np.ndarray, ours: bool) -> dict:
    """Columns of a tool. weights: sums of squared torques of the blocks."""
    errors = np.array([each.error for each in found])
    smallest = [np.linalg.eigvalsh(pseudo.to_matrix(each.theta)).min(axis=-1) for each in found]
    distance = None if case.truth is None else np.mean([_distance(each, case.truth, model) for each in found])
    return {
        "s": f"{np.mean([each.seconds for each in found]):.3g}",
        "mean error": f"{errors.mean():.2%}",
        "least": f"{errors.min():.2%}",
        "largest": f"{errors.max():.2%}",
        "pooled": f"{np.sqrt(errors**2 @ weights / weights.sum()):.2%}",
        "distance from the truth": None if distance is None else f"{distance:.2%}",
        "physical links": f"{min(np.count_nonzero(each > -FLAT) for each in smallest)} of {len(smallest[0])}",
        "negative friction or armature": max(
            sum(int(np.count_nonzero(x < -1e-6)) for x in (each.viscous, each.coulomb, each.armature)) for each in found
        ),
    }


def _over(row: dict, ours: dict) -> dict:
    """Figures of a tool over ours."""
    if row is ours or "note" in row or "note" in ours:
        return {}
    pairs = {"s / ours": "s", "error / ours": "mean error", "distance / ours": "distance from the truth"}
    return {
        name: f"{float(row[key].rstrip('%')) / float(ours[key].rstrip('%')):.3g}"
        for name, key in pairs.items()
        if row[key]
    }


def _by_command(case: Case, urdf: Path, files, held: Path, cutoff: float, out: Path, options) -> Found:
    """What `steelyard identify` writes, as `steelyard validate` judges it. Raises RuntimeError."""
    start = time.perf_counter()
    _command("identify", urdf, *files, "--out", out, *options)
    seconds = time.perf_counter() - start
    judged = json.loads(_command("validate", out, held, "--cutoff", cutoff, "--json"))
    values = {each["name"]: each["identified"] for each in json.loads((out / "summary.json").read_text())["parameters"]}
    written = sy.load(next(out.glob("*_identified.urdf")))
    terms = ("viscous", "coulomb", "armature", "offset")
    friction = {term: np.array([values[f"{name}.{term}"] for name in case.given.dof_names]) for term in terms}
    return Found(written.inertias, **friction, seconds=seconds, error=judged["models"][0]["relative_error"])


def _command(*words) -> str:
    """What a command prints. Raises RuntimeError where it is refused."""
    command = [sys.executable, "-m", "steelyard", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(" ".join(done.stderr.split())[-300:])
    return done.stdout


def _by_script(module: str, urdf: Path, files, cutoff: float, out: Path) -> Found:
    """What a tool finds. Raises RuntimeError where it finds nothing."""
    python = sys.executable if module == "cvxpy_job" else PYTHON
    command = [python, str(CODE / "run.py"), module, str(urdf), str(cutoff), str(out), *map(str, files)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"more than {LONGEST:.0f} s") from None
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    with np.load(out) as arrays:
        return Found(**{name: array if array.ndim else float(array) for name, array in arrays.items()})


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
