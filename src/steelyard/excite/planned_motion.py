"""`Design`: a planned motion and what it promises; and the earlier motion that the next design starts from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.cards import SEVERAL
from steelyard.errors import OptionError
from steelyard.excite.feasibility import Margin
from steelyard.excite.limits import MotionBounds
from steelyard.excite.motion_curves import Curve, Fourier
from steelyard.excite.optimality import Goal
from steelyard.excite.thresholds import THRESHOLDS
from steelyard.identifiable.practical import Excitation, from_gram
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.simulate.trajectories import Trajectory


@dataclass(frozen=True, eq=False, repr=False)
class Design(Trajectory):
    """A motion and what it promises; `sy.simulate.record(robot, design)` drives it.

    evaluate: function of t (n,) s that returns q, v, a (n, nv).
    duration: s.
    robot: the robot that moves.
    goal: what was to be known, with the noise of the measured rows.
    curve, coefficients: form of the motion and its coefficients (size, nv).
    margins: use of every limit at 1 kHz, the tightest first.
    gram: (r, r) information of the motion in base columns, weighted by the noise.
    noise: (rows,) standard deviation of each measured row along the motion, N m (N).
    moving: coordinates of v that move.
    condition_before, condition: condition number of the regressor with unit columns, of the best random start and of
        the design.
    history: cost after each round of the optimiser.
    make: name of the robot's profile.
    notes: what a reader has to know of the result.
    """

    robot: Robot
    goal: Goal
    curve: Curve
    coefficients: np.ndarray
    margins: tuple[Margin, ...]
    gram: np.ndarray
    noise: np.ndarray
    moving: tuple[int, ...]
    condition_before: float
    condition: float
    history: tuple[float, ...] = ()
    make: str | None = None
    notes: tuple[str, ...] = ()

    def _title(self) -> str:
        return f"Design('{self.robot.name}', {self.duration:.4g} s)"

    def _rows(self):
        return {
            "condition number": f"{self.condition:.4g} (best random start {self.condition_before:.4g})",
            "moving joints": len(self.moving),
            "tightest limit": self.margins[0] if self.margins else None,
            "profile": self.make,
            "notes": self.notes or None,
        }

    @property
    def start(self) -> np.ndarray:
        """(nv,) pose in which the motion starts, at rest."""
        return self.evaluate(np.zeros(1))[0][0]

    @cached_property
    def covariance(self) -> np.ndarray:
        """(r, r) predicted covariance of the base parameters: data, prior and earlier logs, as `fit.consistent` has."""
        return self.goal.covariance(self.gram)

    @cached_property
    def data_covariance(self) -> np.ndarray:
        """(r, r) the same without the prior, as least squares has; the pseudo-inverse where motion shows too little."""
        gram = self.gram + self.goal.earlier
        size = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
        return np.linalg.pinv(gram / size[:, None] / size, hermitian=True, rcond=1e-12) / size[:, None] / size

    @cached_property
    def excitation(self) -> Excitation:
        """How well the motion, with earlier logs, shows each base parameter."""
        gram = self.gram + self.goal.earlier
        return from_gram(gram, self.goal.basis, self.goal.layout, max(round(self.goal.rate * self.duration), 1))

    def log(self, rate: float = 1000.0) -> Log:
        """The planned motion as a log with q, v, a and the torques that the model predicts, at `rate` Hz."""
        from steelyard.dynamics import inverse_dynamics
        from steelyard.dynamics.effects import friction_torque

        t = np.arange(int(self.duration * rate) + 1) / rate
        q, v, a = self.evaluate(t)
        tau = inverse_dynamics(self.robot, q, v, a) + friction_torque(self.robot, v)
        return Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=self.robot.dof_names, name=f"{self.robot.name} excitation")

    def explain(self) -> str:
        """The motion, its active limits, what it will show and what stays unknown, in lines."""
        return "\n".join([_motion(self), _promise(self), *_active_limits(self), *_uncertainty(self), *self.notes])


def warm_start(
    warm: Design | Log | None, robot: Robot, bounds: MotionBounds, curves: list[Curve]
) -> tuple[list[Curve], np.ndarray | None]:
    """Curves to try, and coefficients (size, nv) to start from. Raises OptionError for motions of other joints."""
    if warm is None:
        return curves, None
    moved = warm.q.shape[1] if isinstance(warm, Log) else warm.coefficients.shape[1]
    own = robot.nq if isinstance(warm, Log) else robot.nv
    if moved != own:
        raise OptionError(f"warm: that motion moves {moved} joints, this robot has {own}.")
    if not isinstance(warm, Log):
        return [warm.curve], warm.coefficients
    t, q = warm.t - warm.t[0], warm.q[:, bounds.scalar]  # anything for joints of several degrees, which are locked
    fits = []
    for curve in curves:
        inside = t <= curve.duration
        values = curve.values(t[inside])[0]
        if len(values) < curve.size:
            raise OptionError(f"warm: that log has {len(values)} samples, fewer than a motion's {curve.size} numbers.")
        found = np.linalg.lstsq(values, q[inside], rcond=None)[0]
        fits.append((float(np.mean((values @ found - q[inside]) ** 2)), found))
    nearest = min(range(len(curves)), key=lambda k: fits[k][0])
    return [curves[nearest]], fits[nearest][1]


def _motion(design: Design) -> str:
    curve = design.curve
    if isinstance(curve, Fourier):
        kind = (
            f"{curve.periods} period(s) of {curve.period:.3g} s with {curve.harmonics} harmonics (up to "
            f"{curve.harmonics / curve.period:.2g} Hz), {curve.ramp:g} s ramps"
        )
    else:
        kind = f"quintic spline with {curve.points} free points"
    return f"Motion: {design.duration:g} s, {kind}."


def _promise(design: Design) -> str:
    return (
        f"Condition number of the regressor with unit columns: {design.condition_before:.3g} for the random motion it "
        f"started from, {design.condition:.3g} designed; {design.goal.rank} combinations can be shown."
    )


def _active_limits(design: Design):
    active = [m for m in design.margins if m.used > THRESHOLDS.active]
    yield f"Active: {len(active)} of {len(design.margins)} limits (margins already taken off):"
    for m in design.margins[: max(SEVERAL, min(len(active), 2 * SEVERAL))]:
        if m.limit_name == "clearance":
            yield f"  {m.where}: {1000 * m.value:.0f} mm of room to spare at {m.time:.2f} s"
        else:
            yield f"  {m.limit_name} of {m.where}: {m.value:.3g} of {m.limit:.3g} {m.unit} at {m.time:.2f} s"


def _uncertainty(design: Design):
    names, ratio = deviation_ratios(design)
    order = np.argsort(ratio)
    best = ", ".join(f"{names[i]} ({ratio[i]:.1e})" for i in order[:SEVERAL])
    worst = ", ".join(f"{names[i]} ({ratio[i]:.2g})" for i in order[::-1][:SEVERAL])
    yield f"Standard deviation after the motion over that before. Smallest: {best}."
    yield f"Largest: {worst}."
    level = design.excitation.level
    weakest = [i for i in np.argsort(level) if level[i] > 0][:SEVERAL]
    yield "Base parameters least distinct from the others: " + ", ".join(
        f"{design.excitation.names[i]} ({level[i]:.2g})" for i in weakest
    )


def deviation_ratios(design: Design) -> tuple[list[str], np.ndarray]:
    """Names of what is wanted, base parameters where that is everything, and deviations after over before."""
    goal = design.goal
    if len(goal.wanted) < goal.layout.size:
        return [goal.layout.names[i] for i in goal.wanted], goal.deviation_ratios(design.gram)
    before, after = (np.diag(goal.covariance(gram)) for gram in (np.zeros_like(design.gram), design.gram))
    return [goal.layout.names[c] for c in goal.basis.columns], np.sqrt(after / before)
