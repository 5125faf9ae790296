"""Fits to the torque alone: the regressor is evaluated at simulated motion (DIDIM; Gautier, Janot and Vandanjon 2013).

The robot's model is simulated in closed loop along the reference that the robot was given. Its motion carries no sensor
noise and needs no differentiation, and when the model is right it is the robot's: `Y(simulated) x = tau(measured)`.
Solved and simulated again until it stays; each Information is an ordinary one, for any fit.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from steelyard.errors import OptionError
from steelyard.fit.estimate import Estimate
from steelyard.fit.estimators import Fit, as_list, fit_of
from steelyard.fit.model_geometry import consistent
from steelyard.information import accumulate, require_same_samples
from steelyard.log import Log
from steelyard.model import Robot

TOLERANCE = 0.01  # RMS step in standard deviations at which it has converged


def output_torque(
    robot: Robot,
    logs: Log | Iterable[Log],
    simulated: Callable[[Estimate, Log], Log],
    *,
    fit: str | Fit = "consistent",
    iterations: int = 10,
    **columns,
) -> Estimate:
    """Fit of the measured torque along simulated motion, repeated with the model it gives.

    It starts from a fit of the measured motion.

    Args:
        robot: the robot.
        logs: one or several, with q, v, a and tau.
        simulated: called with a physically consistent Estimate and a measured log, returns q, v and a of the model's
            motion at the log's time stamps, filtered like it (`simulate.follow` and `filters.differentiate`).
        fit: "least_squares", "consistent" or a function of an Information.
        iterations: passes at most.
        columns: options of `accumulate`.

    Returns:
        The Estimate.

    Raises:
        LogError: samples do not match.
    """
    solve, measured = fit_of(fit), as_list(logs)
    if iterations < 1:
        raise OptionError(f"iterations is at least 1; got {iterations!r}.")
    info = accumulate(robot, measured, **columns)
    estimate, passes, converged = solve(info), 0, False
    while passes < iterations and not converged:
        passes += 1
        model = estimate if estimate.physical else consistent(info)  # no other can be simulated
        info = accumulate(robot, (_swapped(simulated(model, log), log) for log in measured), **columns).base
        last, estimate = estimate.base, solve(info)
        step = estimate.base - last
        G = info.weighted(info.independence / estimate.noise**2).G
        converged = bool(np.sqrt(step @ G @ step / len(step)) < TOLERANCE)
    end = f"converged in {passes} simulations" if converged else f"not converged in {passes} simulations: allow more"
    return replace(
        estimate,
        method=f"{estimate.method}, along simulated motion",
        notes=(*estimate.notes, f"Output-torque fit: {end}."),
    )


def _swapped(motion: Log, log: Log) -> Log:
    """The simulated motion with the measured torque."""
    require_same_samples(log, motion)
    return motion.replace(tau=log.tau)
