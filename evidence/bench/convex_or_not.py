"""The same fit as a convex program and by descent in charts of the consistent bodies, from twenty starts each.

Cheetah 3 leg with three rotors, 300 samples, noise of half the torque. Prior weight 1: the optimum is inside. Prior
weight 0.01: three bodies are on the boundary of what a body can be, where every chart is at infinity. A descent reaches
the optimum when its cost (sums of squares in units of noise) is within 0.01 of the convex one; at most 500 evaluations.
"""

import statistics
import time

import numpy as np

from evidence.bench.chart_descent import CHARTS, SIGNS, descent, unconstrained_program
from evidence.bench.consistent import leg_problem
from steelyard import fit
from steelyard.errors import InertiaError
from steelyard.fit.prior import consistent_prior
from steelyard.inertia import pseudo

STARTS = 20
SPREAD = 1.0  # of the random starts, relative to the prior's extents
REACHED = 0.01


def run() -> dict:
    rows = {}
    info = leg_problem(samples=300, noise=0.5).info
    theta0 = consistent_prior(None, info.robot, len(info.layout.bodies))[0]
    starts = [theta0, *(scattered(theta0, np.random.default_rng(seed)) for seed in range(1, STARTS))]
    for weight in (1.0, 0.01):
        started = time.process_time()
        estimate = fit.consistent(info, weight=weight)
        seconds = time.process_time() - started
        program = unconstrained_program(info, theta0, weight, estimate.noise)
        best = program.cost(np.linalg.solve(program.directions, estimate.parameters - program.start))
        rows[f"convex, weight {weight:g}"] = {"reached": "always", "ms": 1e3 * seconds}
        for chart in CHARTS:
            for signs in SIGNS:
                ends = [one(info, chart, theta0, start, weight, signs, program.noise) for start in starts]
                excess = [end[0].cost - best for end in ends]
                rows[f"{chart}, {signs}, weight {weight:g}"] = {
                    "reached": f"{sum(each < REACHED for each in excess)} of {STARTS}",
                    "converged": f"{sum(end[0].converged for end in ends)} of {STARTS}",
                    "ms": 1e3 * statistics.median(end[1] for end in ends),
                    "evaluations": statistics.median(end[0].evaluations for end in ends),
                    "worst excess cost": max(excess),
                }
    return rows


def one(info, chart, theta0, start, weight, signs, noise):
    """Descent and its processor time in s."""
    started = time.process_time()
    found = descent(info, chart, theta0, noise, start=start, weight=weight, signs=signs)
    return found, time.process_time() - started


def scattered(theta, rng):
    """Consistent bodies far from given ones (nb, 10): `J = A A^T` with `A = L (1 + random)`."""
    while True:
        L = np.linalg.cholesky(pseudo.to_matrix(theta))
        A = L @ (np.eye(4) + SPREAD * rng.normal(size=(len(theta), 4, 4)))
        found = pseudo.to_parameters(A @ np.swapaxes(A, -1, -2))
        try:
            for chart in CHARTS.values():
                chart.from_parameters(found)
        except InertiaError:  # flat to rounding
            continue
        return found
