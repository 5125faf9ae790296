"""Random feasible fits: robots, motions, noise, priors and what is known, each kind well represented."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.inertia import Ellipsoid, covariance_ellipsoid
from steelyard.information import Information, accumulate
from steelyard.terms import layout_of

BODY_SIZES = {  # kg and metres
    "tiny": (1e-3, 3e-3),
    "usual": (2.0, 0.2),
    "huge": (500.0, 1.0),
}
MOTIONS = ("rich", "rich", "static", "held", "few")
PRIORS = ("near", "near", "bad", "flat", "on its bounds", "without mass")
NOISES = (0.0, 1e-3, 0.05, 1.0)  # of each joint's RMS torque
REGULARIZERS = ("entropic", "euclidean", "pullback")
FRICTION = ((), ("viscous", "coulomb"), ("viscous", "coulomb", "offset"))


@dataclass(frozen=True, eq=False)
class FitProblem:
    """An Information, options of `fit.consistent` for it, and the drawn kinds in words by what they are kinds of."""

    info: Information
    options: dict
    kinds: dict = field(default_factory=dict)


def draw(seed: int) -> FitProblem:
    """The problem of a seed. What is known is true of the bodies that made the torques, so it is feasible."""
    rng = np.random.default_rng([22, seed])
    size = ("tiny", "usual", "huge", "mixed")[seed % 4]
    joints = int(rng.integers(1, 6)) if rng.uniform() < 0.6 else int(rng.integers(6, 31))
    base = "floating" if rng.uniform() < 0.3 else "fixed"
    motion, state = rng.choice(MOTIONS), rng.choice(PRIORS)
    regularizer, weight = REGULARIZERS[seed // 4 % 3], 10.0 ** rng.uniform(-8, 4)
    extents, robot = random_robot(rng, joints, size, floating=base == "floating")
    theta = np.array([body(rng, *each, flat=state == "on its bounds") for each in extents])
    terms = FRICTION[rng.integers(len(FRICTION))]
    truth = robot.with_inertias(theta).with_joint_properties(
        damping=rng.uniform(0, 1, robot.nv) * (state != "on its bounds"),
        frictionloss=rng.uniform(0, 1, robot.nv) * (state != "on its bounds"),
    )
    noise = float(rng.choice(NOISES))
    log = recording(rng, truth, motion, noise, friction=bool(terms))
    prior = {
        "near": lambda: np.array([scattered(rng, each) for each in theta]),
        "bad": lambda: np.array([bad(rng, *each) for each in extents]),
        "flat": lambda: np.array([body(rng, *each, flat=True) for each in extents]),
        "on its bounds": lambda: theta,
        "without mass": lambda: theta * (rng.uniform(size=(len(theta), 1)) < 0.5),
    }[state]()
    robot = robot.with_inertias(np.where(prior[:, :1] > 0, prior, theta))  # a model like the prior, as files are
    sums = "qr" if rng.uniform() < 0.5 else "gram"
    info = accumulate(
        robot, log, friction=terms, armature=bool(terms) and rng.uniform() < 0.5, sums=sums, engine="numpy"
    )
    options = {"prior": prior, "regularizer": regularizer, "weight": weight}
    known = "nothing"
    if state in ("near", "on its bounds") and rng.uniform() < 0.5:
        known, more = knowledge(rng, robot.body_names, theta)
        options |= more
    kinds = {
        "bodies": size,
        "joints": joints,
        "base": base,
        "motion": str(motion),
        "prior": str(state),
        "regularizer": regularizer,
        "weight": weight,
        "noise": noise,
        "known": known,
        "sums": sums,
    }
    return FitProblem(info, options, kinds)


def random_robot(rng, joints: int, size: str, *, floating: bool):
    """Mass and extent of each body, and a tree of as many joints that turn or slide."""
    names = list(BODY_SIZES) if size == "mixed" else [size]
    extents = [BODY_SIZES[names[rng.integers(len(names))]] for _ in range(joints)]
    extents = [(mass * 10 ** rng.uniform(-0.3, 0.3), extent) for mass, extent in extents]
    links, parts = ['<link name="ground"/>'], []
    for k, (_, extent) in enumerate(extents):
        parent = f"l{int(rng.integers(max(0, k - 2), k))}" if k else "ground"
        axis, place = rng.normal(size=3), rng.normal(size=3) * 2 * (extents[k - 1][1] if k else extent)
        links.append(
            f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
            "</inertial></link>"
        )
        parts.append(
            f'<joint name="j{k}" type="{"prismatic" if rng.uniform() < 0.2 else "revolute"}"><parent link="{parent}"/>'
            f'<child link="l{k}"/><origin xyz="{_words(place)}" rpy="{_words(rng.uniform(-3, 3, 3))}"/>'
            f'<axis xyz="{_words(axis / np.linalg.norm(axis))}"/><limit lower="-3" upper="3" effort="9" velocity="9"/>'
            "</joint>"
        )
    if floating:  # the first body is the base, and its joint is free
        links, parts = links[1:], parts[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_text(f'<robot name="random">{"".join(links + parts)}</robot>', encoding="utf-8")
        return extents, sy.load(path, floating=floating)


def _words(values) -> str:
    return " ".join(f"{x:.12g}" for x in values)


def body(rng, mass: float, extent: float, *, flat: bool = False) -> np.ndarray:
    """(10,) parameters of a random body, one part in a thousand thick if flat: the thinnest prior that is kept."""
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    spread = rng.uniform(0.2, 1.0, 3) ** 2
    if flat:
        spread[0] = 1e-3 * spread.max()
    com = extent * rng.normal(size=3) * 0.5
    return _parameters(mass, com, extent**2 * axes @ np.diag(spread) @ axes.T)


def scattered(rng, theta) -> np.ndarray:
    """Another body near one (10,)."""
    com = theta[1:4] / theta[0]
    second = sy.inertia.pseudo.to_matrix(theta)[:3, :3] / theta[0] - np.outer(com, com)
    A = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    shift = 0.3 * np.sqrt(np.trace(second)) * rng.normal(size=3)
    return _parameters(theta[0] * np.exp(0.3 * rng.normal()), com + shift, A @ second @ A.T)


def bad(rng, mass: float, extent: float) -> np.ndarray:
    """A body of another mass and size by factors of up to a hundred and ten, elsewhere."""
    return body(rng, mass * 10 ** rng.uniform(-2, 2), extent * 10 ** rng.uniform(-1, 1), flat=rng.uniform() < 0.3)


def _parameters(mass, com, second) -> np.ndarray:
    """(10,) of mass, centre of mass (3,) and covariance (3, 3) of its mass."""
    return sy.inertia.pseudo.to_parameters(
        mass * np.block([[second + np.outer(com, com), com[:, None]], [com[None], np.ones((1, 1))]])
    )


def recording(rng, truth, motion: str, noise: float, *, friction: bool) -> sy.Log:
    """States and noisy torques: rich, standing still, some joints held, or fewer samples than unknowns."""
    samples = int(rng.integers(1, 4)) if motion == "few" else int(rng.integers(20, 200))
    q = rng.normal(size=(samples, truth.nq))
    if truth.nq != truth.nv:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    v, a = rng.normal(size=(2, samples, truth.nv))
    if motion == "static":
        v[:], a[:] = 0, 0
    elif motion == "held":
        held = rng.uniform(size=truth.nv) < rng.uniform(0.1, 0.9)
        v[:, held], a[:, held] = 0, 0
        joints = held[truth.nv - (truth.nq - 7 if truth.nq != truth.nv else truth.nq) :]
        q[:, truth.nq - len(joints) :][:, joints] = q[:1, truth.nq - len(joints) :][:, joints]
    tau = sy.inverse_dynamics(truth, q, v, a)
    if friction:
        layout = layout_of(truth, friction=("viscous", "coulomb"))
        dofs = list(layout.dofs)
        loss, damping = truth.frictionloss[dofs], truth.damping[dofs]
        tau[:, dofs] += damping * v[:, dofs] + loss * np.tanh(v[:, dofs] / 0.01)
    tau += noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return sy.Log(t=0.01 * np.arange(samples), q=q, v=v, a=a, tau=tau, joint_names=truth.dof_names)


def knowledge(rng, names, theta) -> tuple[str, dict]:
    """Something true of the bodies theta (nb, 10)."""
    some = [name for name in names if rng.uniform() < 0.6] or list(names[:1])
    index = [names.index(name) for name in some]
    kind = str(rng.choice(["masses", "whole mass", "ellipsoids", "two ellipsoids"]))
    if kind == "masses":
        return kind, {"masses": {name: float(theta[i, 0]) for name, i in zip(some, index, strict=True)}}
    if kind == "whole mass":
        return kind, {"masses": {"all": float(theta[:, 0].sum())}}
    around = [covariance_ellipsoid(theta[i]) for i in index]
    around = [Ellipsoid(each.center, 3.0**2 * each.Q) for each in around]
    if kind == "ellipsoids":
        return kind, {"within": dict(zip(some, around, strict=True))}
    beside = [Ellipsoid(each.center + np.sqrt(np.diag(each.Q)), each.Q) for each in around]
    return kind, {"within": {name: [a, b] for name, a, b in zip(some[:3], around, beside, strict=False)}}
