"""How often intervals hold the truth, under friction and noise that the library does not assume.

Every case is a random arm of two or three joints whose rigid-body torques MuJoCo computes, with friction and noise of
this file's own. It runs the example step by step of the README: filter, split, sums of blocks, fit, intervals.
"""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from scipy.signal import lfilter

import steelyard as sy
from evidence.runner import Row
from steelyard.information import accumulate_blocks

PAGE, WHOLE, LIMIT = "adversary/coverage", True, 60.0
RATE, DURATION = 250.0, 20.0
NOISE = 0.01  # of each joint's RMS torque, standard deviation of the noise of a sample
STEP = 2 * np.pi / 2**18  # rad, of the encoders: 18 bits
HELD = 0.3  # of each log held out, as by `identify`
REPLICATES = 30
LABELS = ("data-determined", "model-dependent")


def arm(rng) -> str:
    """MJCF of two or three links with random inertia, one behind the other."""
    links, bodies = int(rng.integers(2, 4)), ""
    for k in range(links):
        mass, size = float(rng.uniform(1, 5)), rng.uniform(0.05, 0.2, 3)
        center = np.array([0.1, 0.0, 0.0]) + rng.uniform(-0.1, 0.1, 3)
        moments = mass * (np.sum(size**2) - size**2) / 3
        axis = np.eye(3)[rng.integers(3)] if k else np.array([0.0, 1.0, 0.0])
        place = [0.3, 0.0, 0.0] if k else [0.0, 0.0, 0.3]
        bodies += f'<body name="link{k + 1}" pos="{_text(place)}"><joint name="joint{k + 1}" axis="{_text(axis)}"/>'
        bodies += f'<inertial mass="{mass!r}" pos="{_text(center)}" quat="{_text(rng.normal(size=4))}" '
        bodies += f'diaginertia="{_text(moments)}"/>'
    return f"<mujoco><worldbody>{bodies}{'</body>' * links}</worldbody></mujoco>"


def _text(values) -> str:
    return " ".join(repr(float(x)) for x in values)


def motion(rng, joints: int):
    """t (n,), q, v, a (n, joints): sums of five sines of 0.1 to 0.5 Hz and more, none of them periodic in the log."""
    t = np.arange(0.0, DURATION, 1 / RATE)
    frequency = 2 * np.pi * rng.uniform(0.08, 0.8, (5, joints))
    amplitude = rng.uniform(0.3, 1.0, (5, joints)) / np.sqrt(frequency)
    phase = frequency * t[:, None, None] + rng.uniform(0, 2 * np.pi, (5, joints))
    q, v, a = (
        np.sum(amplitude * frequency**k * wave, axis=1)
        for k, wave in enumerate((np.sin(phase), np.cos(phase), -np.sin(phase)))
    )
    return t, q, v, a


def rigid(model, q, v, a) -> np.ndarray:
    """(n, nv) torques of MuJoCo's inverse dynamics."""
    data, tau = mujoco.MjData(model), np.empty_like(v)
    for k in range(len(q)):
        data.qpos, data.qvel, data.qacc = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        tau[k] = data.qfrc_inverse
    return tau


# Friction besides viscous: of speeds v (n, nv), torques of the bodies (n, nv), Coulomb friction c (nv,).


def ideal(v, tau, c):
    return c * np.sign(v)


def smooth(v, tau, c):
    return c * np.tanh(v / 0.05)


def wide(v, tau, c):
    return c * np.tanh(v / 0.2)


def narrow(v, tau, c):
    return c * np.tanh(v / 0.01)


def stribeck(v, tau, c):
    return c * np.sign(v) * (1 + 0.5 * np.exp(-((v / 0.1) ** 2)))


def lugre(v, tau, c):
    """Canudas de Wit et al. 1995: bristles of 2 mrad, exact for a constant speed in a step."""
    fine, stiffness = 4, c / 2e-3
    z, result = np.zeros(v.shape[1]), np.empty_like(v)
    for k in range(len(v)):
        level = c * (1 + 0.3 * np.exp(-((v[k] / 0.1) ** 2))) / stiffness
        decay = np.exp(-np.abs(v[k]) / level / RATE / fine)
        for _ in range(fine):
            z = np.sign(v[k]) * level * (1 - decay) + z * decay
        result[k] = stiffness * z
    return result


