"""`Payload`: what is held, how it was found, and how sure that is."""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.errors import InertiaError, OptionError
from steelyard.fit import Draws
from steelyard.fit.draws import COUNT
from steelyard.fit.joint_normal import JointNormal
from steelyard.fit.prior import consistent_prior
from steelyard.inertia import is_consistent, parameters, pseudo
from steelyard.inertia.divergence import riemannian
from steelyard.inertia.parameters import DIAGONAL_FIRST, WATER
from steelyard.numbers import ROUNDING
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.spatial import skew


class Status(Enum):
    """Outcome of a payload fit; the text says what to change."""

    OK = "solved; mass, centre of mass and inertia are determined"
    WEAK = "solved; the motion barely shows the inertia, which comes from shape or prior: turn faster, about more axes"
    STATIC = "solved from poses at rest: mass and centre of mass are measured, the inertia is assumed from the shape"
    AXIS = "solved, but part of the centre of mass is assumed: tilt the sensor more, about two axes, or record longer"
    FAINT = "no payload was found: nothing is held, or too little for this sensor and so few samples"
    OPEN = (
        "something is held, and this log leaves its mass open: tilt it about two axes, move other joints, record longer"
    )
    SUSPECT = "the log does not fit a rigid payload as it was read: see the findings, they say what to change"
    NOT_EXPLAINED = "no rigid payload explains this log, and no known mistake does: do not use these numbers"
    INCONSISTENT = "no real body has these numbers: give a shape, or use a method that keeps to physics (auto, geo)"

    @property
    def usable(self) -> bool:
        return self not in (Status.FAINT, Status.OPEN, Status.SUSPECT, Status.NOT_EXPLAINED, Status.INCONSISTENT)


