"""`check --engines`: a model as every installed engine reads it, compared with the robot read here, body by body.

Each engine runs in a process of its own with a time limit (`engine_adapters`), so that one that crashes or never ends
is a row of the table.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.cards import Card
from steelyard.check import engine_adapters
from steelyard.check.engine_adapters import ABSENT, ENVIRONMENT, MODULES
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import OptionError, choices
from steelyard.inertia import from_com_inertia, to_com_inertia, transform
from steelyard.model.formats import document_of, load
from steelyard.model.robot import WORLD, Robot
from steelyard.numbers import NEGLIGIBLE, SAME

ADAPTERS = engine_adapters.__file__
LIMIT = 180.0  # s: Newton compiles its kernels when it first runs
RESTING, MOVING = 3, 3  # random states
LEAST = 1e-3  # of a robot's largest torque: a joint with less is judged by that


@dataclass(frozen=True)
class AskedEngine:
    """An engine that models are handed to."""

    name: str  # in the table
    formats: tuple[str, ...]  # names of the formats that it reads
    adapter: str = ""  # function of `engine_adapters`
    tolerance: float = 1e-6  # relative differences below are rounding
    options: Mapping[str, Any] = field(default_factory=dict)  # of the adapter
    usual: bool = True  # whether it is asked when none is named


ENGINES = (
    AskedEngine("mujoco", ("urdf", "mjcf")),
    AskedEngine("pinocchio", ("urdf", "mjcf")),
    AskedEngine("drake", ("urdf", "sdf", "mjcf")),
    AskedEngine("pybullet", ("urdf",), tolerance=1e-5),  # with URDF_USE_INERTIA_FROM_FILE; moments by an iteration
    AskedEngine("idyntree", ("urdf",)),
    AskedEngine("dartpy", ("urdf",)),
    AskedEngine("newton", ("urdf", "mjcf", "usd"), tolerance=2e-4),  # single precision
    AskedEngine("pybullet-defaults", ("urdf",), "pybullet", 1e-5, options={"inertia_from_file": False}, usual=False),
    AskedEngine("pybullet-merged", ("urdf",), "pybullet", 1e-5, options={"merge_fixed_links": True}, usual=False),
    AskedEngine(
        "newton-collapsed",
        ("urdf", "mjcf", "usd"),
        "newton",
        tolerance=2e-4,
        options={"collapse_fixed_joints": True},
        usual=False,
    ),
)
BY_NAME = {each.name: each for each in ENGINES}


@dataclass(frozen=True)
class Difference:
    """What an engine has otherwise."""

    element: str  # such as "link 'arm'"
    quantity: str  # mass, centre of mass, inertia, placement, gravity torque or inverse dynamics
    relative: float  # size of the difference
    told: str  # both values in words


@dataclass(frozen=True)
class EngineReading:
    """One model in one engine."""

    engine: str
    version: str | None = None
    differences: tuple[Difference, ...] = ()  # above the engine's tolerance, largest first
    largest_equal: float = 0.0  # relative, of what counts as rounding
    bodies: int = 0  # compared, as `joints` are
    joints: int = 0
    refused: str | None = None  # why the engine has not read the file
    notes: tuple[str, ...] = ()  # what it was given instead of it

    @property
    def title(self) -> str:
        return f"{self.engine} {self.version or ''}".strip()


@dataclass(frozen=True, repr=False)
class EngineComparison(Card):
    """One model in several engines. path: of the model. missing: names of engines that are not installed."""

    path: Path
    readings: tuple[EngineReading, ...]
    missing: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no engine that read the file has it otherwise."""
        return not any(each.differences for each in self.readings)

    def _title(self) -> str:
        compared = [each for each in self.readings if not each.refused and each.bodies + each.joints]
        if not compared:
            return f"{self.path.name}: no engine has read it"
        agree = (
            f"{len(compared)} engine{'s' * (len(compared) != 1)} agree{'s' * (len(compared) == 1)} on what was compared"
        )
        return f"{self.path.name}: {agree if self.ok else 'engines differ'}"

    def _rows(self):
        return {each.title: each.refused or f"{len(each.differences)} differences" for each in self.readings}


