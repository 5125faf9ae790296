"""Estimates that follow a stream of samples: recursive identification, and adaptation of a controller.

Natural adaptation (Lee, Kwon and Park 2018): the gradient step is taken in the affine-invariant metric of
pseudo-inertias J, along its geodesic,

    J <- J^1/2 exp(-gain J^1/2 G J^1/2) J^1/2

with G the gradient of `direction . theta` with respect to J. It is positive definite for every gain; small gains give
`dJ = -gain J G J`, the law whose Lyapunov function is the Bregman divergence of `-log det J`. In composite adaptation
(Slotine and Li 1989) errors of predicted torques count beside those of tracking.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import with_options
from steelyard.dynamics import closed_loop
from steelyard.errors import OptionError, choices
from steelyard.fit.cone_program import solve
from steelyard.fit.estimate import Estimate
from steelyard.fit.knowledge import TOLD_NOTHING, Known
from steelyard.fit.prior import prior_parameters
from steelyard.fit.program import Program, Residual, assembled, build
from steelyard.fit.projection import Projection
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import joint_noise, whiten
from steelyard.inertia import pseudo
from steelyard.information import Information
from steelyard.information.accumulation import CUTOFF, Columns, RegressionSpec, collected, specified
from steelyard.information.row_kinds import RowFilter, groups_of
from steelyard.log import Log
from steelyard.model import Robot


@dataclass(frozen=True, eq=False)
class Stream:
    """Sums of all samples so far, older ones counting less."""

    spec: RegressionSpec
    memory: float | None  # samples after which data counts 1/e; None never forgets
    filter: RowFilter | None  # of rows of momentum, None of joints
    information: Information | None = None
    pose: np.ndarray | None = None  # (nq,) where closed loops were last

    @classmethod
    def of(cls, robot: Robot, told: Columns, memory: float | None) -> "Stream":
        """One without samples. Raises OptionError."""
        if memory is not None and not memory >= 1:
            raise OptionError(f"memory={memory!r}: expected 1 sample or more, or None to never forget.")
        if told.rows not in ("joints", "momentum"):
            raise OptionError(f"rows={told.rows!r}: expected 'joints', or 'momentum' where accelerations are unknown.")
        if not 0 < told.cutoff < np.inf:
            raise OptionError(f"cutoff={told.cutoff!r}: expected a positive frequency in Hz.")
        weak = told.rows == "momentum"
        return cls(specified(robot, [], told), memory, RowFilter(2 * np.pi * told.cutoff) if weak else None)

    def after(self, q, v, a, tau, t) -> "tuple[Stream, Information]":
        """The same with further samples, as of `RecursiveEstimator.update`, and the sums then."""
        q, v, tau = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, v, tau))
        a = None if a is None else np.atleast_2d(np.asarray(a, dtype=float))
        if t is None and self.filter is not None:
            raise OptionError("rows='momentum' needs the time t of the samples, in s.")
        t = np.arange(len(q), dtype=float) if t is None else np.atleast_1d(np.asarray(t, dtype=float))
        if self.spec.robot.loops and q.shape[1] != self.spec.robot.nq:
            q = closed_loop.tree_state(self.spec.robot, q, v, v, start=self.pose)[0]
        passed = None if self.filter is None else replace(self.filter)
        new = collected(self.spec, Log(t=t, q=q, v=v, a=a, tau=tau, name="update"), passed).as_gram()
        if self.information is not None:
            kept = 1.0 if self.memory is None else float(np.exp(-len(q) / self.memory))
            new = self.information.discounted(kept) + new
        return replace(self, information=new, filter=passed, pose=q[-1]), new


class RecursiveEstimator:
    """Sums of all samples so far, older ones counting less, and the fit to them with the robot as entropic prior.

    Every estimate is the minimum of `consistent(..., regularizer="entropic")` subject to all that is known, with a
    certificate, found by Newton's method from the one before; bodies are never at the border of what can exist, and
    what samples do not excite stays at the prior. This object changes with each `update`.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        noise: ArrayLike,
        memory: float | None = None,
        friction=(),
        armature: bool = False,
        rows: str = "joints",
        cutoff: float = CUTOFF,
        known: Known = TOLD_NOTHING,
        **more,
    ):
        """Start from a model.

        Args:
            robot: prior of all parameters; with closed loops, torques are those of its motors.
            noise: (g,) standard deviations of the torques, N m or N, or one for all; where estimates leave clearly
                more, torques count as noisy as that. g is nv, or with closed loops the number of motors.
            memory: samples after which data counts 1/e; None never forgets.
            friction: terms that are identified, too, as of `accumulate`.
            armature: whether it is identified, too.
            rows: "joints", from accelerations, or "momentum", without: torques and the change of momentum pass a
                first-order filter (Slotine and Li 1989).
            cutoff: of that filter, Hz.
            known: what is known besides (`within`, `masses`, `fixed`, `tied`, `bounds`, `weight`), as of `consistent`.
            more: fields of Known by name, in the place of those of `known`.

        Raises:
            OptionError: noise, memory or cutoff is not positive, other rows, or knowledge about things that are not
                there.
            FitError: pieces of knowledge contradict each other (they are named).
        """
        told = Columns(friction=tuple(friction), armature=armature, rows=rows, cutoff=cutoff)
        known = with_options(known, "RecursiveEstimator", more)
        if known.noise is not None or known.regularizer not in (TOLD_NOTHING.regularizer, "entropic"):
            raise OptionError("A RecursiveEstimator has an entropic prior, and noise is an argument of its own.")
        self._stream = Stream.of(robot, told, memory)
        spec = self._stream.spec
        self.noise = _positive(noise, groups_of(spec.robot, "joints"))
        self.robot = spec.robot
        self.known = replace(known, regularizer="entropic", prior=robot if known.prior is None else known.prior)
        self._start = Projection(spec.robot, self.known).nominal
        self._past: tuple[Program, np.ndarray] | None = None  # the last program and its minimum

    @property
    def information(self) -> Information | None:
        """Sums of the samples so far."""
        return self._stream.information

    def update(self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None, tau: ArrayLike, *, t=None) -> Estimate:
        """The estimate with further samples.

        Args:
            q: (nq,) positions, rad or m, or (n, nq) of a chunk; with closed loops those of the motors alone will do,
                and passive joints then follow from the last update.
            v: (nv,) or (n, nv) velocities; with closed loops v, a and tau are of all joints or of the motors.
            a: (nv,) or (n, nv) accelerations; None for rows of momentum.
            tau: (nv,) or (n, nv) torques, N m or N.
            t: (n,) time, s, of rows of momentum, which follow those before; after a pause longer than the filter's time
                constant it starts anew.

        Returns:
            The Estimate; its status says how well the samples so far excite the robot.

        Raises:
            SteelyardError: samples of other widths, that are not finite, or at which loops cannot close; they leave
                the sums as they were.
        """
        stream, new = self._stream.after(q, v, a, tau, t)
        noise = self.noise * np.sqrt(new.independence)  # of rows that passed a filter
        if self._past is None:
            program = build(new, self.known, noise=noise)
            program = replace(program, knowledge=program.knowledge.without_margins())
            near = prior_parameters(new, self._start)
        else:
            past, near = self._past
            program = assembled(new, past.knowledge, ratios=past.ratios, noise=_left(new, near, noise))
        estimate = solve(program, near=near)
        self._stream = stream
        if new.energy.any():  # the first row of a filter says nothing, not even which rows measure no torque
            self._past = program, estimate.parameters
        return estimate