@dataclass(frozen=True, eq=False, repr=False)
class Payload(Card):
    """An identified payload.

    theta: (10,) parameters in the sensor frame, kg, kg m and kg m^2.
    covariance: (10, 10) of theta.
    method: name of the estimator (`METHODS`).
    status: what was determined, and whether the result may be used.
    noise: (2,) residual standard deviations of force [N] and torque [N m], or one a joint when only joint torques were
        used.
    samples: number of samples.
    bias: (6,) constant wrench estimated beside, N and N m; None when it was not.
    drift: (6,) by which it grows each second from the first sample; None when that was not asked for.
    drift_deviation: (6,) standard deviations of the drift.
    frame: in whose axes, at whose origin theta is.
    why: why this method.
    findings: what looks wrong with the data, in words.
    notes: what was assumed and done.
    """

    theta: np.ndarray
    covariance: np.ndarray
    method: str
    status: Status
    noise: np.ndarray
    samples: int
    bias: np.ndarray | None = None
    why: str = ""
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    drift: np.ndarray | None = None
    drift_deviation: np.ndarray | None = None
    frame: str = "the sensor"

    def _title(self) -> str:
        return f"Payload({self.mass:.4g} kg, {self.status.name.lower().replace('_', ' ')})"

    def _rows(self):
        return {
            "status": self.status.value,
            f"centre of mass in {self.frame}, m": self.com,
            "method": self.method,
            "samples": self.samples,
            "residual": self.noise,
            "findings": self.findings or None,
            "notes": self.notes or None,
        }

    @property
    def mass(self) -> float:
        """kg."""
        return float(self.theta[0])

    @cached_property
    def com(self) -> np.ndarray:
        """(3,) centre of mass in the sensor frame, m; NaN without mass."""
        return self.theta[1:4] / self.theta[0] if self.theta[0] != 0 else np.full(3, np.nan)

    @cached_property
    def inertia(self) -> np.ndarray:
        """(3, 3) about the centre of mass in sensor axes, kg m^2."""
        h = self.theta[1:4]
        I = parameters.rotational_inertia(self.theta)
        return I + skew(h) @ skew(self.com) if self.theta[0] != 0 else I

    @property
    def consistent(self) -> bool:
        """Whether a real body can have these parameters."""
        return bool(is_consistent(self.theta))

    @property
    def smallest_eigenvalue(self) -> float:
        """Of the pseudo-inertia; positive for real bodies."""
        return float(pseudo.smallest_eigenvalue(self.theta))

    @property
    def deviation(self) -> np.ndarray:
        """(10,) standard deviations of theta."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def mass_deviation(self) -> float:
        """Standard deviation of the mass, kg."""
        return float(self.deviation[0])

    @property
    def com_deviation(self) -> np.ndarray:
        """(3,) standard deviations of the centre of mass, m; NaN without mass."""
        if self.theta[0] == 0:
            return np.full(3, np.nan)
        D = np.column_stack([-self.com, np.eye(3)]) / self.theta[0]
        return np.sqrt(np.maximum(np.diag(D @ self.covariance[:4, :4] @ D.T), 0.0))

    @property
    def inertia_deviation(self) -> np.ndarray:
        """(3, 3) standard deviations of the inertia about the centre of mass, kg m^2; NaN without mass."""
        return self.inertia_deviation_in(np.eye(3))

    def inertia_deviation_in(self, axes) -> np.ndarray:
        """The same in other axes, the columns of a rotation (3, 3) in those of the sensor."""
        if self.theta[0] == 0:
            return np.full((3, 3), np.nan)
        D = parameters.transform_matrix(axes.T, -axes.T @ self.com)  # to first order: the centre's own error cancels
        spread = np.sqrt(np.maximum(np.diag(D @ self.covariance @ D.T), 0.0))[4:]
        xx, xy, yy, xz, yz, zz = spread
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def draws(self, count: int = COUNT, *, seed: int = 0) -> Draws:
        """Samples of the posterior, of bodies that can exist, in the axes of `frame` at its origin.

        Args:
            count: of samples.
            seed: of random numbers.

        Returns:
            The Draws, whose only body is the payload.

        Raises:
            InertiaError: a payload whose status says that it is no result.
        """
        if not self.status.usable:
            raise InertiaError(f"nothing is drawn of this payload: {self.status.value}")
        bodies = consistent_prior(self.theta[None], None, 1)[0]  # of point masses a ball that can be spread
        size, axes = np.linalg.eigh(self.covariance)
        joint = JointNormal(bodies.ravel(), axes * np.sqrt(np.maximum(size, 0.0)), bodies)
        return Draws(("payload",), (), joint.samples(count, np.full(10, -np.inf), np.random.default_rng(seed))[:, None])

    def summary(self) -> str:
        """A few readable lines."""
        lines = [
            f"{self.mass:.5g} ± {self.mass_deviation:.2g} kg (± one standard deviation): {self.status.value}",
            *(f"! {text}" for text in self.findings),
            *self._shape_lines(),
            f"{self.samples} samples, residuals {self._residuals()}",
            f"method {self.method}: {self.why}" if self.why else f"method {self.method}",
        ]
        if self.bias is not None:
            lines.append("bias            " + ", ".join(f"{x:.4g}" for x in self.bias) + "  (N, N m)")
        if self.drift is not None and self.drift_deviation is not None:
            rates = zip(self.drift, self.drift_deviation, strict=True)
            lines.append("its drift       " + ", ".join(f"{x:.3g} ± {s:.1g}" for x, s in rates) + "  (N/s, N m/s)")
        return "\n".join([*lines, *self.notes])

    def _shape_lines(self) -> list[str]:
        """Centre of mass and inertia, where there is a mass that they belong to."""
        if self.status in (Status.FAINT, Status.OPEN):
            return ["centre of mass  undetermined, as is the inertia: the mass is"]
        I, spread = self.inertia, self.inertia_deviation
        names = ("xx", "yy", "zz", "xy", "xz", "yz")
        moments = [f"{n} {I[k]:.4g} ± {spread[k]:.1g}" for n, k in zip(names, DIAGONAL_FIRST, strict=True)]
        center = ", ".join(f"{1e3 * x:.2f} ± {1e3 * s:.2f}" for x, s in zip(self.com, self.com_deviation, strict=True))
        return [
            f"centre of mass  {center} mm, in the axes of {self.frame}",
            f"inertia, kg m^2 {', '.join(moments[:3])}",
            f"about it        {', '.join(moments[3:])}",
        ]

    def _residuals(self):
        if len(self.noise) == 2:
            return f"{self.noise[0]:.3g} N and {self.noise[1]:.3g} N m"
        return ", ".join(f"{x:.3g}" for x in self.noise) + " N m joint by joint"

    def as_dict(self) -> dict:
        """Numbers and words as plain Python values, for JSON."""
        from steelyard.report.schema import filled, jsonable
        from steelyard.report.summary_records import PayloadEstimate

        return jsonable(filled(PayloadEstimate, self, status=self.status.name, status_text=self.status.value))


@dataclass(frozen=True, eq=False, repr=False)
class Errors(Card):
    """Errors of one estimate in per cent, and its geodesic distance from the truth (unitless; inf if inconsistent).

    com_axes: (3,) of each axis, whose mean is `com`; inertia_entries: (3, 3) of each moment and product, whose mean on
    and above the diagonal is `inertia`.
    """

    mass: float
    com: float
    inertia: float
    geodesic: float
    com_axes: np.ndarray
    inertia_entries: np.ndarray

    @property
    def percent(self) -> np.ndarray:
        """(3,) mass, centre of mass, inertia."""
        return np.array([self.mass, self.com, self.inertia])


def errors(theta, truth, sides) -> Errors:
    """Errors of parameters against the truth.

    The centre-of-mass error is the mean of three, the inertia error of the six on and above the diagonal.

    Args:
        theta: (10,) estimate.
        truth: (10,).
        sides: (3,) of the bounding box, m.

    Returns:
        The Errors.

    Raises:
        OptionError: sides that are not positive.
        InertiaError: a truth without mass.

    Source: paper E, 10-12.
    """
    theta, truth, a = (np.asarray(x, dtype=float) for x in (theta, truth, sides))
    if a.shape != (3,) or not (a > 0).all():
        raise OptionError(f"sides are the three positive lengths of the bounding box in m; got {sides!r}")
    mass, com, inertia = parameters.to_com_inertia(truth)
    if not mass > 0:
        raise InertiaError(f"the true mass is {mass}, expected a positive number: errors are relative to it")
    if theta[0] == 0:
        return Errors(100.0, np.inf, np.inf, np.inf, np.full(3, np.inf), np.full((3, 3), np.inf))
    found_mass, found_com, found_inertia = parameters.to_com_inertia(theta)
    scale = mass / 12 * (np.eye(3) * (a @ a) - np.outer(a, a))
    axes, entries = 100 * np.abs(found_com - com) / a, 100 * np.abs((found_inertia - inertia) / scale)
    return Errors(
        mass=float(100 * abs(found_mass - mass) / mass),
        com=float(np.mean(axes)),
        inertia=float(np.mean(entries[np.triu_indices(3)])),
        geodesic=float(riemannian(theta, truth)) if is_consistent(theta) and is_consistent(truth) else np.inf,
        com_axes=axes,
        inertia_entries=entries,
    )


HEAVIEST = 1000.0  # kg: heavier than what all but a handful of industrial robots lift, none with a wrist sensor
FARTHEST = 2.0  # m from the sensor or flange to a centre of mass


def relative_deviation(payload: Payload, size: float | None = None) -> tuple[float, float, float]:
    """Standard deviations of mass, centre and inertia as parts of the mass, of the body's size and of its largest
    moment. size: half the extent of the body in m, by default that of twice water's thinness."""
    mass = max(abs(payload.mass), 1e-12)
    extent = float((2 * mass / WATER) ** (1 / 3)) if size is None else size
    largest = max(float(np.linalg.eigvalsh(payload.inertia)[-1]), 1e-300)
    return (
        payload.mass_deviation / mass,
        float(payload.com_deviation.max()) / extent,
        float(payload.inertia_deviation.max()) / largest,
    )


