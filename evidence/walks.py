"""Walks without torques: what is identified from joint positions, commands, an inertial sensor and the base's pose, of
robots that their models do not describe.

Every case is a robot with a load, armature, friction, delay and ground of its own, in simulations that are not the
fit's: another integrator, step and friction cone. It is judged by MuJoCo alone, on the same robot's gait at twice the
pace: windows of 0.2 s from exact states, told what the robot was told.
"""

import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

import steelyard as sy
import walks
from evidence.draws import marches
from evidence.draws.replays import Errors, errors, mjcf_of
from evidence.runner import Row
from evidence.tables import table
from steelyard.errors import OptionError, SteelyardError
from steelyard.report.drive_report import drive_summary
from steelyard.simulate import FEET, Truth, WalkNoise
from steelyard.simulate.truth import INTEGRATORS, SAMPLE, SimulatedGround, on_ground
from steelyard.simulate.walking import BALL, SENSOR, Walk

PAGE, LIMIT, WORKERS = "walks", 3600.0, 1
PACKAGES = ("numpy", "scipy", "mujoco")
QUADRUPEDS, HUMANOIDS = 24, 4
DURATION, JUDGED = {"quadruped": 12.0, "humanoid": 10.0}, {"quadruped": 8.0, "humanoid": 8.0}  # s
GAINS_OFF = 7  # every so many truths have gains that are not those of the model
CHANGES: dict[str, Callable[[sy.Log], sy.Log]] = {
    "no pose of the base": walks.without_base,
    "no flags of contact": lambda log: log.replace(contacts={}),
    "no inertial sensor": lambda log: log.replace(imu={}),
    "joints and commands only": lambda log: walks.without_base(log.replace(imu={}, contacts={})),
    "inertial sensor 10 ms late": lambda log: walks.with_late_imu(log, 0.01),
    "pose of the base 20 ms late": lambda log: walks.with_late_base(log, 0.02),
}
AIR, LIMBS = "first in the air", "limbs of the model 15 % off"
FRICTION = "friction of the ground"
LASTING = ("friction", "softness")  # of the ground of the faster motion, too
GROUNDS = {
    "slip of 1 s": {"slip": (6.0, 7.0, 0.1)},
    "slippery throughout": {"friction": 0.25},
    "ledge of 5 mm": {"ledge": 0.005},
    "soft ground": {"softness": 0.05},
}


def truth_of(seed: int, joints: int, *, mild: bool = False) -> Truth:
    """A robot of a case. mild: for one that falls easily."""
    rng = np.random.default_rng([seed, 41])
    kinds = np.tile(np.arange(3), 4) if joints == 12 else np.arange(joints) % 5
    small = 0.5 if mild else 1.0

    def each(low, high):
        own = rng.uniform(low, high, kinds.max() + 1)[kinds]
        return small * own * np.exp(0.1 * rng.normal(size=joints))

    return Truth(
        load=float(rng.uniform(0, 3)) * (0.7 if mild else 1.0),
        place=tuple(float(x) for x in rng.uniform([-0.1, -0.04, 0.05], [0.1, 0.04, 0.15])),
        armature=each(0.0, 0.02),
        damping=each(0.0, 0.3),
        frictionloss=each(0.1, 0.6),
        gains=float(rng.uniform(0.85, 1.15)) if seed % GAINS_OFF == GAINS_OFF - 1 else 1.0,
        delay=small * float(rng.uniform(0, 0.012)),
        friction=float(rng.uniform(0.5, 1.0)),
        softness=float(rng.uniform(0.008, 0.03)),
        cone=("pyramidal", "elliptic")[seed % 2],
        integrator=("implicitfast", "rk4", "euler", "implicit")[seed % 4],
        step=(5e-4, 1e-3, 2.5e-4)[seed % 3],
    )


def noise_of(seed: int) -> WalkNoise:
    """Of encoders of 0.1 to 1 mrad, and sensors from good to poor."""
    size = float(np.random.default_rng([seed, 42]).uniform(0.5, 3))
    plain = WalkNoise()
    return WalkNoise(**{name: size * getattr(plain, name) for name in WalkNoise.__dataclass_fields__})


def walked(kind: str, seed: int, ground: dict | None = None) -> tuple[Walk, Walk, Truth]:
    """The log of a case, the faster motion it is judged by, and its truth."""
    for again in range(6):  # a robot that falls is another's turn
        own = 100 * again + seed
        truth, changed = truth_of(own, 12 if kind == "quadruped" else 29, mild=kind == "humanoid"), ground or {}
        truth = replace(truth, **{name: changed[name] for name in LASTING if name in changed})
        shared = {"seed": own, "noise": noise_of(own)}
        there = replace(truth, **changed)
        length, judged = DURATION[kind], JUDGED[kind]
        try:
            if kind == "quadruped":
                log = sy.simulate.walk("trot", duration=length, truth=there, **shared)
                fast = sy.simulate.walk("trot", duration=judged, truth=truth, pace=2.0, **shared)
            else:
                log = marches.march(duration=length, step=0.5, truth=there, **shared)
                fast = marches.march(duration=judged, step=0.3, truth=truth, **shared)
        except OptionError:
            continue
        return log, fast, truth
    raise AssertionError(f"{kind} {seed} falls")


