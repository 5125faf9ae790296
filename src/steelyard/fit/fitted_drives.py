"""The fit that leaves every link as its model has it: friction, armature and constant torques of the drives alone.

A fit of all parameters gets the credit for what friction explains. Beside this one, links get theirs only.
"""

import numpy as np

from steelyard.errors import FitError
from steelyard.fit.estimate import Certificate, Estimate, Status, estimate_of
from steelyard.fit.prior import model_parameters
from steelyard.fit.whitening import require_enough_samples
from steelyard.inertia import pseudo
from steelyard.information import Information

ROUNDS = 3  # of the noise, which matters where columns act on several joints
RANK = 1e-12  # of the largest eigenvalue at unit diagonal
CHANGES = 10  # of the active set, for each unknown
TOLERANCE = 1e-12  # of the largest slope at unit columns: a smaller one is rounding


def drives_alone(info: Information, *, constants: bool = True) -> Estimate:
    """Least squares of friction and drives beside the links of the model.

    Args:
        info: Information of a robot.
        constants: whether constant torques are fitted, which about one pose take the place of gravity.

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
        >>> estimate = sy.fit.drives_alone(sy.accumulate(robot, log, friction=("viscous", "coulomb")))
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
    if not constants:
        drives = drives[[not layout.names[each].endswith(".offset") for each in drives]]
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
    kept = size > 0  # joints differ by their noise: sizes say nothing
    if not kept.any():
        return found
    scale = 1 / size[kept]
    values, axes = np.linalg.eigh(scale[:, None] * G[np.ix_(kept, kept)] * scale)
    root = np.sqrt(np.maximum(values, RANK * values[-1]))
    solved = nonnegative_least_squares(root[:, None] * axes.T, axes.T @ (scale * b[kept]) / root, free=~signed[kept])
    found[kept] = scale * solved[0]
    return found


def nonnegative_least_squares(A, b, free=None) -> tuple[np.ndarray, float]:
    """Minimise `||A x - b||` with x >= 0, by active sets; the import of SciPy's takes longer than all uses in a job.

    Args:
        A: (m, k), of any rank.
        b: (m,).
        free: (k,) unknowns that may be negative all the same; none by default.

    Returns:
        x (k,) and the sum of squared residuals.

    Source:
        Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
    """
    size = np.linalg.norm(A, axis=0)
    usable = size > 0
    scale = np.where(usable, size, 1.0)
    A = A / scale
    free = np.zeros(A.shape[1], dtype=bool) if free is None else np.asarray(free, dtype=bool) & usable
    x, passive = np.zeros(A.shape[1]), free.copy()
    if free.any():
        x[free] = np.linalg.lstsq(A[:, free], b)[0]
    least = TOLERANCE * max(float(np.linalg.norm(b)), 1e-300)
    for _ in range(CHANGES * A.shape[1]):
        slope = np.where(passive | ~usable, -np.inf, A.T @ (b - A @ x))
        best = int(np.argmax(slope)) if len(slope) else 0
        if not len(slope) or slope[best] <= least:
            break
        passive[best] = True
        while True:
            trial = np.zeros_like(x)
            trial[passive] = np.linalg.lstsq(A[:, passive], b)[0]
            below = passive & ~free & (trial <= 0)
            if not below.any():
                break
            step = np.min(x[below] / np.maximum(x[below] - trial[below], 1e-300))
            x = x + step * (trial - x)
            passive &= free | (x > least)
        x = trial
    left = b - A @ x
    return x / scale, float(left @ left)
