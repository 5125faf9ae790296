"""Physically consistent fit: every body in an ellipsoid, friction not negative, rotors as bodies; milliseconds of
processor time, medians.

fit: from the Information to certified parameters. all: from the arrays of the log. The paper's job (Wensing, Kim and
Slotine 2018: 1.67 s) is three links and three rotors with 10,000 samples; beside it the same written by hand with
Pinocchio's regressor and CVXPY, with the same solver.
"""

import importlib.util
import time
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

import steelyard as sy
from evidence.bench.timing import median_seconds
from robots import urdf
from steelyard import fit
from steelyard.fit.prior import EFFECT_SPREAD
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.inertia import Ellipsoid, covariance_ellipsoid, pseudo
from steelyard.information import Information, accumulate
from steelyard.log import Log
from steelyard.model import Robot, library
from steelyard.terms import COULOMB_WIDTH

REPEATS = 9
EXTENT = 2.4  # semi-axes of the ellipsoids, in root-mean-square extents of the true bodies
HUMANOID = "g1_29dof_rev_1_0"
WEIGHT = 1.0
FINE = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


@dataclass(frozen=True, eq=False)
class Problem:
    """A fit to time: model, log, Information, and the ellipsoid of each body by name."""

    robot: Robot
    log: Log
    info: Information
    within: dict[str, Ellipsoid]


def run() -> dict:
    rows = {}
    problems = {"Cheetah 3 leg, 3 rotors": leg_problem(), "PUMA 560, 6 rotors": arm_problem()}
    humanoid = sy.load(urdf(HUMANOID), floating=True)
    problems["G1, 30 bodies, no rotors"] = problem(humanoid, 1000, rotors=False)
    for name, each in problems.items():
        estimate = fit.consistent(each.info, within=each.within)
        rows[name] = {
            "fit": median_ms(lambda each=each: fit.consistent(each.info, within=each.within)),
            "binding": len(estimate.binding),
            "gap": f"{estimate.certificate.duality_gap:.0e}",
        }
    rows |= paper_job()
    return rows


def paper_job() -> dict:
    """Three links, three rotors, 10,000 samples, from arrays to certified parameters."""
    each = leg_problem(samples=10_000)

    def ours(engine: str = "native"):
        return fit.consistent(accumulate(each.robot, each.log, rotors=True, engine=engine), within=each.within)

    fit_alone = median_ms(lambda: fit.consistent(each.info, within=each.within))
    rows = {
        "paper B's job, fused kernel": {"fit": fit_alone, "all": median_ms(ours)},
        "paper B's job, NumPy": {"all": median_ms(lambda: ours("numpy"))},
    }
    missing = [name for name in ("cvxpy", "pinocchio") if importlib.util.find_spec(name) is None]
    if missing:
        return rows | {"by hand, Pinocchio and CVXPY": {"all": f"{missing[0]} is not installed"}}
    expected = ours()
    by_hand = Script(each, expected.noise)
    found = each.info.basis.regroup(by_hand())
    rows["by hand, Pinocchio and CVXPY"] = {
        "all": median_ms(by_hand, repeats=3),
        "distance from ours": f"{np.abs(found - expected.base).max() / np.abs(expected.base).max():.0e}",
    }
    return rows


def median_ms(function, repeats: int = REPEATS) -> float:
    """Median processor time in ms, after a first call."""
    return 1e3 * median_seconds(function, repeats, time.process_time)


def leg_problem(samples: int = 2000, noise: float = 0.2) -> Problem:
    return problem(library.cheetah3_leg(), samples, rotors=True, noise=noise)


def arm_problem() -> Problem:
    return problem(library.puma560(), 2000, rotors=True)


def problem(model: Robot, samples: int, *, rotors: bool, noise: float = 0.2) -> Problem:
    """Random states of a robot whose true bodies are others than the model's, and noisy torques."""
    rng = np.random.default_rng(0)
    count = model.nb + len(model.rotors) * rotors
    theta, _ = fit.prior.consistent_prior(model, model, count)
    model = model.with_inertias(theta[: model.nb])
    if rotors:
        model = model.with_rotor_inertias(theta[model.nb :])
    L = np.linalg.cholesky(pseudo.to_matrix(theta))
    A = L @ (np.eye(4) + 0.3 * rng.normal(size=(count, 4, 4)))
    true = pseudo.to_parameters(A @ np.swapaxes(A, -1, -2))
    truth = model.with_inertias(true[: model.nb])
    if rotors:
        truth = truth.with_rotor_inertias(true[model.nb :])
    q, v, a = rng.normal(size=(3, samples, model.nv))
    if model.nq != model.nv:  # a free base: unit quaternions
        q = rng.normal(size=(samples, model.nq))
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    tau = sy.inverse_dynamics(truth, q, v, a, rotors=rotors)
    joints = slice(0 if model.nq == model.nv else 6, None)
    tau[:, joints] += 0.5 * v[:, joints] + 0.8 * np.tanh(v[:, joints] / COULOMB_WIDTH)
    tau += noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    log = Log(t=0.01 * np.arange(samples), q=q, v=v, a=a, tau=tau, joint_names=model.dof_names)
    info = accumulate(model, log, rotors=rotors, armature=not rotors)
    bodies = zip(info.layout.bodies, map(covariance_ellipsoid, true), strict=True)
    return Problem(model, log, info, {name: Ellipsoid(e.center, EXTENT**2 * e.Q) for name, e in bodies})


