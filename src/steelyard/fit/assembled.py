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
    offset, spread = data.relative
    changed = start - data.prior
    pull = effect_pull(data.info, weight)
    penalties = {  # square roots of weights, and what is squared: constants, and the part that unknowns change
        "entropic": [],
        "pullback": [(np.sqrt(weight / 2), offset, spread)],
        "euclidean": [
            (np.sqrt(weight / 2), changed[bodies], directions[bodies]),
            (np.sqrt(EUCLIDEAN_LEAST / 2), offset, spread),
        ],
    }[regularizer] + [(1.0, pull * changed[effects], pull[:, None] * directions[effects])]
    A = np.concatenate([data.turned, *(root * change for root, _, change in penalties)])
    b = np.concatenate([data.problem.r - data.columns @ start, *(-root * constant for root, constant, _ in penalties)])
    reach = np.linalg.norm(directions, axis=1)
    if any(each.equality for each in known):
        y, N = met(known, start, directions)
        A, b, start, directions = A @ N, b - A @ y, start + directions @ y, directions @ N
        offset, spread = offset + spread @ y, spread @ N
    return Program(
        residual=Residual(A, b, max(data.info.c - float(data.problem.r @ data.problem.r), 0.0)),
        start=start,
        directions=directions,
        offset=offset,
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
