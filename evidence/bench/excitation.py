"""Designed motions of 10 s beside random ones, sinusoids by hand, and a script of Pinocchio and SciPy.

Samples: how many times as many samples of another motion within the same joint limits bring the information of the
design; by determinant (D), trace (A) and largest value (E) of the covariance in units of the prior, and by the variance
of torques in random motions. Random motions (Fourier, 5 harmonics, 1 to 3 periods; the median of six) and sinusoids
fill the limits of the joints' motion and ignore efforts and collisions; `kept` are random ones drawn in around the
middle until they keep all limits that the design keeps. Lowest and highest of the seeds.

`script`: the same curve and limits without collisions, rigid parameters, equal weights, condition number of unit
columns by SLSQP with finite differences; the design for the same alone.
"""

import re
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import steelyard as sy
from robots import EXAMPLE_ROBOTS, urdf
from steelyard.excite import Design, Limits, design
from steelyard.excite.collisions import scene_of
from steelyard.excite.feasibility import margins
from steelyard.excite.limits import bounds_of, random_states
from steelyard.excite.motion_curves import Fourier
from steelyard.excite.motion_problem import MotionProblem
from steelyard.excite.optimise import random_variables

SEEDS = 2
RANDOM = 6
DRAWN_IN = 0.85  # factor of the excursion of motions that exceed a limit
ITERATIONS = 40  # of the script; further ones change little
MARGIN = 0.05


def run() -> dict:
    """`{motion: {column: value}}`."""
    rows = {}
    for name, path in (("UR10", urdf("ur10_robot")), ("Panda", panda())):
        robot = sy.load(path)
        for criterion in ("D", "A"):
            rows[f"{name}, {criterion}"] = _samples(robot, criterion)
        rows[f"{name}, script"] = _script(robot, path)
    return rows


def panda() -> Path:
    """Panda with its fingers fixed."""
    path = urdf("panda")
    text = re.sub(r'(<joint name="panda_finger_joint\d" type=")prismatic', r"\1fixed", path.read_text())
    text = re.sub(r"<mimic[^>]*/>", "", text).replace("package://example-robot-data/robots", str(EXAMPLE_ROBOTS))
    fixed = Path(tempfile.mkdtemp()) / "panda.urdf"
    fixed.write_text(text)
    return fixed


def _samples(robot, criterion) -> dict:
    each, times, conditions = [], [], []
    for seed in range(SEEDS):
        start = time.perf_counter()
        made = design(robot, criterion=criterion, seed=seed)
        times.append(time.perf_counter() - start)
        conditions.append(made.condition)
        several = [_random(made, seed, kept=kept) for kept in (False, True)]
        several = [np.median([ratios(made, gram) for gram in grams], axis=0) for grams in several]
        each.append(np.concatenate([*several, ratios(made, _sinusoids(made))]))
    low, high = np.min(each, axis=0), np.max(each, axis=0)
    names = [f"{kind} {by}" for kind in ("random", "kept", "sinusoids") for by in ("D", "A", "E", "prediction")]
    row = {name: f"{a:.3g} .. {b:.3g}" for name, a, b in zip(names, low, high, strict=True)}
    return {"s": np.median(times), "condition": np.median(conditions)} | row


def ratios(made: Design, gram) -> np.ndarray:
    """(4,) samples of a motion with the information `gram` (r, r) over those of a design for equal covariance."""
    mine, other = (_sizes(made, g) for g in (made.gram, gram))
    return other / mine


def _sizes(made: Design, gram) -> np.ndarray:
    goal = made.goal
    unit = np.sqrt(np.sum(goal.spread**2, axis=1))  # deviation that the prior leaves to each base parameter
    scaled = unit[:, None] * gram * unit
    size = np.sqrt(np.diag(scaled))
    correlated = scaled / size[:, None] / size
    volume = -(np.linalg.slogdet(correlated)[1] + 2 * np.log(size).sum()) / len(size)
    covariance = np.linalg.inv(correlated) / size[:, None] / size
    torque = goal.reference @ np.linalg.pinv(goal.spread) * unit
    return np.array(
        [
            np.exp(volume),
            np.trace(covariance),
            np.linalg.eigvalsh(covariance)[-1],
            np.trace(torque @ covariance @ torque.T),
        ]
    )


def _problem(made: Design, curve) -> MotionProblem:
    return MotionProblem(made.robot, made.goal, curve, bounds_of(made.robot, Limits()))


