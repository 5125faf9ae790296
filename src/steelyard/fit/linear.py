"""Weighted least squares on base parameters: unbiased for clean regressors, no physical constraints."""

from steelyard.fit.estimate import Estimate, Status, identified_robot
from steelyard.fit.prior import model_parameters
from steelyard.fit.whitening import (
    Whitened,
    known_noise,
    require_enough_samples,
    weak_directions,
    weigh_by_noise,
    whiten,
)
from steelyard.information import Information


def least_squares(info: Information, *, noise=None) -> Estimate:
    """Base parameters by least squares, rows weighted by the noise of their joint (iterated, or known: noise (g,)).

    Full parameters are the ones nearest to the model's that have these base parameters (of least norm without a model);
    they predict torques but need not be physical. The covariance (r, r) takes residuals as independent between samples.
    Raises FitError for fewer equations than unknowns, OptionError for a noise of another shape.
    """
    require_enough_samples(info)
    weighted, noise = weigh_by_noise(info, known_noise(info, noise))
    problem = whiten(weighted)
    return unconstrained("least squares", info, problem, problem.solve(), noise)


def unconstrained(method: str, info: Information, problem: Whitened, base, noise) -> Estimate:
    """The Estimate of base parameters (r,) that whitened data alone decided, at a noise (g,) of the row groups."""
    robot = info.robot
    prior = None if robot is None else model_parameters(robot, info.layout)
    parameters = info.basis.lift(base, prior)
    weakest = weak_directions(problem, info.layout, info.basis)
    return Estimate(
        method=method,
        layout=info.layout,
        basis=info.basis,
        parameters=parameters,
        covariance=problem.covariance(),
        noise=noise,
        group_names=info.group_names,
        samples=info.n,
        status=Status.WEAK_EXCITATION if weakest else Status.OK,
        coulomb_width=info.coulomb_width,
        prior=robot,
        robot=identified_robot(robot, info.layout, parameters),
        weakest=weakest,
        notes=("Full parameters are base parameters lifted to the nearest model; they need not be physical.",),
    )