def with_other_limbs(model: Path, rng) -> Path:
    """A file whose hips, thighs and calves are lighter or heavier than the robot's, those of all legs alike."""
    robot = sy.load(model)
    kinds = np.array([name.rpartition("_")[2] for name in robot.body_names])
    factors = dict(zip(("hip", "thigh", "calf"), np.exp(0.15 * rng.normal(size=3)), strict=True))
    theta = robot.inertias * np.array([[factors.get(kind, 1.0)] for kind in kinds])
    return sy.save(robot.with_inertias(theta), model.with_name("limbs.xml")).path


def in_the_air(walk: Walk, truth: Truth, noise: WalkNoise, rng) -> sy.Log:
    """The log of the same robot with its base held and its legs in the air: steps out and back, ever faster."""
    spec = on_ground(walk.true, FEET, (SENSOR,), SimulatedGround(0.8, 0.02), BALL)
    spec.delete(spec.joint("floating_base"))
    spec.body("base").pos = [0, 0, 1]
    m = spec.compile()
    m.opt.timestep, m.opt.integrator = truth.step, INTEGRATORS[truth.integrator]
    d, every, stand = mujoco.MjData(m), round(SAMPLE / truth.step), walk.log.command[0, 6:]
    holds = np.linspace(1.5, 0.1, 40)
    size, steps = rng.uniform(0.1, 0.4, 12), np.cumsum(holds)
    t = np.arange(0, steps[-1], SAMPLE)
    out = np.searchsorted(steps, t, side="right") % 2
    shape = np.where(out, 1.0, -0.5)[:, None] * size
    goals = stand + shape
    d.qpos[:] = d.ctrl[:] = stand
    q, late = np.empty_like(goals), truth.delay / truth.step
    for at in range(len(t)):
        q[at] = d.qpos
        for k in range(every):
            d.ctrl[:] = goals[max(at + int(np.floor((k - late) / every + 1e-9)), 0)]
            mujoco.mj_step(m, d)
    q += noise.angle * rng.normal(size=q.shape)
    return sy.Log(t=t, q=q, command=goals, joint_names=walk.log.joint_names[6:], name="in the air")


def true_model(walk: Walk, truth: Truth) -> str:
    """MJCF of the robot as it is, on its ground, in the settings of the user's file."""
    ground = SimulatedGround(truth.friction or 0.8, truth.softness or 0.02)
    if walk.nominal.nv == 18:
        spec = on_ground(walk.true, FEET, (SENSOR,), ground, BALL)
    else:
        spec = on_ground(walk.true, marches.FEET, marches.SENSORS, ground, marches.BALL, marches.SOLE)
    for actuator in spec.actuators:
        actuator.delay, actuator.nsample = truth.delay, 8
    return spec.to_xml()


def cases() -> list[str]:
    return [
        *(f"quadruped {seed:02d}" for seed in range(QUADRUPEDS)),
        *(f"humanoid {seed}" for seed in range(HUMANOIDS)),
        *(f"{what}, {seed}" for what in (*CHANGES, *GROUNDS, LIMBS, AIR) for seed in (0, 1)),
    ]


def row(case: str) -> Row:
    """Errors of the given, the identified and the true model; the trunk's mass; what intervals cover."""
    kind, seed = _case(case)
    what = case.rpartition(",")[0]
    walk, fast, truth = walked(kind, seed, GROUNDS.get(what))
    log = CHANGES.get(what, lambda log: log)(walk.log)
    found: Row = {"robot": kind, "load": truth.load, "what": what or kind}
    found["true"] = _said(errors(true_model(walk, truth), fast.log, fast.exact))
    with tempfile.TemporaryDirectory() as folder:
        model = walk.file(Path(folder) / "robot.xml")
        if what == LIMBS:
            model = with_other_limbs(model, np.random.default_rng([seed, 44]))
        found["given"] = _said(errors(model.read_text(), fast.log, fast.exact))
        if what == AIR:
            noise = noise_of(seed)
            air = in_the_air(walk, truth, noise, np.random.default_rng([seed, 43]))
            first = identified(model, air, fast, Path(folder) / "air.xml", floating=False)
            found[AIR] = {key: first[key] for key in ("identified", "spent", "refused") if key in first}
            model = Path(folder) / "air.xml" if "refused" not in first else model
        return found | identified(model, log, fast, Path(folder) / "found.xml", truth=(walk, truth))


