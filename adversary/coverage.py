"""How often intervals hold the truth, under friction and noise that the library does not assume.

Every case is a random arm of two or three joints whose rigid-body torques MuJoCo computes, with friction and noise of
this file's own. It runs the example step by step of the README: filter, split, sums of blocks, fit, intervals.
"""

from functools import partial

import mujoco
import numpy as np
from scipy.signal import lfilter

import steelyard as sy
from adversary.suite import Row, Suite

RATE, DURATION = 250.0, 20.0
NOISE = 0.01  # of each joint's RMS torque, standard deviation of the noise of a sample
STEP = 2 * np.pi / 2**18  # rad, of the encoders: 18 bits
REPLICATES = 60


def arm(rng) -> str:
    """MJCF of two or three links with random inertia, one behind the other."""
    links = int(rng.integers(2, 4))
    bodies = ""
    for k in range(links):
        mass, size = rng.uniform(1, 5), rng.uniform(0.05, 0.2, 3)
        com = rng.uniform(-0.1, 0.1, 3) + [0.1, 0, 0]
        moments = mass * (np.sum(size**2) - size**2) / 3
        axis = np.eye(3)[rng.integers(3)] if k else np.array([0.0, 1.0, 0.0])
        place = [0, 0, 0.3] if k == 0 else [0.3, 0, 0]
        bodies += (
            f'<body name="link{k + 1}" pos="{_text(place)}"><joint name="joint{k + 1}" axis="{_text(axis)}"/>'
            f'<inertial mass="{mass!r}" pos="{_text(com)}" diaginertia="{_text(moments)}" quat="{_text(rng.normal(size=4))}"/>'
        )
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
    """Sharper and less viscous forwards."""
    return c * np.where(v > 0, np.tanh(v / 0.02), np.tanh(v / 0.1)) + 0.3 * c * np.minimum(v, 0)


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
    return rng.normal(size=tau.shape) + walk - np.mean(walk[: round(0.7 * len(t))], axis=0)


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


def recorded(seed: int):
    """Name of the kind, true robot, log and true friction (viscous, coulomb, offset) of a case."""
    kind, friction, noise = KINDS[seed % len(KINDS)]
    rng = np.random.default_rng([seed, 22])
    text = arm(rng)
    model = mujoco.MjModel.from_xml_string(text)
    t, q, v, a = motion(rng, model.nv)
    tau = rigid(model, q, v, a)
    size = np.sqrt(np.mean(tau**2, axis=0))
    viscous, coulomb, offset = rng.uniform([[0.05], [0.1], [-0.03]], [[0.15], [0.3], [0.03]], (3, model.nv)) * size
    tau = tau + viscous * v + friction(v, tau, coulomb) + offset
    tau = tau + _unit(tau) * noise(rng, t, q, tau)
    q = np.round(q / STEP) * STEP
    names = tuple(f"joint{k + 1}" for k in range(model.nv))
    return (
        kind,
        text,
        sy.Log(t=t, q=q, tau=tau, joint_names=names),
        {"viscous": viscous, "coulomb": coulomb, "offset": offset},
        rng,
    )


def one(seed: int) -> Row:
    import tempfile
    from pathlib import Path

    kind, text, log, friction, rng = recorded(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.xml"
        path.write_text(text, "utf-8")
        truth = sy.load(path)
        given = truth.with_inertias(truth.inertias * rng.uniform(0.7, 1.4, (truth.nb, 1)))
        log = sy.filters.differentiate(log)
        train, _ = sy.split_blocks(log, 0.3)
        weights = partial(sy.reversal_weights, given)
        blocks = sy.accumulate_blocks(given, train, armature=True, sample_weights=weights, engine="numpy")
        estimate = sy.fit.consistent_where_shown(sum(blocks))
    found = sy.fit.uncertainty(estimate, blocks, draws=0)
    layout = estimate.layout
    true = np.zeros(layout.size)
    true[layout.inertial] = truth.inertias.ravel()
    for term, values in friction.items():
        true[layout.term(term)] = values
    row = {"kind": kind}
    for part, truths, names in (
        (found.parameters, true, found.parameters.names),
        (found.base, estimate.basis.regroup(true), found.base.names),
    ):
        covered = part.covers(truths)
        for i, label in enumerate(part.labels):
            group = "base" if part is found.base else "friction" if i >= layout.inertial.stop else "link"
            row.setdefault(f"{group}: {label}", []).append(bool(covered[i]))
    row["z"] = (
        ((found.base.lower + found.base.upper) / 2 - estimate.basis.regroup(true))
        .__truediv__(found.base.deviation)
        .round(2)
        .tolist()
    )
    row["lacking"] = [" ".join(each) for each in found.lacking]
    row["names"] = list(found.base.names)
    row["relative"] = float(np.median(found.base.deviation / np.abs(found.base.estimate)))
    return row


def page(rows: list[Row]) -> str:
    lines = []
    for kind, *_ in KINDS:
        own = [row for row in rows if row.get("kind") == kind]
        said = []
        for key in sorted({key for row in own for key in row if ": " in key}):
            hits = [hit for row in own for hit in row.get(key, [])]
            said.append(f"{key} {100 * np.mean(hits):.1f} % ({len(hits)})")
        lines.append(f"{kind}: {'; '.join(said)}")
    return "\n".join(lines) + "\n"


SUITE = Suite("coverage", REPLICATES * len(KINDS), one, page, limit=60.0)
