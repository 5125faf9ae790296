"""Estimates that follow a stream of samples: recursive identification, and natural adaptation.

Adaptation of inertial parameters that stay those of bodies: natural adaptation (Lee, Kwon and Park 2018).

The gradient step is taken in the affine-invariant metric of pseudo-inertias J, along its geodesic,

    J <- J^1/2 exp(-gain J^1/2 G J^1/2) J^1/2

with G the gradient of `direction . theta` with respect to J. It is positive definite for every gain; small gains give
`dJ = -gain J G J`, the law whose Lyapunov function is the Bregman divergence of `-log det J`.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import require_type
from steelyard.dynamics import closed_loop
from steelyard.errors import OptionError, choices
from steelyard.fit.cone_program import solve
from steelyard.fit.estimate import Estimate
from steelyard.fit.program import Program, assembled, build
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import joint_noise
from steelyard.inertia import pseudo
from steelyard.information import Information, accumulate
from steelyard.information.row_kinds import groups_of
from steelyard.log import Log
from steelyard.model import Robot


class RecursiveEstimator:
    """Sums of all samples so far, older ones counting less, and the fit to them with the robot as entropic prior.

    Every estimate is the minimum of `consistent(..., regularizer="entropic")`, with a certificate, found by Newton's
    method from the one before; bodies are never at the border of what can exist, and what samples do not excite stays
    at the prior. This object changes with each `update`.
    """

    def __init__(
        self, robot: Robot, *, noise: ArrayLike, memory: float | None = None, friction=(), armature: bool = False
    ):
        """Start from a model.

        Args:
            robot: prior of all parameters.
            noise: (g,) standard deviations of the torques, N m or N, or one for all; where estimates leave clearly
                more, torques count as noisy as that. g is nv, or with closed loops the number of motors.
            memory: samples after which data counts 1/e; None never forgets.
            friction: terms that are identified, too, as of `accumulate`.
            armature: whether it is identified, too.

        Raises:
            OptionError: noise or memory is not positive.
        """
        require_type(Robot, robot=robot)
        robot = closed_loop.with_motors(robot)
        self.noise = _positive(noise, groups_of(robot, "joints"))
        if memory is not None and not memory >= 1:
            raise OptionError(f"memory={memory!r}: expected 1 sample or more, or None to never forget.")
        self.robot = robot
        self.memory = memory
        self.columns = {"friction": tuple(friction), "armature": armature}
        self.information: Information | None = None
        self._past: tuple[Program, np.ndarray] | None = None  # the last program and its minimum
        self._pose: np.ndarray | None = None  # (nq,) where closed loops were last

    def update(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> Estimate:
        """The estimate with further samples.

        Args:
            q: (nq,) positions, rad or m, or (n, nq) of a chunk; with closed loops those of the motors alone will do,
                and passive joints then follow from the last update.
            v: (nv,) or (n, nv) velocities; with closed loops v, a and tau are of all joints or of the motors.
            a: (nv,) or (n, nv) accelerations.
            tau: (nv,) or (n, nv) torques, N m or N.

        Returns:
            The Estimate; its status says how well the samples so far excite the robot.

        Raises:
            SteelyardError: samples of other widths, that are not finite, or at which loops cannot close; they leave
                the sums as they were.
        """
        q, v, a, tau = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, v, a, tau))
        if self.robot.loops:
            q = closed_loop.tree_state(self.robot, q, v, a, start=self._pose)[0]
        log = Log(t=np.arange(len(q), dtype=float), q=q, v=v, a=a, tau=tau, name="update")
        new = accumulate(self.robot, log, **self.columns).as_gram()
        if self.information is not None:
            old = self.information
            new = (old if self.memory is None else old.discounted(float(np.exp(-len(q) / self.memory)))) + new
        if self._past is None:
            program = _without_margins(build(new, prior=self.robot, regularizer="entropic", noise=self.noise))
            near = program.start
        else:
            past, near = self._past
            program = assembled(new, past.knowledge, ratios=past.ratios, noise=self._left(new, near))
        estimate = solve(program, near=near)
        self.information, self._past, self._pose = new, (program, estimate.parameters), q[-1]
        return estimate

    def _left(self, info: Information, parameters) -> np.ndarray:
        """(g,) noise, or what the last estimate leaves of the torques where that is clearly more."""
        left = joint_noise(info, info.basis.regroup(parameters), np.zeros(len(self.noise)))
        return np.where(left > THRESHOLDS.overfitted * self.noise, left, self.noise)


def _without_margins(program: Program) -> Program:
    """Without the margins that keep bodies off the border: the entropic prior does, however near data drives them."""
    kept = tuple(each for each in program.constraints if not each.definite)
    return replace(program, knowledge=replace(program.knowledge, constraints=kept))


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


def natural_step(theta: ArrayLike, direction: ArrayLike, *, gain: float) -> np.ndarray:
    """Parameters of bodies after a step against a direction; bodies remain bodies, whatever its size.

    With `direction = Y(q, v, vr, ar)^T (v - vr)` and `gain = rate * period`, torques `Y theta - Kd (v - vr)` track
    (Slotine and Li 1987); `slotine_li_regressor` gives Y.

    Args:
        theta: (..., 10) of physically consistent bodies.
        direction: (..., 10) gradient with respect to theta; for several bodies (..., 10 nb) may be flat.
        gain: 1 / (unit of direction . theta); the step is relative to the size of each body.

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
    return pseudo.to_parameters(axes * values[..., None, :] @ axes.mT)


def _with_respect_to_matrix(g: np.ndarray) -> np.ndarray:
    """G (..., 4, 4) with `tr(G dJ) = g . dtheta`: inverse of `pseudo.gradient_to_parameters`."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = np.moveaxis(g, -1, 0)
    rows = [[yy + zz, -xy / 2, -xz / 2, x / 2], [-xy / 2, xx + zz, -yz / 2, y / 2]]
    rows += [[-xz / 2, -yz / 2, xx + yy, z / 2], [x / 2, y / 2, z / 2, m]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