def _left(info: Information, parameters, noise) -> np.ndarray:
    """(g,) noise, or what the last estimate leaves of the torques where that is clearly more."""
    left = joint_noise(info, info.basis.regroup(parameters), np.zeros(len(noise)))
    return np.where(left > THRESHOLDS.overfitted * noise, left, noise)


def _positive(noise: ArrayLike, names: tuple[str, ...]):
    count = len(names)
    found = np.broadcast_to(np.asarray(noise, dtype=float), (count,)) if np.size(noise) in (1, count) else None
    if found is None or not (np.isfinite(found) & (found > 0)).all():
        raise OptionError(
            f"noise is a positive standard deviation, or one for each of the {count} torques of {choices(names)}; got "
            f"{noise!r}."
        )
    return found


LARGEST = 3.0  # of an exponent: a step changes a body by a factor of twenty at most
THINNEST = 1e-10  # of the trace of J, below which its eigenvalues do not fall: rounding would leave no body


def natural_step(
    theta: ArrayLike, direction: ArrayLike, *, gain: float, projection: Projection | None = None
) -> np.ndarray:
    """Parameters of bodies after a step against a direction; bodies remain bodies, whatever its size.

    With `direction = Y(q, v, vr, ar)^T (v - vr)` and `gain = rate * period`, torques `Y theta - Kd (v - vr)` track
    (Slotine and Li 1987); `slotine_li_regressor` gives Y.

    Args:
        theta: (..., 10) of physically consistent bodies.
        direction: (..., 10) gradient with respect to theta; for several bodies (..., 10 nb) may be flat.
        gain: 1 / (unit of direction . theta); the step is relative to the size of each body.
        projection: of all that is known of the bodies, which they meet after the step; theta is then (nb, 10).

    Returns:
        theta (..., 10).

    Raises:
        OptionError: parameters of no body, a shape that does not fit, or numbers that are not finite.
    """
    theta = np.asarray(theta, dtype=float)
    direction = np.asarray(direction, dtype=float)
    if theta.shape[-1:] != (10,) or direction.size != theta.size:
        raise OptionError(f"theta is (..., 10) and direction alike; found {theta.shape} and {direction.shape}.")
    if not (np.isfinite(direction).all() and np.isfinite(gain)):
        raise OptionError("direction and gain are finite numbers; leave samples without a measurement out.")
    values, axes = np.linalg.eigh(pseudo.to_matrix(theta))
    if not (values > 0).all():
        raise OptionError("theta has bodies that cannot exist: start from sy.inertia.Consistent().project(theta).")
    half = axes * np.sqrt(values)[..., None, :]  # J = half half^T
    speed, turned = np.linalg.eigh(-gain * half.mT @ _with_respect_to_matrix(direction.reshape(theta.shape)) @ half)
    moved = half @ turned
    values, axes = np.linalg.eigh(moved * np.exp(np.clip(speed, -LARGEST, LARGEST))[..., None, :] @ moved.mT)
    values = np.maximum(values, THINNEST * values.sum(axis=-1, keepdims=True))
    stepped = pseudo.to_parameters(axes * values[..., None, :] @ axes.mT)
    return stepped if projection is None else projection(stepped, near=theta)