def compare_engines(path, *, engines: Iterable[str] = (), folders=(), limit: float = LIMIT) -> EngineComparison:
    """Compare the readings of a model by installed engines with the robot that `load` makes of it.

    Args:
        path: of the model.
        engines: names; all the usual ones when empty.
        folders: whose files the model may name, as of `load`.
        limit: s, for each engine.

    Returns:
        Masses, centres of mass and inertias of rigid bodies with all that is fixed to them, in frames of their links;
        gravity torques and inverse dynamics of joints of one degree at random states; others stay where the file has
        them.

    Raises:
        ModelError: the file is no robot.
        OptionError: an unknown engine.
    """
    chosen = _chosen(engines)
    robot = load(path, floating=False, folders=folders)
    assert robot.source is not None  # it was read from a file
    trial = _TestStates(robot)
    readings, missing = [], []
    with tempfile.TemporaryDirectory(prefix="steelyard-engines-") as folder:
        for engine in (each for each in chosen if robot.source.format in each.formats):
            found = _read(engine, trial, Path(folder), limit)
            if found is None:
                missing.append(engine.name)
            else:
                readings.append(found)
    return EngineComparison(Path(path), tuple(readings), tuple(missing))


def _chosen(names: Iterable[str]) -> list[AskedEngine]:
    names = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise OptionError(f"engine '{unknown[0]}' is unknown; expected one of {choices(BY_NAME)}.")
    return [BY_NAME[name] for name in names] if names else [each for each in ENGINES if each.usual]


class _TestStates:
    """A robot and the states at which it is asked: joints of one degree displaced, others where the file has them."""

    def __init__(self, robot: Robot):
        self.robot = robot
        places = zip(robot.joints, robot.q_slices, robot.v_slices, strict=True)
        self.single = [(joint, at, to) for joint, at, to in places if joint.nv == 1]
        rng, n = np.random.default_rng(0), RESTING + MOVING
        lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
        drawn = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), size=(n, robot.nq))
        rates = rng.normal(size=(2, n, robot.nv))
        rates[:, :RESTING] = 0.0
        self.q, (self.v, self.a) = np.tile(robot.neutral, (n, 1)), np.zeros_like(rates)
        for _, at, to in self.single:
            self.q[:, at], self.v[:, to], self.a[:, to] = drawn[:, at], rates[0][:, to], rates[1][:, to]
        displaced = [self.q[:, at] * joint.ratio + joint.offset for joint, at, _ in self.single]
        moved = ([x[:, to] * joint.ratio for joint, _, to in self.single] for x in (self.v, self.a))
        self.task = {"gravity": robot.gravity.tolist(), "joints": [joint.name for joint, *_ in self.single]}
        self.task |= {key: _columns(each) for key, each in zip("qva", (displaced, *moved), strict=True)}

    def torques(self, known) -> np.ndarray:
        """(n, nv) of the states in which joints that an engine does not know are not displaced, as it has them."""
        q, v, a = self.q.copy(), self.v.copy(), self.a.copy()
        for joint, at, to in self.single:
            if joint.mimics is None and joint.name not in known:
                q[:, at], v[:, to], a[:, to] = -joint.offset, 0.0, 0.0
        return inverse_dynamics(self.robot, q, v, a)


def _columns(values: list[np.ndarray]) -> list[list[float]]:
    return np.hstack(values).tolist() if values else [[]] * (RESTING + MOVING)


def _read(engine: AskedEngine, trial: _TestStates, folder: Path, limit: float) -> EngineReading | None:
    """A reading of the file, and where the engine refuses that, of a copy without geometry; None where the engine is
    not installed."""
    document = document_of(trial.robot)
    assert document is not None
    refused = ""
    for geometry in (True, False):
        copy = document.alone(geometry=geometry)
        if copy is None and not geometry:
            break
        model = document.path
        if copy is not None:
            model = folder / document.path.name
            model.write_bytes(copy)
        found = _asked(engine, {**trial.task, "model": str(model), "options": dict(engine.options)}, folder, limit)
        if found is None:
            return None
        if isinstance(found, dict):
            notes = (f"It refused the file with its geometry ({refused}), and read it without.",) if refused else ()
            return _compared(engine, trial, found, notes)
        refused = f"{refused}; without geometry: {found}" if refused and found != refused else found
    return EngineReading(engine.name, refused=refused)


