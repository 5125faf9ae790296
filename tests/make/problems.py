"""Identification problems with known truth, built without our simulator."""

import cvxpy as cp
import numpy as np

from robots import random_state
from steelyard.dynamics.effects import effect_column
from steelyard.fit.prior import model_parameters
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import whiten
from steelyard.inertia import pseudo
from steelyard.log import Log
from steelyard.terms import layout_of


def scattered(theta, rng, spread=0.3):
    """Other consistent inertias near the given ones: `J = L (1 + S)(1 + S)^T L^T` with a random S, `J0 = L L^T`."""
    L = np.linalg.cholesky(pseudo.to_matrix(theta))
    A = L @ (np.eye(4) + spread * rng.normal(size=(*theta.shape[:-1], 4, 4)))
    return pseudo.to_parameters(A @ np.swapaxes(A, -1, -2))


def with_friction(robot, rng):
    """The robot with viscous and Coulomb friction and armature at random."""
    return robot.with_joint_properties(
        damping=rng.uniform(0.1, 1.0, robot.nv),
        frictionloss=rng.uniform(0.1, 1.0, robot.nv),
        armature=rng.uniform(0.01, 0.1, robot.nv),
    )


def random_log(truth, rng, *, samples=2000, noise=0.0, torque=None):
    """A log of independent random states; torques by `torque(q, v, a)` with the truth's friction and armature added."""
    q, v, a = random_state(truth, rng, (samples,))
    layout = layout_of(truth, friction=("viscous", "coulomb"), armature=True)
    values = model_parameters(truth, layout)
    tau = torque(q, v, a)
    for term in layout.terms:
        dofs = list(layout.dofs)
        tau[:, dofs] += values[layout.term(term)] * effect_column(term, v[:, dofs], a[:, dofs])
    level = noise * np.sqrt(np.mean(tau**2, axis=0))
    return Log(
        t=np.arange(samples) * 0.01,
        q=q,
        v=v,
        a=a,
        tau=tau + level * rng.normal(size=tau.shape),
        joint_names=truth.dof_names,
    )


def true_base(info, truth):
    """Base parameters of the truth in the columns of an Information."""
    return info.basis.regroup(model_parameters(truth, info.layout))


def cvxpy_solution(info, noise, theta0, weight):
    """The same problem in a modelling layer: squared cost, in theta itself."""
    problem = whiten(info.base.weighted(info.independence / noise**2))
    layout, nb = info.layout, len(theta0)
    x = cp.Variable(layout.size)
    cost = cp.sum_squares(problem.R @ info.basis.regrouping @ x - problem.r)
    constraints = []
    J_of = [pseudo.to_matrix(row) for row in np.eye(10)]
    for i in range(nb):
        J0 = pseudo.to_matrix(theta0[i])
        half = np.linalg.inv(np.linalg.cholesky(J0))
        J = sum(x[10 * i + k] * J_of[k] for k in range(10))
        cost += weight / 2 * cp.sum_squares(half @ (J - J0) @ half.T)
        constraints.append(half @ (J - THRESHOLDS.eigenvalue * J0) @ half.T >> 0)
    rms = np.sqrt(info.energy / info.counts)
    for term in layout.terms:
        cost += weight * cp.sum_squares((x[layout.term(term)] - 0.0) / (10.0 * rms))  # the model states no friction
        if term != "offset":
            constraints.append(x[layout.term(term)] >= 0)
    cp.Problem(cp.Minimize(cost), constraints).solve(
        solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
    )
    return x.value