class Script:
    """The same fit as one writes it by hand: Pinocchio's regressor in a loop, rotors as joints of their own that turn
    `ratio` times as fast, one QR decomposition, and matrices in a modelling layer.
    """

    def __init__(self, each: Problem, noise):
        import pinocchio as pin

        self.problem, self.noise, self.pin = each, noise, pin
        path = files("steelyard.model") / "data" / "cheetah3_leg.urdf"
        model = pin.buildModelFromUrdf(str(path))
        self.links, self.gears = model.njoints - 1, np.zeros((model.nv + len(each.robot.rotors), model.nv))
        self.gears[: model.nv] = np.eye(model.nv)
        self.averages = []
        for rotor in each.robot.rotors:
            carrier = 0 if rotor.carrier is None else int(each.robot.body_index(rotor.carrier)) + 1
            place = pin.SE3(rotor.rotation, rotor.position)
            model.addJoint(carrier, pin.JointModelRevoluteUnaligned(*rotor.own_axis), place, rotor.name)
            self.gears[model.nv - 1, each.robot.dof_names.index(rotor.joint)] = rotor.gear_ratio
            self.averages.append(rotor.content @ rotor.reading)
        self.model, self.data = model, model.createData()

    def __call__(self) -> np.ndarray:
        """(p,) parameters in the order of the problem's layout."""
        log = self.problem.log
        speeds, torques = self.gears @ log.v.T, log.tau / self.noise
        states = zip((self.gears @ log.q.T).T, speeds.T, (self.gears @ log.a.T).T, strict=True)
        Y = np.stack([self.gears.T @ self.pin.computeJointTorqueRegressor(self.model, self.data, *s) for s in states])
        for i, average in enumerate(self.averages, start=self.links):
            Y[..., 10 * i : 10 * i + 10] = Y[..., 10 * i : 10 * i + 10] @ average
        I = np.eye(log.v.shape[1])
        terms = (log.v, np.tanh(log.v / COULOMB_WIDTH), np.ones_like(log.v))
        Y = np.concatenate([Y, *(each[:, :, None] * I for each in terms)], axis=2) / self.noise[:, None]
        R = np.linalg.qr(np.column_stack([Y.reshape(-1, Y.shape[2]), torques.ravel()]), mode="r")
        return self.solution(R[:, :-1], R[:, -1], np.sqrt(np.mean(log.tau**2, axis=0)))

    def solution(self, R, r, rms) -> np.ndarray:
        import cvxpy as cp

        each, rows, asked = self.problem, [], []
        theta0 = np.concatenate([each.robot.inertias, [rotor.theta for rotor in each.robot.rotors]])
        bodies, friction = [cp.Variable((4, 4), symmetric=True) for _ in theta0], cp.Variable(9)
        columns = []
        for name, theta, W in zip(each.info.layout.bodies, theta0, bodies, strict=True):
            L = np.linalg.cholesky(pseudo.to_matrix(theta))
            J = L @ W @ L.T
            columns.append(cp.hstack([J[3, 3], J[0, 3], J[1, 3], J[2, 3], J[1, 1] + J[2, 2], -J[0, 1],
                                      J[0, 0] + J[2, 2], -J[0, 2], -J[1, 2], J[0, 0] + J[1, 1]]))  # fmt: skip
            rows.append(np.sqrt(WEIGHT / 2) * cp.vec(W - np.eye(4), order="C"))
            asked += [W >> THRESHOLDS.eigenvalue * np.eye(4), cp.trace(J @ each.within[name].quadric) / theta[0] >= 0]
        rows.append(np.sqrt(WEIGHT) / EFFECT_SPREAD * friction)
        x = cp.hstack([*columns, cp.multiply(np.tile(rms, 3), friction)])
        cost = cp.sum_squares(cp.hstack([R @ x - r, *rows]))
        cp.Problem(cp.Minimize(cost), [*asked, friction[:6] >= 0]).solve(solver="CLARABEL", **FINE)
        return x.value