def asymmetric(v, tau, c):
    """Sharper and less viscous forwards; the mean of both directions is Coulomb's and viscous friction."""
    return c * np.where(v > 0, np.tanh(v / 0.02), np.tanh(v / 0.1)) - 0.15 * c * np.abs(v)


def loaded(v, tau, c):
    return np.tanh(v / 0.05) * (c + 0.1 * np.abs(tau))


# Noise of unit size (n, nv) but for drift; all relative to the torque tau.


def white(rng, t, q, tau):
    return rng.normal(size=tau.shape)


def coloured(rng, t, q, tau):
    return lfilter([np.sqrt(1 - 0.98**2)], [1, -0.98], rng.normal(size=(len(t) + 500, tau.shape[1])), axis=0)[500:]


def quantised(rng, t, q, tau):
    step = 0.1 * np.sqrt(np.mean(tau**2, axis=0))  # ten steps of an RMS torque
    return (np.round(tau / step) * step - tau) / _unit(tau) + 0.1 * rng.normal(size=tau.shape)


def heavy(rng, t, q, tau):
    return rng.standard_t(2.5, size=tau.shape) / np.sqrt(5)


def multiplicative(rng, t, q, tau):
    return 5 * rng.normal(size=tau.shape) * np.abs(tau) / np.sqrt(np.mean(tau**2, axis=0))


def ripple(rng, t, q, tau):
    return np.sqrt(2) * np.sin(50 * q + rng.uniform(0, 6, tau.shape[1])) + 0.5 * rng.normal(size=tau.shape)


def drifting(rng, t, q, tau):
    walk = 2 * np.cumsum(rng.normal(size=tau.shape), axis=0) / np.sqrt(len(t))
    return rng.normal(size=tau.shape) + walk - np.mean(walk[: round((1 - HELD) * len(t))], axis=0)


def _unit(tau):
    return NOISE * np.sqrt(np.mean(tau**2, axis=0))


KINDS = (
    ("smooth", smooth, white),
    ("ideal", ideal, white),
    ("narrow", narrow, white),
    ("wide", wide, white),
    ("stribeck", stribeck, white),
    ("LuGre", lugre, white),
    ("asymmetric", asymmetric, white),
    ("load-dependent", loaded, white),
    ("coloured", smooth, coloured),
    ("quantised", smooth, quantised),
    ("heavy tails", smooth, heavy),
    ("multiplicative", smooth, multiplicative),
    ("ripple", smooth, ripple),
    ("drift", smooth, drifting),
)


@dataclass(frozen=True, eq=False)
class Recording:
    """A log of a random arm, its MJCF, and the friction (nv,) that acted, by term."""

    kind: str
    mjcf: str
    log: sy.Log
    friction: dict[str, np.ndarray]


def recorded(seed: int) -> Recording:
    """The recording of a case."""
    kind, friction, noise = KINDS[seed % len(KINDS)]
    rng = np.random.default_rng([seed, 22])
    mjcf = arm(rng)
    model = mujoco.MjModel.from_xml_string(mjcf)
    t, q, v, a = motion(rng, model.nv)
    tau = rigid(model, q, v, a)
    size = np.sqrt(np.mean(tau**2, axis=0))
    viscous, coulomb, offset = rng.uniform([[0.05], [0.1], [-0.03]], [[0.15], [0.3], [0.03]], (3, model.nv)) * size
    tau = tau + viscous * v + friction(v, tau, coulomb) + offset
    tau = tau + _unit(tau) * noise(rng, t, q, tau)
    names = tuple(f"joint{k + 1}" for k in range(model.nv))
    log = sy.Log(t=t, q=np.round(q / STEP) * STEP, tau=tau, joint_names=names)
    return Recording(kind, mjcf, log, {"viscous": viscous, "coulomb": coulomb, "offset": offset})


def identified(truth: sy.Robot, given: sy.Robot, log: sy.Log):
    """Intervals of the example step by step, and the true parameters (p,) but for friction."""
    train, _ = sy.split_blocks(sy.filters.differentiate(log), HELD)
    weights = partial(sy.reversal_weights, given)
    blocks = accumulate_blocks(given, train, armature=True, sample_weights=weights, engine="numpy")
    found = sy.fit.uncertainty(sy.fit.consistent(sum(blocks)), blocks)
    true = np.zeros(found.estimate.layout.size)
    true[found.estimate.layout.inertial] = truth.inertias.ravel()
    return found, true


