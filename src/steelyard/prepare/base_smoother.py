"""Fixed-interval smoother of a base that walks: the most likely states of all samples at once, and their covariances.

The state of a sample is pose and twist of the base in world axes and the points of its feet; errors of rotation are
small rotations of the world, `R <- exp(S(d)) R`. Common to all samples are the plane of the ground and the biases of
the inertial sensor, lines between knots. Factors between samples are inertial integration and feet that stay or roll;
factors at a sample are angular velocity, legs, recorded poses and the ground (feet as states: Bloesch et al. 2012).

The Hessian is block tridiagonal with a border, so a Gauss-Newton step is one elimination from sample to sample.
Covariances of single samples follow from a recursion backwards (Rauch, Tung and Striebel 1965).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.spatial.transform import Rotation

from steelyard.errors import LogError
from steelyard.spatial import cross, rotate, skew

P, TURN, V, W = (slice(k, k + 3) for k in (0, 3, 6, 9))  # position, rotation and twist of a sample
BASE = 12  # columns of a sample before those of feet
PLANE, SENSOR = 3, 6  # columns of the border: height and slope of the ground, biases at each knot
KNOT = 60.0  # s between knots of biases
LOOSE = 1e-6  # 1/m^2, information that a free foot has of itself
BIAS = np.repeat([0.02, 0.1], 3)  # rad/s and m/s^2, standard deviations of biases of calibrated sensors
DRIFT = np.repeat([2e-4, 4e-3], 3)  # the same of their random walk, per root of a second
TIED = 1e-5  # m and rad, of what an unmeasured first pose counts from


@dataclass(frozen=True, eq=False)
class InertialReadings:
    """What an inertial sensor measured, in axes of the base."""

    gyro: NDArray[np.float64]  # and `acceleration`: (n, 3) rad/s, m/s^2, less gravity
    acceleration: NDArray[np.float64]
    lever: NDArray[np.float64]  # (3,) m, place of the sensor
    gyro_noise: float  # and `acceleration_noise`: of a sample
    acceleration_noise: float


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of the base as something else measured them."""

    position: NDArray[np.float64]  # (n, 3) m
    rotation: NDArray[np.float64]  # (n, 3, 3)
    weights: NDArray[np.float64]  # (n, 2) inverse variances of both, zero where there is none


@dataclass(frozen=True, eq=False)
class Feet:
    """Points of feet.

    stays: (f, n - 1, 3) inverse variances of the way of a point between samples less that, 1/m^2, along the world's
    axes; zero where it is free.
    """

    points: NDArray[np.float64]  # (f, n, 3) m, in axes of the base at its origin
    noise: NDArray[np.float64]  # (f,) m, of each
    rolled: NDArray[np.float64]  # (f, n - 1, 3) m by which each moves in the world as its foot rolls
    stays: NDArray[np.float64]
    ground: NDArray[np.float64]  # (f, n) inverse variances of the height of a point over the plane, 1/m^2


@dataclass(frozen=True, eq=False)
class WalkEvidence:
    """All that is known of a walk.

    feet, inertial, poses: see there; the latter two None where there are none. jitter: (n - 1, 12) standard deviations
    of the changes of position, rotation, velocity and angular velocity between samples that integration leaves open.
    """

    t: NDArray[np.float64]  # (n,) s
    feet: Feet
    inertial: InertialReadings | None
    poses: Poses | None
    gravity: NDArray[np.float64]  # (3,) m/s^2
    jitter: NDArray[np.float64]
    flat: float  # standard deviation that the slope of the ground has from a level one


@dataclass(frozen=True, eq=False)
class Path:
    """States of all samples, world axes. p, v, w: (n, 3) m, m/s, rad/s; R: (n, 3, 3); feet: (f, n, 3) m; plane: (3,)
    height of the ground at the origin, m, and slope; biases: (knots, 6) of gyro and accelerometer, axes of the base."""

    p: NDArray[np.float64]
    R: NDArray[np.float64]
    v: NDArray[np.float64]
    w: NDArray[np.float64]
    feet: NDArray[np.float64]
    plane: NDArray[np.float64]
    biases: NDArray[np.float64]

    @property
    def heights(self) -> NDArray[np.float64]:
        """(f, n) m of feet over the plane, along the vertical."""
        return self.feet[..., 2] - self.plane[0] - self.feet[..., :2] @ self.plane[1:]


