"""How well a model predicts torques it was not fitted to, and how far from the prediction they may be."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from steelyard.arguments import as_array, require_type
from steelyard.cards import Card
from steelyard.dynamics import inverse_dynamics
from steelyard.dynamics.closed_loop.assembly import choose_independent
from steelyard.dynamics.closed_loop.projection import on_independent_joints, with_motors
from steelyard.dynamics.closed_loop.states import tree_state_of
from steelyard.dynamics.effects import extra_torque, friction_torque, unstated_torque
from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.confidence import Uncertainty
from steelyard.fit.estimate import Estimate
from steelyard.identifiable.loop_completion import on_tree
from steelyard.information.contact_rows import without_forces
from steelyard.information.regression_rows import channels_of, chunk_rows, direction_of, raw_columns, rows_of
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.native import CHUNK, LONG_CHUNK
from steelyard.terms import COULOMB_WIDTH, ParameterLayout


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Card):
    """Torque prediction of a model on a log.

    Attributes:
        t: (n,) time stamps [s].
        predicted, measured: (n, nv) torques [N m or N].
        joint_names: names of the nv degrees of freedom.
        weights: (n, nv) of the samples in the errors; None where all count.
    """

    t: np.ndarray
    predicted: np.ndarray
    measured: np.ndarray
    joint_names: tuple[str, ...]
    weights: np.ndarray | None = None

    def _title(self) -> str:
        return f"Validation(torque error {100 * self.relative_error:.3g} %, {len(self.t)} samples)"

    def _rows(self):
        return {name: f"{rms:.4g} ({100 * share:.3g} %)" for name, rms, share in self._joints()}

    def _joints(self):
        return zip(self.joint_names, self.rms, self.relative, strict=True)

    @property
    def error(self) -> np.ndarray:
        """(n, nv) measured minus predicted."""
        return self.measured - self.predicted

    @cached_property
    def rms(self) -> np.ndarray:
        """(nv,) RMS of the error."""
        return np.sqrt(self._mean(self.error**2))

    @cached_property
    def relative(self) -> np.ndarray:
        """(nv,) RMS of the error over that of the signal, joint by joint."""
        signal = np.sqrt(self._mean(self.measured**2))
        return self.rms / np.where(signal > 0, signal, np.nan)

    @cached_property
    def relative_error(self) -> float:
        """`||e|| / ||tau||` over all joints together that measure any torque: what errors of motion make of the forces
        on a free base in flight is no share of it."""
        weights = self.measured.any(axis=0) * (1.0 if self.weights is None else self.weights)
        # a sum, not a norm: BLAS would add in another order with another number of threads
        return float(np.sqrt(np.sum(weights * self.error**2) / np.sum(weights * self.measured**2)))

    def _mean(self, x) -> np.ndarray:
        """(nv,) weighted means; 0 for a joint none of whose samples count."""
        if self.weights is None:
            return np.mean(x, axis=0)
        return np.sum(self.weights * x, axis=0) / np.maximum(np.sum(self.weights, axis=0), 1e-300)


def validate(
    model: Estimate | Robot,
    log: Log,
    *,
    rotors: bool = False,
    contacts: str | Mapping[str, str] | None = None,
    row_weights: ArrayLike | None = None,
) -> Validation:
    """Predict the torques of a log and compare.

    Args:
        model: an Estimate, or a Robot with what its file states.
        log: with q, v, a and tau, best one that the model was not fitted to.
        rotors: whether the rotors of a Robot move, too; those of an Estimate do when they were identified.
        contacts: as of `accumulate`: forces at contacts that the log flags are those that suit the prediction best.
            By default those of the Estimate's fit; points for a Robot.
        row_weights: as of `accumulate`, by which these are the best. By default those of the Estimate's fit.

    Returns:
        A Validation with predicted and measured torques and their errors.

    Raises:
        LogError: the log lacks v, a or tau, has values that are not finite, or other joints or another order of them.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot, rng = sy.library.scara(), np.random.default_rng(0)
        >>> q, v, a = rng.normal(size=(3, 200, robot.nv))
        >>> tau = sy.fit.predict(robot, q, v, a)  # with friction, which inverse dynamics leaves out
        >>> log = sy.Log(t=np.arange(200) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
        >>> bool(sy.fit.validate(robot, log).relative_error < 1e-9)
        True
    """
    require_type(Estimate | Robot, model=model)
    require_type(Log, log=log)
    robot = model.require_robot() if isinstance(model, Estimate) else model
    log.require("q", "v", "a", "tau")
    if robot.loops:
        robot = with_motors(robot)
        log = on_tree(robot, log)
    q, v, a, tau = channels_of(robot, log, ("q", "v", "a", "tau"))
    width = model.coulomb_width if isinstance(model, Estimate) else COULOMB_WIDTH
    layout = model.layout if isinstance(model, Estimate) else ParameterLayout(())
    direction = direction_of(log, width, layout)
    chunks = (slice(start, start + LONG_CHUNK) for start in range(0, len(log), LONG_CHUNK))
    predicted = np.concatenate(
        [predict(model, q[s], v[s], a[s], direction=direction[s], rotors=rotors) for s in chunks]
    )
    if isinstance(model, Estimate):
        contacts = model.contacts if contacts is None else contacts
        row_weights = model.projection if row_weights is None else row_weights
    if log.contacts or log.external:
        left = without_forces(robot, log, tau - predicted, contacts=contacts or "point", row_weights=row_weights)
        predicted = tau - left
    if not robot.loops:
        return Validation(log.t, predicted, tau, robot.dof_names, log.weights)
    choice = choose_independent(robot)
    weights = None if log.weights is None else log.weights[:, choice.independent]
    return Validation(log.t, predicted, tau[:, choice.independent], choice.names, weights)


def predict(model: Estimate | Robot, q, v, a, *, direction=None, rotors: bool = False) -> np.ndarray:
    """Torques that a model predicts for a motion, friction included.

    Args:
        model: an Estimate or a Robot.
        q: (n, nq) positions; with closed loops of all joints, and loops have to be closed.
        v: (n, nv) velocities.
        a: (n, nv) accelerations.
        direction: (n, nv) filtered direction of motion, where torques are compared with filtered ones; behind it may
            stand those of the motors that joints share.
        rotors: see `validate`.

    Returns:
        (n, nv) in N m or N; with closed loops (n, ni) of the independent joints.
    """
    require_type(Estimate | Robot, model=model)
    q, v, a = (as_array(name, value) for name, value in (("q", q), ("v", v), ("a", a)))
    tau = _of_tree(model, q, v, a, direction, rotors)
    robot = model.require_robot() if isinstance(model, Estimate) else model
    if not robot.loops:
        return tau
    return on_independent_joints(tree_state_of(with_motors(robot), q, v, a), tau[..., None])[..., 0]


def _of_tree(model: Estimate | Robot, q, v, a, direction, rotors: bool):
    """Torques (n, nv) of all joints of the open tree."""
    if isinstance(model, Robot):
        return inverse_dynamics(model, q, v, a, rotors=rotors) + friction_torque(model, v, direction=direction)
    robot, width = model.require_robot(), model.coulomb_width
    tau = inverse_dynamics(robot, q, v, a, rotors=bool(model.layout.rotor_names))
    own = None if direction is None else direction[:, : robot.nv]
    tau += friction_torque(robot, v, direction=own, coulomb_width=width)
    options = {"direction": own, "coulomb_width": width}
    tau += sum(unstated_torque(model.layout, model.friction, v, a, **options).values())
    if model.layout.extras:
        tau += extra_torque(robot, model.layout, model.extras, q, v, a, direction=direction, coulomb_width=width)
    return tau


@dataclass(frozen=True, eq=False, repr=False)
class TorqueBand(Card):
    """Predicted torques and what they may be off by, each (..., nv) in N m or N.

    parameter: standard deviation that uncertain parameters cause; noise: (nv,) of the residuals of the fit. deviation
    has both; a new measurement lies in [lower, upper] with the probability asked for.
    """

    torque: np.ndarray
    parameter: np.ndarray
    noise: np.ndarray
    quantile: float

    @property
    def deviation(self) -> np.ndarray:
        return np.hypot(self.parameter, self.noise)

    @property
    def lower(self) -> np.ndarray:
        return self.torque - self.quantile * self.deviation

    @property
    def upper(self) -> np.ndarray:
        return self.torque + self.quantile * self.deviation


def raw_values(uncertainty: Uncertainty):
    """The columns that the dynamics computes, their values (k,), and a root (k, r) of their covariance."""
    estimate = uncertainty.estimate
    raw = raw_columns(estimate.require_robot(), estimate.layout, estimate.basis.columns)
    values, axes = np.linalg.eigh(uncertainty.covariance)
    root = axes * np.sqrt(np.maximum(values, 0.0))
    return raw, raw.values(estimate.base), raw.values(root)


@dataclass(frozen=True, eq=False, repr=False)
class TorquePredictor(Card):
    """Torque bands for states of the robot that was identified, one at a time or many.

    level: probability that a new measurement, filtered as the log was, lies in its band.
    """

    uncertainty: Uncertainty
    level: float = 0.95

    def __post_init__(self):
        if not 0 < self.level < 1:
            raise OptionError(f"level={self.level}: the probability of a band lies between 0 and 1.")
        self.uncertainty.estimate.require_robot()

    @cached_property
    def _noise(self) -> np.ndarray:
        """(nv,) noise of every degree."""
        estimate = self.uncertainty.estimate
        known = dict(zip(estimate.group_names, self.uncertainty.noise, strict=True))
        names = estimate.require_robot().dof_names
        missing = [name for name in names if name not in known]
        if missing:
            raise FitError(
                f"The fit had no torques of {choices(missing)}, so their noise is unknown; it had "
                f"{choices(estimate.group_names)}. Fit rows of joints."
            )
        return np.array([known[name] for name in names])

    @cached_property
    def _raw(self):
        """What the dynamics computes: its columns, rows of every degree, values (k,) and a root (k, r) of their
        covariance."""
        raw, base, root = raw_values(self.uncertainty)
        return raw, rows_of(raw.robot, raw.layout, raw.columns), base, root

    def __call__(self, q, v, a, *, direction=None) -> TorqueBand:
        """Band at q (..., nq), v, a (..., nv). direction: (..., nv) filtered direction of motion, if the log had one
        (`information.direction_of`).

        Memory does not grow with the number of states but for the result.
        """
        from scipy.special import ndtri

        robot = self.uncertainty.estimate.require_robot()
        q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
        if q.shape[-1] != robot.nq or v.shape[-1] != robot.nv or a.shape != v.shape:
            raise OptionError(
                f"States have shapes {q.shape}, {v.shape}, {a.shape}; robot '{robot.name}' has {robot.nq} positions, "
                f"{robot.nv} velocities and as many accelerations."
            )
        batch = v.shape[:-1]
        q, v, a = q.reshape(-1, robot.nq), v.reshape(-1, robot.nv), a.reshape(-1, robot.nv)
        width = self.uncertainty.estimate.coulomb_width
        direction = np.tanh(v / width) if direction is None else np.reshape(direction, (len(v), -1))
        torque, parameter = np.empty(v.shape), np.empty(v.shape)
        for start in range(0, len(v), CHUNK):
            part = slice(start, start + CHUNK)
            torque[part], parameter[part] = self._chunk(*(x[part] for x in (q, v, a, direction)))
        shape = (*batch, robot.nv)
        quantile = float(ndtri((1 + self.level) / 2))
        return TorqueBand(torque.reshape(shape), parameter.reshape(shape), self._noise, quantile)

    def _chunk(self, q, v, a, direction):
        raw, rows, base, root = self._raw
        chunk = tuple(np.ascontiguousarray(x.T) for x in (q, v, a, np.zeros_like(v), direction))
        torque, parameter = np.empty(v.shape), np.empty(v.shape)
        pairs = chunk_rows(raw.robot, raw.layout, self.uncertainty.estimate.coulomb_width, rows, chunk)
        for dof, (columns, missing) in enumerate(pairs):  # missing: minus the torque of what is no column
            places = rows[dof].places
            torque[:, dof] = columns.T @ base[places] - missing
            parameter[:, dof] = np.linalg.norm(columns.T @ root[places], axis=1)
        return torque, parameter
