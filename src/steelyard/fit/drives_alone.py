"""The fit that leaves every link as its model has it: friction, armature and constant torques of the drives alone.

A fit of all parameters gets the credit for what friction explains. Beside this one, links get theirs only.
"""

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.estimate import Certificate, Estimate, Status, estimate_of
from steelyard.fit.nonnegative import nonnegative_least_squares
from steelyard.fit.prior import model_parameters
from steelyard.fit.whitening import require_enough_samples
from steelyard.inertia import pseudo
from steelyard.information import Information

ROUNDS = 3  # of the noise, which matters where columns act on several joints
RANK = 1e-12  # of the largest eigenvalue at unit diagonal


def drives_alone(info: Information) -> Estimate:
    """Least squares of friction and drives beside the links of the model.

    Args:
        info: Information of a robot.

    Returns:
        An Estimate whose links are exactly those of the model; they are its `fixed` columns. Viscous and Coulomb
        friction and armature are not negative.

    Raises:
        FitError: a raw regression, which has no model, or fewer equations than unknowns.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot, rng = sy.library.scara(), np.random.default_rng(0)
        >>> q, v, a = rng.normal(size=(3, 200, robot.nv))
        >>> tau = sy.inverse_dynamics(robot, q, v, a) + 2.0 * v
        >>> log = sy.Log(t=np.arange(200) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
        >>> estimate = sy.fit.drives_alone(sy.accumulate(robot, log, friction="viscous"))
        >>> bool(np.allclose(estimate.friction["viscous"], 2.0)), bool((estimate.theta == robot.inertias).all())
        (True, True)
    """
    if info.robot is None:
        raise FitError("Links are kept as their model has them, and this Information comes from a raw regression.")
    require_enough_samples(info)
    layout = info.layout
    drives = np.arange(layout.inertial.stop, layout.size)
    parameters = model_parameters(info.robot, layout)
    parameters[drives] = 0.0
    regrouping = info.basis.regrouping
    known, directions = regrouping @ parameters, regrouping[:, drives]
    signed = np.isin(drives, layout.nonnegative)
    measured = info.energy > 0
    noise = np.sqrt(info.energy / np.maximum(info.counts, 1))
    found, curvature = np.zeros(len(drives)), np.zeros((len(drives), len(drives)))
    for _ in range(ROUNDS if len(drives) else 0):
        weight = np.where(measured, 1 / np.maximum(noise, 1e-9 * max(noise.max(), 1e-300)) ** 2, 0.0)
        G = info.squares.weighted(weight)
        curvature = directions.T @ G @ directions
        found = _solved(curvature, directions.T @ (weight @ info.moment - G @ known), signed)
        noise = np.sqrt(info.residual_energy(known + directions @ found) / np.maximum(info.counts, 1))
    parameters[drives] = found
    smallest = np.linalg.eigvalsh(pseudo.to_matrix(parameters[layout.inertial].reshape(-1, 10)))
    physical = bool((smallest[:, 0] >= 0).all())
    lower = np.full(layout.size, -np.inf)
    lower[drives[signed]] = 0.0
    return estimate_of(
        info,
        "friction and drives, links as given",
        parameters,
        directions @ np.linalg.pinv(curvature, hermitian=True) @ directions.T / info.independence,
        noise=noise,
        status=Status.OK,
        physical=physical,
        certificate=Certificate(0.0, 1.0, float(found[signed].min(initial=np.inf))) if physical else None,
        fixed=tuple(range(layout.inertial.stop)),
        lower_bounds=lower,
    )


def _solved(G, b, signed) -> np.ndarray:
    """Minimum of `x^T G x / 2 - b^T x`, x (k,) not negative where signed; 0 along what G does not show."""
    size = np.sqrt(np.diag(G))
    found = np.zeros(len(b))
    kept = size > np.sqrt(RANK) * size.max(initial=0.0)
    if not kept.any():
        return found
    scale = 1 / size[kept]
    values, axes = np.linalg.eigh(scale[:, None] * G[np.ix_(kept, kept)] * scale)
    root = np.sqrt(np.maximum(values, RANK * values[-1]))
    solved = nonnegative_least_squares(root[:, None] * axes.T, axes.T @ (scale * b[kept]) / root, free=~signed[kept])
    found[kept] = scale * solved[0]
    return found