def _asked(engine: AskedEngine, task: dict, folder: Path, limit: float) -> dict | str | None:
    """What an engine answers, why it does not, or None where it is not installed."""
    given, answer = folder / "task.json", folder / "answer.json"
    given.write_text(json.dumps(task), "utf-8")
    answer.unlink(missing_ok=True)
    adapter = engine.adapter or engine.name
    python = sys.executable if find_spec(MODULES.get(adapter, adapter)) else os.environ.get(ENVIRONMENT, "")
    if not python:
        return None
    command = [python, ADAPTERS, adapter, str(given), str(answer)]
    environment = os.environ | {"PYTHONSAFEPATH": "1"}  # what lies beside the adapters is no module of theirs
    complaints = folder / "complaints.txt"
    try:
        with complaints.open("wb") as said:
            status = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                timeout=limit,
                cwd=folder,
                env=environment,
            ).returncode
    except subprocess.TimeoutExpired:
        return f"no answer within {limit:g} s"
    except OSError as error:
        raise OptionError(f"{ENVIRONMENT}={python} cannot be run: {error.strerror or error}.") from error
    if status == ABSENT:
        return None
    if status == 0 and answer.exists():
        return json.loads(answer.read_text("utf-8"))
    return f"it ended with signal {-status}" if status < 0 else _last_words(complaints) or f"it ended with {status}"