def cases() -> range:
    return range(REPLICATES * len(KINDS))


def row(seed: int) -> Row:
    """How many parameters of each part and label there are, and how many of them are covered."""
    case = recorded(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.xml"
        path.write_text(case.mjcf, "utf-8")
        truth = sy.load(path)
        wrong = np.random.default_rng([seed, 23]).uniform(0.7, 1.4, (truth.nb, 1))
        found, true = identified(truth, truth.with_inertias(truth.inertias * wrong), case.log)
    layout = found.estimate.layout
    for term, values in case.friction.items():
        true[layout.term(term)] = values
    row: Row = {"kind": case.kind, "lacking": [" ".join(each) for each in found.lacking]}
    friction = np.arange(layout.size) >= layout.inertial.stop
    counts: dict[str, list[int]] = {}
    for name, part, values, own in (
        ("base", found.base, found.estimate.basis.regroup(true), np.ones(len(found.base), bool)),
        ("link", found.parameters, true, ~friction),
        ("friction", found.parameters, true, friction),
    ):
        covered = part.covers(values)
        for label, hit in zip(np.array(part.labels)[own], covered[own], strict=True):
            count = counts.setdefault(f"{name}, {label}", [0, 0])
            count[0] += int(hit)
            count[1] += 1
    shown = np.isin(found.base.labels, LABELS)
    width = np.median((found.base.deviation / np.abs(found.base.estimate))[shown])
    return row | {"counts": counts, "deviation": float(width)}


TEXT = """# Coverage

Written by `python -m evidence coverage`. {count} logs of random arms of two or three joints, {each} of each kind.
MuJoCo computes the torques of the bodies; friction and noise are the suite's own. Each log runs the README's example
step by step, from a model whose links are wrong by up to 40 %. A nominal 95 % interval should hold the truth in 92 to
98 % where it is *data-determined*; *model-dependent* says that the torques show more than the model has, and that the
interval allows for it ([uncertainty](../../uncertainty.md#labels)). In brackets: how many intervals. Bold: outside 92
to 98 % by more than two standard errors, of 30 intervals or more.

*Doubted*: logs in which something beyond the model was found. *Deviation*: median relative standard deviation of the
base parameters shown.

{table}

`smooth` friction with white noise is what the library assumes; other kinds of noise come with `smooth` friction. The
offset under `drift` is its mean over the samples that were fitted. {raised}
"""


def page(rows: list[Row]) -> str:
    """The table of all kinds."""
    columns = [f"{part}, {label}" for part in ("base", "link", "friction") for label in LABELS]
    head = f"| kind | doubted | deviation | {' | '.join(columns)} |\n|{'---|' * (3 + len(columns))}"
    lines = [head]
    for kind, *_ in KINDS:
        own = [row for row in rows if row.get("kind") == kind]
        cells = [_cell([row["counts"].get(column, [0, 0]) for row in own], "data" in column) for column in columns]
        doubted = np.mean([bool(row["lacking"]) for row in own]) if own else 0.0
        deviation = np.median([row["deviation"] for row in own]) if own else np.nan
        lines.append(f"| {kind} | {doubted:.0%} | {deviation:.2%} | {' | '.join(cells)} |")
    raised = [row["case"] for row in rows if "raised" in row]
    return TEXT.format(
        count=len(rows),
        each=len(rows) // len(KINDS),
        table="\n".join(lines),
        raised=f"Seeds of cases that raised an error: {raised}." if raised else "No case raised an error.",
    )


def _cell(counts, promised: bool) -> str:
    """Share covered and how many; bold where a promised share is out of range beyond chance."""
    hits, total = np.sum(counts, axis=0) if counts else (0, 0)
    if not total:
        return "-"
    share = hits / total
    alike = np.sqrt(sum((hit - share * n) ** 2 for hit, n in counts)) / total  # intervals of a log go together
    error = 2 * max(alike, np.sqrt(0.05 * 0.95 / total))
    text = f"{100 * share:.1f} % ({total})"
    outside = total >= 30 and (share + error < 0.92 or share - error > 0.98)
    return f"**{text}**" if promised and outside else text