def _random(made: Design, seed: int, *, kept: bool):
    """Information (r, r) of random motions. kept: whether they keep efforts and collisions, too."""
    limits = Limits()
    scene = scene_of(made.robot, random_states(made.robot, bounds_of(made.robot, limits))[0].T) if kept else None
    for k in range(RANDOM):
        problem = replace(_problem(made, Fourier(made.duration, 5, 1 + k % 3)), scene=scene)
        z = random_variables(problem, np.random.default_rng([seed, k])) / 0.8
        while kept and not all(m.satisfied for m in margins(problem, problem.coefficients(z), rate=50.0)):
            z = DRAWN_IN * z
        yield problem.gram(problem.coefficients(z))


def _sinusoids(made: Design):
    """One sinusoid a joint, frequencies apart, as large as position and velocity allow."""
    problem = _problem(made, Fourier(made.duration, 12, 1))
    bounds = problem.bounds
    moved = problem.coefficients(np.zeros(problem.curve.size * made.robot.nv))
    for i in range(made.robot.nv):
        order = 2 + i
        rate = 2 * np.pi * order / problem.curve.period
        reach = min(bounds.half[i], bounds.velocity[i] / rate, bounds.acceleration[i] / rate**2)
        moved[order, i] = reach
    return problem.gram(moved)


def _script(robot, path) -> dict:
    limits = Limits(collisions=False, margin=MARGIN)
    options = {"criterion": "condition", "friction": (), "noise": 1.0, "periods": 2, "limits": limits}
    made = design(robot, **options)  # imports
    start = time.perf_counter()
    made = design(robot, **options)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    condition = scripted(path, made)
    theirs = time.perf_counter() - start
    return {
        "s": ours,
        "condition": made.condition,
        "script s": theirs,
        "script condition": condition,
        "time ratio": theirs / ours,
    }


def scripted(path, made: Design) -> float:
    """Condition number that SLSQP with differences reaches on Pinocchio's regressor, from a random motion."""
    import pinocchio as pin
    from scipy.linalg import qr
    from scipy.optimize import minimize

    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    bounds, curve = bounds_of(made.robot, Limits()), made.curve
    t = (np.arange(160) + 0.5) * curve.duration / 160
    values = curve.values(t)
    places = [model.joints[model.getJointId(name)] for name in made.robot.joint_names]

    def states(x):
        q, v, a = (values[:3] @ x.reshape(curve.size, -1)) + np.array([1.0, 0.0, 0.0])[:, None, None] * bounds.middle
        full = np.tile(pin.neutral(model), (len(q), 1))
        for i, joint in enumerate(places):
            turns = joint.nq == 2
            full[:, joint.idx_q : joint.idx_q + joint.nq] = (
                np.stack([np.cos(q[:, i]), np.sin(q[:, i])], axis=1) if turns else q[:, i : i + 1]
            )
        return q, full, v, a

    def regressor(x):
        _, full, v, a = states(x)
        return np.concatenate(
            [pin.computeJointTorqueRegressor(model, data, *each).copy() for each in zip(full, v, a, strict=True)]
        )

    start = _problem(made, curve)
    x = start.coefficients(random_variables(start, np.random.default_rng(0))) - start.coefficients(
        np.zeros(curve.size * made.robot.nv)
    )
    x = x.ravel()
    Y = regressor(x)
    Y = Y / np.where(np.linalg.norm(Y, axis=0) > 1e-9, np.linalg.norm(Y, axis=0), np.inf)
    columns = np.sort(qr(Y, pivoting=True, mode="r")[1][: made.goal.rank])

    def condition(x):
        Y = regressor(x)[:, columns]
        return float(np.log(np.linalg.cond(Y / np.linalg.norm(Y, axis=0))))

    def room(x):
        q, full, v, a = states(x)
        tau = np.array([pin.rnea(model, data, *each).copy() for each in zip(full, v, a, strict=True)])
        used = zip(
            (q - bounds.middle, v, a, tau),
            (bounds.half, bounds.velocity, bounds.acceleration, bounds.effort),
            strict=True,
        )
        return np.concatenate([1 - np.abs(each).max(axis=0) / limit for each, limit in used])

    found = minimize(
        condition, x, method="SLSQP", constraints={"type": "ineq", "fun": room}, options={"maxiter": ITERATIONS}
    )
    x = found.x
    while room(x).min() < -1e-3:  # where it ends outside, the limits are kept by a smaller motion
        x = 0.98 * x
    return float(np.exp(condition(x)))