def identified(
    model: Path, log: sy.Log, fast: Walk, written: Path, *, truth: tuple[Walk, Truth] | None = None, **options
) -> Row:
    """What a log makes of a model, written to a file that MuJoCo judges. truth: whose numbers are compared."""
    path = model.with_suffix(".npz")
    sy.write_npz(log, path)
    began, clock = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = sy.identify(str(model), str(path), drive="model", **options)
        except SteelyardError as error:
            return {"refused": f"{type(error).__name__}: {error}"[:500]}
        spent = {"spent": round(time.process_time() - began, 1), "clock": round(time.perf_counter() - clock, 1)}
        sy.save(result.robot, written)
        level = drive_summary(result)["verdict"]["level"]
    found: Row = spent | {"identified": _said(errors(mjcf_of(written), fast.log, fast.exact)), "verdict": level}
    found |= {"findings": [each.code for each in result.findings], "notes": [note[:200] for note in result.notes]}
    return found | (judged(*truth, result) if truth else {})


def judged(walk: Walk, truth: Truth, result) -> Row:
    """Trunk, and by number how many intervals there are and cover the truth, their widths, and errors; and how many
    half widths each error is."""
    masses = [robot.inertias[0, 0] for robot in (walk.true, walk.nominal, result.robot)]
    centres = [robot.inertias[0, 1:4] / robot.inertias[0, 0] for robot in (walk.true, walk.nominal, result.robot)]
    row: Row = {
        "trunk": [float(masses[1] - masses[0]), float(masses[2] - masses[0])],
        "centre": [1e3 * float(np.linalg.norm(each - centres[0])) for each in centres[1:]],
        "total": [float(r.inertias[:, 0].sum() - walk.true.inertias[:, 0].sum()) for r in (walk.nominal, result.robot)],
    }
    counts: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    for dof, name in enumerate(walk.true.dof_names):
        if name not in result.drives:
            continue
        own, true, given = result.drives[name], walk.true.drives[name], walk.nominal.drives[name]
        truths = {key: float(getattr(walk.true, key)[dof]) for key in ("armature", "damping", "frictionloss")}
        truths["damping"] += true.kd - given.kd  # share a column
        truths |= {"kp": true.kp, "delay": true.delay or 0.0}
        for key, value in truths.items():
            low, high = own.intervals.get(key, (np.nan, np.nan))
            if np.isfinite(low):
                count = counts.setdefault(key, [0, 0, 0.0, 0.0])
                count[0] += int(low <= value <= high)
                count[1] += 1
                count[2] += (high - low) / 2
                count[3] += abs(getattr(own, key) - value)
                off = abs(value - (low + high) / 2) / max((high - low) / 2, np.finfo(float).tiny)
                ratios.setdefault(key, []).append(round(float(min(off, 99)), 3))
    if result.samples is not None:
        drawn = result.samples.inertias[:, 0]
        centre = drawn[:, 1:4] / drawn[:, :1]
        for key, values, true in (("trunk mass", drawn[:, :1], masses[:1]), ("trunk centre", centre, centres[0])):
            low, high = np.quantile(values, [0.025, 0.975], axis=0)
            hit = (low <= true) & (true <= high)
            counts[key] = [
                int(hit.sum()),
                len(hit),
                float((high - low).sum() / 2),
                float(np.abs(values.mean(0) - true).sum()),
            ]
            ratios[key] = [round(float(x), 3) for x in np.abs(true - (low + high) / 2) / ((high - low) / 2)]
    if result.ground is not None:
        found = (result.ground.friction[0], result.ground.time_constant)
        for key, value, half in zip(("friction", "softness"), found, result.fit.ground_half_width, strict=True):
            true = getattr(truth, key)
            off = abs(np.log(true / value)) / half
            counts[f"{key} of the ground"] = [int(off <= 1), 1, value * half, abs(value - true)]
            ratios[f"{key} of the ground"] = [round(float(off), 3)]
            row[f"{key} of the ground"] = [value, true]
    return row | {"counts": counts, "ratios": ratios}


def _case(case: str) -> tuple[str, int]:
    kind, _, seed = case.rpartition(" ")
    return (kind if kind in DURATION else "quadruped"), int(seed)


def _pyramid(row: Row) -> bool:
    """Whether the robot's ground had pyramids of friction, unlike the file's."""
    return truth_of(_case(row["case"])[1], 12).cone == "pyramidal"


def _said(found: Errors) -> dict[str, float]:
    return {name: round(getattr(found, name), 3) for name in ("joints", "place", "tilt")}


