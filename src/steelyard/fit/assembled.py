"""The program of a fit: weighed data, prior and constraints together."""

import numpy as np

from steelyard.fit.homogeneous import ratios_about
from steelyard.fit.program import Program, Residual, met
from steelyard.fit.weighed import Weighed, effect_pull, first_noise, prior_parameters, weighed
from steelyard.information import Information

# Weight of a pullback prior beside a Euclidean one. To that a body of a gram weighs nothing: where data does not see it
# either, a fit would let it grow to tons for the smallest gain elsewhere.
EUCLIDEAN_LEAST = 1e-8
SETTLED = 1e-9  # of a column's reach, below which equalities leave it no freedom


def assembled(data: Weighed, known, regularizer: str, weight: float) -> Program:
    """The program of weighed data and what is known. Raises Infeasible where equalities contradict each other."""
    layout, start, directions = data.info.layout, data.start, data.directions
    bodies, effects = np.arange(layout.inertial.stop), np.arange(layout.inertial.stop, layout.size)
    pull = np.zeros((len(effects), len(start)))
    pull[:, effects] = np.diag(effect_pull(data.info, weight) * data.effects)
    relative = np.eye(len(bodies), len(start))
    penalty = {
        "entropic": lambda: pull,
        "pullback": lambda: np.concatenate([np.sqrt(weight / 2) * relative, pull]),
        "euclidean": lambda: np.concatenate(
            [np.sqrt(weight / 2) * directions[bodies], np.sqrt(EUCLIDEAN_LEAST / 2) * relative, pull]
        ),
    }[regularizer]()
    A = np.concatenate([data.turned, penalty])
    b = np.concatenate([data.problem.r - data.columns @ start, np.zeros(len(penalty))])
    spread, reach = relative, np.linalg.norm(directions, axis=1)
    y = np.zeros(len(start))
    if any(each.equality for each in known):
        y, N = met(known, start, directions)
        A, b, spread, start, directions = A @ N, b - A @ y, N[bodies], start + directions @ y, directions @ N
    return Program(
        residual=Residual(A, b, max(data.info.c - float(data.problem.r @ data.problem.r), 0.0)),
        start=start,
        directions=directions,
        offset=y[bodies],
        spread=spread,
        entropic_weight=weight if regularizer == "entropic" else 0.0,
        constraints=known,
        given=tuple(np.flatnonzero(np.linalg.norm(directions, axis=1) <= SETTLED * reach).tolist()),
    )


def unconstrained_program(info: Information, theta0, weight: float, noise=None) -> tuple[Program, np.ndarray]:
    """The program of `consistent` with its pullback prior theta0 (nb, 10) and no constraints, and the noise (g,) used.

    noise: what unconstrained least squares leaves, by default.
    """
    info = ratios_about(info, info.basis.regroup(prior_parameters(info, theta0))).of(info)
    noise = first_noise(info) if noise is None else np.asarray(noise, dtype=float)
    return assembled(weighed(info, noise, theta0, weight), (), "pullback", weight), noise