@dataclass(frozen=True, eq=False)
class _Normal:
    """The normal equations. diagonal (n, m, m), lower (n - 1, m, m): blocks of samples."""

    diagonal: NDArray[np.float64]
    lower: NDArray[np.float64]
    side: NDArray[np.float64]  # (n, m, r) of samples and border; corner (r, r); gradient (n, m), edge (r,)
    corner: NDArray[np.float64]
    gradient: NDArray[np.float64]
    edge: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Eliminated:
    """What elimination finds."""

    free: NDArray[np.float64]  # (n, m) step of samples if the border stays
    border: NDArray[np.float64]  # (r,) its own
    pivots: NDArray[np.float64]  # (n, m, m) what is left of the blocks of samples
    gains: NDArray[np.float64]  # (n - 1, m, m) change of a sample by the next one
    lever: NDArray[np.float64]  # (n, m, r) change of samples by the border
    common: NDArray[np.float64]  # (r, r) covariance of the border


def hats(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, knots) shares that biases at knots have at times t (n,)."""
    count = 1 + int((t[-1] - t[0]) / KNOT + 0.01)
    place = (t - t[0]) / max(t[-1] - t[0], 1e-9) * (count - 1)
    return np.clip(1 - np.abs(place[:, None] - np.arange(count)), 0, 1)


def improved(evidence: WalkEvidence, path: Path, held: bool = False) -> tuple[Path, float, Eliminated]:
    """One Gauss-Newton step from a path, plane and biases held if wanted: the path after it, the root mean square of
    the changes of twists, m/s and rad/s, and the solution. Raises LogError where the state is not determined."""
    found = _solved(_normal(evidence, path))
    border = np.zeros_like(found.border) if held else found.border
    step = found.free + found.lever @ border
    feet = step[:, BASE:].reshape(len(step), -1, 3).swapaxes(0, 1)
    after = Path(
        p=path.p + step[:, P],
        R=Rotation.from_rotvec(step[:, TURN]).as_matrix() @ path.R,
        v=path.v + step[:, V],
        w=path.w + step[:, W],
        feet=path.feet + feet,
        plane=path.plane + border[:PLANE],
        biases=path.biases + border[PLANE:].reshape(path.biases.shape),
    )
    return after, float(np.sqrt(np.mean(step[:, 6:BASE] ** 2))), found


def covariances(found: Eliminated, common=None) -> NDArray[np.float64]:
    """(n, 12, 12) covariances of position, rotation, velocity and angular velocity, in world axes. common: (r, r) of
    plane and biases; None: that of the step."""
    inverse, gain = np.linalg.inv(found.pivots), found.gains
    for k in range(len(gain) - 1, -1, -1):
        inverse[k] += gain[k] @ inverse[k + 1] @ gain[k].T
    lever = found.lever[:, :BASE]
    return inverse[:, :BASE, :BASE] + lever @ (found.common if common is None else common) @ lever.mT


def _normal(evidence: WalkEvidence, path: Path) -> _Normal:
    f, n = path.feet.shape[:2]
    m, shares = BASE + 3 * f, hats(evidence.t)
    knots = shares.shape[1]
    r = PLANE + SENSOR * knots
    sums = _Normal(*map(np.zeros, ((n, m, m), (n - 1, m, m), (n, m, r), (r, r), (n, m), r)))
    _add_motion(evidence, path, sums, shares)
    _add_legs(evidence.feet, path, sums)
    _add_steps(evidence.feet, path, sums)
    _add_ground(evidence, path, sums)
    if evidence.inertial is not None:
        _add_gyro(evidence.inertial, path, sums, shares)
    if evidence.poses is not None:
        _add_poses(evidence.poses, path, sums)
    if evidence.poses is None or not np.any(evidence.poses.weights[:, 0]):  # it counts from the first sample
        sums.diagonal[0, 0, 0] += TIED**-2
        sums.diagonal[0, 1, 1] += TIED**-2
        sums.corner[0, 0] += TIED**-2
        sums.edge[0] += TIED**-2 * path.plane[0]
    if evidence.poses is None:
        sums.diagonal[0, 5, 5] += TIED**-2
    k = np.arange(1, PLANE)
    sums.corner[k, k] += evidence.flat**-2
    sums.edge[k] += evidence.flat**-2 * path.plane[1:]
    _add_biases(path, sums, KNOT)
    return sums


def _add_biases(path: Path, sums: _Normal, span: float):
    """Biases of a calibrated sensor, which drift between knots."""
    for j, bias in enumerate(path.biases):
        own = PLANE + SENSOR * j + np.arange(SENSOR)
        sums.corner[own, own] += BIAS**-2
        sums.edge[own] += BIAS**-2 * bias
        if j:
            weight, change = 1 / (DRIFT**2 * span), bias - path.biases[j - 1]
            for at, sign in ((own, 1), (own - SENSOR, -1)):
                sums.corner[at, at] += weight
                sums.edge[at] += sign * weight * change
            sums.corner[own, own - SENSOR] -= weight
            sums.corner[own - SENSOR, own] -= weight


def _add_motion(evidence: WalkEvidence, path: Path, sums: _Normal, shares):
    """Integration between samples: of velocities by the trapezoidal rule, and of what the sensor feels."""
    n, step = len(path.p), np.diff(evidence.t)[:, None]
    eye, before, after = np.eye(3), *np.zeros((2, n - 1, BASE, BASE))
    rest = np.empty((n - 1, BASE))
    rest[:, P] = np.diff(path.p, axis=0) - step / 2 * (path.v[1:] + path.v[:-1])
    turned = Rotation.from_matrix(path.R[1:] @ path.R[:-1].mT).as_rotvec()
    rest[:, TURN] = turned - step / 2 * (path.w[1:] + path.w[:-1])
    rest[:, V], rest[:, W] = np.diff(path.v, axis=0), np.diff(path.w, axis=0)
    for rows in (P, TURN, V, W):
        before[:, rows, rows], after[:, rows, rows] = -eye, eye
    before[:, TURN, TURN] -= skew(turned) / 2  # the logarithm's Jacobians: what turns as a whole has the same residual
    after[:, TURN, TURN] -= skew(turned) / 2
    for rows, rates in ((P, V), (TURN, W)):
        before[:, rows, rates] = after[:, rows, rates] = -step[:, :, None] / 2 * eye
    sensor, half = evidence.inertial, step[:, :, None] / 2
    if sensor is not None:
        arm = path.R @ sensor.lever
        felt = rotate(path.R, sensor.acceleration - shares @ path.biases[:, 3:])
        rest[:, V] += np.diff(cross(path.w, arm), axis=0)
        rest[:, V] -= step * (evidence.gravity + (felt[1:] + felt[:-1]) / 2)
        levers = skew(path.w) @ skew(arm)
        for block, at, sign in ((before, slice(None, -1), -1), (after, slice(1, None), 1)):
            block[:, V, TURN] = -sign * levers[at] + half * skew(felt[at])
            block[:, V, W] = -sign * skew(arm[at])
    weights = evidence.jitter**-2
    first, second = weights[..., None] * before, weights[..., None] * after
    sums.diagonal[:-1, :BASE, :BASE] += before.mT @ first
    sums.diagonal[1:, :BASE, :BASE] += after.mT @ second
    sums.lower[:, :BASE, :BASE] += after.mT @ first
    sums.gradient[:-1, :BASE] += rotate(first.mT, rest)
    sums.gradient[1:, :BASE] += rotate(second.mT, rest)
    if sensor is not None:
        J = half * (path.R[1:] + path.R[:-1])
        own = weights[:, V, None] * J
        middle = (shares[1:] + shares[:-1]) / 2
        _add_border(sums, middle, 3, J, own, rest[:, V])
        for block, at in ((before, slice(None, -1)), (after, slice(1, None))):
            _add_side(sums, middle, 3, at, slice(0, BASE), block[:, V].mT @ own)


def _add_side(sums: _Normal, shares, first: int, at, columns, product):
    """Add to blocks of samples and biases. product: (n, k, 3) of the columns of samples and the bias at the sample."""
    for j in range(shares.shape[1]):
        own = PLANE + SENSOR * j + first
        sums.side[at, columns, own : own + 3] += shares[:, j, None, None] * product


def _add_border(sums: _Normal, shares, first: int, J, weighted, rest):
    """Add to the blocks of biases alone. J: (n, k, 3) by the bias at the sample, weighted: the same times weights."""
    square, pulled = J.mT @ weighted, rotate(weighted.mT, rest)
    for i in range(shares.shape[1]):
        rows = PLANE + SENSOR * i + first + np.arange(3)
        sums.edge[rows] += shares[:, i] @ pulled
        for j in range(shares.shape[1]):
            both = np.einsum("n,nij->ij", shares[:, i] * shares[:, j], square)
            sums.corner[np.ix_(rows, rows + SENSOR * (j - i))] += both


def _add_gyro(sensor: InertialReadings, path: Path, sums: _Normal, shares):
    """Angular velocity in axes of the base is what the gyro measured less its bias."""
    rest = rotate(path.R.mT, path.w) + shares @ path.biases[:, :3] - sensor.gyro
    weight, eye = sensor.gyro_noise**-2, np.broadcast_to(np.eye(3), path.R.shape)
    parts = ((TURN, path.R.mT @ skew(path.w)), (W, path.R.mT))
    for columns, J in parts:
        for others, other in parts:
            sums.diagonal[:, columns, others] += weight * J.mT @ other
        sums.gradient[:, columns] += weight * rotate(J.mT, rest)
        _add_side(sums, shares, 0, slice(None), columns, weight * J.mT)
    _add_border(sums, shares, 0, eye, weight * eye, rest)


def _add_legs(feet: Feet, path: Path, sums: _Normal):
    """Feet are where the joints put them."""
    k = np.arange(3)
    for i, (point, noise) in enumerate(zip(feet.points, feet.noise, strict=True)):
        arm, weight, own = rotate(path.R, point), noise**-2, _own(i)
        rest, S = weight * (path.feet[i] - path.p - arm), weight * skew(arm)
        sums.diagonal[:, k, k] += weight
        sums.diagonal[:, own.start + k, own.start + k] += weight
        sums.diagonal[:, k, own.start + k] -= weight
        sums.diagonal[:, own.start + k, k] -= weight
        sums.diagonal[:, TURN, TURN] -= S @ skew(arm)
        for columns, sign in ((P, -1), (own, 1)):
            sums.diagonal[:, columns, TURN] += sign * S
            sums.diagonal[:, TURN, columns] -= sign * S
            sums.gradient[:, columns] += sign * rest
        sums.gradient[:, TURN] -= cross(arm, rest)


def _own(i: int) -> slice:
    return slice(BASE + 3 * i, BASE + 3 * i + 3)


def _add_steps(feet: Feet, path: Path, sums: _Normal):
    """Feet that stand stay or roll."""
    f, n = path.feet.shape[:2]
    rest, weight = (x.swapaxes(0, 1).reshape(n - 1, -1) for x in (np.diff(path.feet, axis=1) - feet.rolled, feet.stays))
    k = np.arange(BASE, BASE + 3 * f)
    sums.diagonal[:-1, k, k] += weight
    sums.diagonal[1:, k, k] += weight
    sums.diagonal[:, k, k] += LOOSE
    sums.lower[:, k, k] -= weight
    sums.gradient[:-1, k] -= weight * rest
    sums.gradient[1:, k] += weight * rest


def _add_ground(evidence: WalkEvidence, path: Path, sums: _Normal):
    """Feet stand near a plane."""
    normal = np.r_[-path.plane[1:], 1.0]
    for i, weight in enumerate(evidence.feet.ground):
        at = np.flatnonzero(weight)
        own, w = _own(i), weight[at]
        by_plane = -np.c_[np.ones(len(at)), path.feet[i, at, :2]]
        rest = path.heights[i, at]
        sums.diagonal[at, own, own] += w[:, None, None] * np.outer(normal, normal)
        sums.gradient[at, own] += (w * rest)[:, None] * normal
        sums.side[at, own, :PLANE] += w[:, None, None] * normal[:, None] * by_plane[:, None]
        sums.corner[:PLANE, :PLANE] += by_plane.T @ (w[:, None] * by_plane)
        sums.edge[:PLANE] += by_plane.T @ (w * rest)


def _add_poses(poses: Poses, path: Path, sums: _Normal):
    turned = Rotation.from_matrix(path.R @ poses.rotation.mT).as_rotvec()
    for columns, rest, weight in zip((P, TURN), (path.p - poses.position, turned), poses.weights.T, strict=True):
        there = weight[:, None] > 0
        sums.gradient[:, columns] += weight[:, None] * np.where(there, rest, 0)
        sums.diagonal[:, columns, columns] += weight[:, None, None] * np.eye(3)


def _solved(equations: _Normal) -> Eliminated:
    """Elimination forwards from sample to sample, substitution backwards; the border by its Schur complement."""
    pivots, lower = equations.diagonal, equations.lower
    n, m = equations.gradient.shape
    found = np.concatenate([equations.gradient[..., None], equations.side], axis=2)
    gains = np.empty_like(lower)
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (pivots,))
    for k in range(n):
        factor, wrong = potrf(pivots[k], lower=1)
        if wrong:
            raise LogError("The state of the base is not determined: no pose, sensor or standing foot tells it.")
        if k == n - 1:
            found[k] = potrs(factor, found[k], lower=1)[0]
            break
        both = potrs(factor, np.concatenate([lower[k].T, found[k]], axis=1), lower=1)[0]
        gains[k], found[k] = both[:, :m], both[:, m:]
        change = lower[k] @ both
        pivots[k + 1] -= change[:, :m]
        found[k + 1] -= change[:, m:]
    for k in range(n - 2, -1, -1):
        found[k] -= gains[k] @ found[k + 1]
    free, lever = -found[..., 0], -found[..., 1:]
    common = np.linalg.inv(equations.corner + np.einsum("nmr,nms->rs", equations.side, lever))
    border = -common @ (equations.edge + np.einsum("nmr,nm->r", equations.side, free))
    return Eliminated(free, border, pivots, -gains, lever, common)