TEXT = """# Walks without torques

Written by `python -m evidence walks`. Robots walk in MuJoCo with a load on the trunk, armature, friction, delay and
ground that their model lacks, and with another integrator, step and friction cone than the fit's. The log has joint
positions, commands, contact flags, an inertial sensor and the base's pose. Models are judged by MuJoCo on a gait at
twice the pace: windows of {window} s from exact states. *True*: the true numbers in the settings of the user's file.
Commands: `steelyard identify robot.xml walk.npz --drive model`.

{robots}

Medians over cases; ranges in brackets. Rows of {done} of {count} cases are there. {refused}

## 95 % intervals

Why they are as wide as this: [walking robots](../drives.md#walking-robots). Friction of the ground is counted where
cones of friction were elliptic, as in the file. Of pyramids, whose mean over directions is 0.79 of their edge, it is
found {pyramids} times that edge.

{coverage}

## Fewer signals, other ground

Joint errors on the faster gait, mrad, and the error of the trunk's mass, kg. Ground that is slippery or soft throughout
is that of the faster gait, too: the written floor is the one that the robot walked on.

{changes}

## First in the air

The same robots with their base held, the legs' goals stepping out and back ever faster for 32 s (`--fixed`), then the
walk from the model that this wrote. Joint errors on the faster gait, mrad.

{air}
"""


def page(rows: list[Row]) -> str:
    """The tables of all cases."""
    good = [each for each in rows if "identified" in each]
    refused = [f"{each['case']} ({_reason(each)})" for each in rows if each not in good]
    robots: dict[str, dict] = {}
    for kind in DURATION:
        own = [each for each in good if each["what"] == kind]
        if not own:
            continue
        for unit, key in (("joints, mrad", "joints"), ("base, mm", "place"), ("base, mrad", "tilt")):
            robots[f"{kind}: {unit}"] = {
                name: _spread([each[name][key] for each in own]) for name in ("given", "identified", "true")
            }
        for what, key in (("trunk mass, kg", "trunk"), ("trunk centre, mm", "centre")):
            pairs = zip(("given", "identified"), (0, 1), strict=True)
            robots[f"{kind}: error of {what}"] = {name: _spread(np.abs([e[key][k] for e in own])) for name, k in pairs}
        robots[f"{kind}: s of one core"] = {"identified": _spread([each["spent"] for each in own])}
    totals: dict[str, np.ndarray] = {}
    for each in good:
        if each["what"] in DURATION:
            for key, count in each["counts"].items():
                if key == FRICTION and _pyramid(each):  # another friction
                    continue
                totals[f"{each['robot']}, {key}"] = totals.get(f"{each['robot']}, {key}", 0) + np.array(count)
    coverage = {
        key: {"intervals": int(n), "cover the truth": f"{hit / n:.0%}", "half width": half / n, "mean error": off / n}
        for key, (hit, n, half, off) in totals.items()
    }
    changes: dict[str, dict] = {}
    plain = {"as recorded": [each for each in rows if each["case"] in ("quadruped 00", "quadruped 01")]}
    kinds = {what: [each for each in rows if each.get("what") == what] for what in (*CHANGES, *GROUNDS, LIMBS)}
    for what, own in (plain | kinds).items():
        if not own:
            continue
        told = lambda each: f"{each['identified']['joints']:.1f}" if "identified" in each else "refused"  # noqa: E731
        changes[what] = {
            "given": " / ".join(f"{each['given']['joints']:.1f}" for each in own),
            "identified": " / ".join(map(told, own)),
            "true": " / ".join(f"{each['true']['joints']:.1f}" for each in own),
            "mass": " / ".join(f"{each['trunk'][1]:+.2f}" for each in own if "trunk" in each),
            "findings": ", ".join(sorted({code for each in own for code in each.get("findings", ())})),
        }
    air = {
        each["case"]: {
            "given": each["given"]["joints"],
            "identified in the air": each[AIR].get("identified", {}).get("joints"),
            "from the walk on top": each.get("identified", {}).get("joints"),
            "true": each["true"]["joints"],
        }
        for each in rows
        if AIR in each
    }
    ground = [np.divide(*each[FRICTION]) for each in good if FRICTION in each and _pyramid(each)]
    return TEXT.format(
        pyramids=f"{np.median(ground):.2f}" if ground else "?",
        window=0.2,
        air=table(air) if air else "Not run.",
        robots=table(robots) if robots else "Not run.",
        refused=f"Without a result: {'; '.join(refused)}." if refused else "",
        coverage=table(coverage) if coverage else "Not run.",
        changes=table(changes) if changes else "Not run.",
        done=len(rows),
        count=len(cases()),
    )


def _reason(row: Row) -> str:
    """Why a case has no result, without the file's name."""
    return row.get("refused", row.get("message", "")).rpartition("robot.npz: ")[2][:120]


def _spread(values) -> str:
    return f"{np.median(values):.3g} ({np.min(values):.3g}-{np.max(values):.3g})"