class CompositeAdaptation:
    """Bodies of a controller that follow errors of tracking and of predicted torques (Slotine and Li 1989).

    `dJ/dt = -rate J G J`, with G the gradient of `direction . theta + weight / 2 mean ||prediction error||^2`. Torques
    are predicted from momentum through a first-order filter, without acceleration. A period is a natural step against
    the direction, then the bodies of all that is known with the least divergence from there and prediction error: an
    implicit step, stable at any rate. This object changes with each `update`.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float,
        weight: float,
        memory: float | None = None,
        cutoff: float = CUTOFF,
        known: Known = TOLD_NOTHING,
        **more,
    ):
        """Start from a model, whose friction and armature are subtracted from torques as known.

        Args:
            robot: where bodies start; with closed loops, torques are those of its motors.
            rate: of adaptation, 1/J for a direction in W.
            weight: of prediction errors, W / (N m)^2.
            memory: samples after which prediction errors count 1/e; None never forgets.
            cutoff: of the filter, Hz.
            known: what is known of the bodies, as of `Projection`.
            more: fields of Known by name, in the place of those of `known`.

        Raises:
            OptionError: rate, weight, memory or cutoff is not positive, or knowledge about things that are not there.
            FitError: pieces of knowledge contradict each other (they are named).
        """
        if not (0 < rate < np.inf and 0 < weight < np.inf):
            raise OptionError(f"rate and weight are positive numbers; got {rate!r} and {weight!r}.")
        self.rate, self.weight = rate, weight
        self._stream = Stream.of(robot, Columns(friction=(), rows="momentum", cutoff=cutoff), memory)
        self.projection = Projection(robot, known, **more)
        self.theta = self.projection.nominal
        self._stamp: float | None = None

    def update(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, direction: ArrayLike, *, t: float) -> np.ndarray:
        """The bodies (nb, 10) after a sample.

        Args:
            q: (nq,) positions, rad or m.
            v: (nv,) velocities.
            tau: (nv,) torques, N m or N.
            direction: (10 nb,) `Y^T (v - vr)` of the tracking error, W per unit of each parameter.
            t: time, s, later than that of the sample before.

        Raises:
            SteelyardError: samples of other widths, or that are not finite; they change nothing.
        """
        stream, info = self._stream.after(q, v, None, tau, t)
        problem, gain = whiten(info), 0.0 if self._stamp is None else self.rate * (float(t) - self._stamp)
        stepped = natural_step(self.theta, direction, gain=gain)
        size = np.sqrt(gain * self.weight / (2 * max(info.n, 1)))
        residual = Residual(size * problem.R @ info.basis.regrouping, size * problem.r, 0.0)
        self.theta, self._stream = self.projection(stepped, near=self.theta, residual=residual), stream
        self._stamp = float(t)
        return self.theta


def _with_respect_to_matrix(g: np.ndarray) -> np.ndarray:
    """G (..., 4, 4) with `tr(G dJ) = g . dtheta`: inverse of `pseudo.gradient_to_parameters`."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = np.moveaxis(g, -1, 0)
    rows = [[yy + zz, -xy / 2, -xz / 2, x / 2], [-xy / 2, xx + zz, -yz / 2, y / 2]]
    rows += [[-xz / 2, -yz / 2, xx + yy, z / 2], [x / 2, y / 2, z / 2, m]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