def status_of(payload: Payload, *, moving: bool, gram: np.ndarray | None = None, size: float | None = None) -> Status:
    """What was measured of a payload, from its deviations. moving: whether motion could show its inertia. gram: (10,
    10) normal matrix of the data alone, in units of their noise; None where a mass is known to come from data."""
    mass, centre, inertia = relative_deviation(payload, size)
    if not payload.mass > 0 or mass > THRESHOLDS.determined or (gram is not None and not mass_seen(gram, payload.mass)):
        felt = 0.0 if gram is None else float(payload.theta @ gram @ payload.theta) / 10
        return Status.OPEN if payload.mass > 0 and felt > THRESHOLDS.felt else Status.FAINT
    if centre > THRESHOLDS.determined:
        return Status.AXIS
    if not moving:
        return Status.STATIC
    return Status.WEAK if inertia > THRESHOLDS.determined else Status.OK


def principal(inertia) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments (3,), rising, and right-handed axes (3, 3), columns, of an inertia (3, 3)."""
    moments, axes = np.linalg.eigh(inertia)
    return moments, axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])


def mass_seen(gram, mass: float) -> bool:
    """Whether data with a normal matrix (10, 10), in units of their noise, alone tell a mass to within itself: where
    they do not, shape or prior have made it."""
    scale = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, axes = np.linalg.eigh(scale[:, None] * gram * scale)
    values = np.maximum(values, ROUNDING * values[-1])
    return bool(scale[0] * np.linalg.norm(axes[0] / np.sqrt(values)) < mass)


def implausible(theta) -> str | None:
    """What is not believed of parameters (10,), in words: they come from another unit. None where a robot can hold
    them."""
    theta = np.asarray(theta, dtype=float)
    mass = float(theta[0])
    if not mass > 0:
        return f"a negative mass of {mass:.4g} kg"
    if mass > HEAVIEST:
        return f"{mass:.4g} kg, which no wrist holds"
    distance = float(np.linalg.norm(theta[1:4])) / mass
    if distance > FARTHEST:
        return f"a centre of mass {distance:.3g} m away"
    return None