def _last_words(path: Path) -> str:
    """The last two lines of what a program complained of."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 2000, 0))
        lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return " ".join(lines[-2:])[-300:]


def _compared(engine: AskedEngine, trial: _TestStates, found: dict, notes: tuple[str, ...]) -> EngineReading:
    found |= {key: _by_our_names(trial.robot, found[key]) for key in ("poses", "bodies", "torques")}
    every = [*_bodies(trial.robot, found), *_torques(trial, found["torques"])]
    apart = sorted((each for each in every if not each.relative <= engine.tolerance), key=lambda each: -each.relative)
    elements = {each.element for each in every}
    return EngineReading(
        engine.name,
        found["version"],
        tuple(apart),
        max((each.relative for each in every if each.relative <= engine.tolerance), default=0.0),
        sum(each.startswith("link") for each in elements),
        sum(each.startswith("joint") for each in elements),
        notes=notes,
    )


def _by_our_names(robot: Robot, found: dict) -> dict:
    """What an engine says of parts and joints, some of which it may call by identifiers, as those of USD do."""
    ours = {*(link.name for link in robot.links), *(joint.name for joint in robot.joints)}
    identifiers = {re.sub(r"\W", "_", name): name for name in ours}
    return {name if name in ours else identifiers.get(name, name): value for name, value in found.items()}


def _bodies(robot: Robot, found: dict):
    """Differences of rigid bodies, and of the places where they hang on their parents."""
    poses = {name: (_matrix(each["rotation"]), np.array(each["position"])) for name, each in found["poses"].items()}
    thetas = {
        name: np.asarray(from_com_inertia(each["mass"], np.array(each["com"]), _matrix(each["inertia"])))
        for name, each in found["bodies"].items()
    }
    for body in (WORLD, *range(robot.nb)):
        members = [link for link in robot.links if link.body == body]
        if body == WORLD:
            members = [link for link in members if link.name in thetas]
            if not members:  # held, and dropped by the engine
                continue
        carrier = members[0].name
        element = f"link '{carrier}'"
        ours = sum((transform(link.theta, link.rotation, link.position) for link in members), np.zeros(10))
        R, p = members[0].rotation, members[0].position
        ours = transform(ours, R.T, -R.T @ p)
        if body == WORLD and ours[0] <= NEGLIGIBLE:  # a ground, which some engines give a mass
            continue
        if carrier not in poses:
            if ours[0] > NEGLIGIBLE:
                yield Difference(element, "mass", 1.0, f"{ours[0]:.6g} kg; the engine has no such link")
            continue
        theirs = np.zeros(10)
        for link in members:
            if link.name in thetas:
                R, p = _seen(poses[carrier], poses[link.name])
                theirs = theirs + transform(thetas[link.name], R, p)
        yield from _inertials(element, ours, theirs)
    yield from _placements(robot, poses)


def _inertials(element: str, ours, theirs):
    if max(ours[0], theirs[0]) <= NEGLIGIBLE:
        return
    (m, c, I), (n, d, J) = (_with_centre(theta) for theta in (ours, theirs))
    size = np.sqrt(max(np.trace(I), 0.0) / max(m, NEGLIGIBLE)) + np.linalg.norm(c)  # of the order of the link's
    yield Difference(element, "mass", _ratio(abs(n - m), m), f"{m:.6g} kg, in the engine {n:.6g}")
    far = float(np.linalg.norm(d - c))
    yield Difference(element, "centre of mass", _ratio(far, max(size, SAME)), f"{far:.3g} m apart")
    told = "moments {} kg m^2, in the engine {}".format(*(_three(np.linalg.eigvalsh(each)) for each in (I, J)))
    if np.linalg.norm(I) > NEGLIGIBLE * max(m, n):  # kg m^2: of no point mass
        yield Difference(element, "inertia", _ratio(float(np.linalg.norm(J - I)), float(np.linalg.norm(I))), told)


def _with_centre(theta):
    return to_com_inertia(theta) if theta[0] > 0 else (0.0, np.zeros(3), np.zeros((3, 3)))


def _ratio(change: float, of: float) -> float:
    """Relative size of a change; 1 where there was nothing."""
    if change == 0:
        return 0.0
    return 1.0 if not of > 0 else min(change / of if np.isfinite(change) else np.inf, 1 / NEGLIGIBLE)


def _three(values) -> str:
    return " ".join(f"{value:.4g}" for value in values)


def _placements(robot: Robot, poses: dict):
    """Differences of moving links' poses in the link that carries them, joints undisplaced."""
    names = {
        int(joint): next(link.name for link in robot.links if link.body == body)
        for body, joint in enumerate(robot.body_joints)
    }
    for joint, name in names.items():
        parent = int(robot.parents[joint])
        if parent not in names or not {name, names[parent]} <= set(poses):
            continue
        own = robot.joints[joint]
        R, p = _seen(poses[names[parent]], poses[name])
        turned, moved = np.linalg.norm(R - own.rotation), float(np.linalg.norm(p - own.position))
        told = f"{moved:.3g} m and {np.degrees(turned / np.sqrt(2)):.3g} deg apart"
        reach = max(float(np.linalg.norm(own.position)), 0.1)
        yield Difference(f"link '{name}'", "placement", max(moved / reach, float(turned)), told)


def _torques(trial: _TestStates, torques: dict):
    """Differences of torques; those of joints that follow another count at that one."""
    if not torques:
        return
    robot, ours = trial.robot, trial.torques(torques)
    theirs = np.zeros_like(ours)
    known = np.zeros(robot.nv, dtype=bool)
    for joint, _, to in trial.single:
        if joint.name in torques:
            theirs[:, to] += joint.ratio * np.array(torques[joint.name])[:, None]
            known[to] |= joint.mimics is None
    columns = np.flatnonzero(known)
    for name, states in (("gravity torque", slice(RESTING)), ("inverse dynamics", slice(RESTING, None))):
        size = np.abs(ours[states]).max(axis=0, initial=0.0)
        least = LEAST * max(float(size[columns].max(initial=0.0)), float(np.abs(theirs[states]).max(initial=0.0)))
        for k in columns:
            apart = float(np.abs(theirs[states, k] - ours[states, k]).max())
            told = f"up to {size[k]:.4g}, in the engine {apart:.4g} apart"
            yield Difference(f"joint '{robot.dof_names[k]}'", name, _ratio(apart, max(size[k], least)), told)


def _matrix(nine) -> np.ndarray:
    return np.reshape(np.array(nine, dtype=float), (3, 3))


def _seen(of, pose):
    """Pose in the frame of another; both in the world."""
    (A, a), (B, b) = of, pose
    return A.T @ B, A.T @ (b - a)
