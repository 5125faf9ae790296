"""Time the charts of the consistent inertias on large batches, beside Pinocchio's log-Cholesky in a Python loop.

Medians in seconds. Aim: log-Cholesky forward and Jacobian of a million bodies under 1.5 s on two cores.
"""

import numpy as np

from evidence.bench.timing import median_seconds
from steelyard.inertia import exponential, log_cholesky, principal


def time_chart(chart, bodies):
    """Medians of forward, Jacobian, inverse, and forward with Jacobian, of one chart."""
    theta = log_cholesky.to_parameters(0.5 * np.random.default_rng(0).normal(size=(bodies, 10)))
    phi = chart.from_parameters(theta)
    forward = median_seconds(lambda: chart.to_parameters(phi))
    jacobian = median_seconds(lambda: chart.jacobian(phi))
    inverse = median_seconds(lambda: chart.from_parameters(theta))
    return {"bodies": bodies, "forward": forward, "jacobian": jacobian, "inverse": inverse, "both": forward + jacobian}


def time_pinocchio(bodies):
    """The same two quantities from Pinocchio, one body at a time."""
    import pinocchio

    phi = 0.5 * np.random.default_rng(0).normal(size=(bodies, 10))
    charts = [pinocchio.LogCholeskyParameters(row) for row in phi]
    forward = median_seconds(lambda: [chart.toDynamicParameters() for chart in charts])
    jacobian = median_seconds(lambda: [chart.calculateJacobian() for chart in charts])
    return {"bodies": bodies, "forward": forward, "jacobian": jacobian, "both": forward + jacobian}


def run(*, bodies=1_000_000):
    """Medians in seconds, `{row: {"bodies", "forward", "jacobian", "inverse", "both"}}`; slow rows on fewer bodies."""
    return {
        "log_cholesky": time_chart(log_cholesky, bodies),
        "exponential": time_chart(exponential, bodies // 10),
        "principal": time_chart(principal, bodies // 10),
        "pinocchio log-Cholesky": time_pinocchio(bodies // 100),
    }
