"""Online: a payload estimate after every sample, always a real body, and a word when the payload changes.

The estimator keeps running sums, forgets at a chosen rate, and follows the minimum of data, shape prior and barrier by
Newton steps in the compiled core, by the central path where these stop at the border. The sensor's six biases drift: a
Kalman filter of bias and rate, run on the measured wrench and on the regressor's columns alike, leaves innovations
without memory, so that their least squares are those with all biases as unknowns (innovations form of generalised
least squares; Harvey 1989, section 3.4). A cumulative sum of how surprising each sample is (its innovation over its own
variance) raises the alarm when the payload is picked up, swapped or dropped; the sums start afresh and the change is
dated back to where the surprise began. A swap is one where the payloads before and after differ by more than both
their uncertainties, otherwise the sums are joined again.

Coordinates: `J = L W L^T` with `J1 = L L^T` the reference body of 1 kg, `w` the ten numbers of W in the order of
`cones.triangle`; then the prior at mass m is `W = m 1` for every shape. The running cost is

    sum_k f^(n-k) ||Y_k w - r_k||^2 + (w - m e)^T Q (w - m e) / m^2 + kappa (tr W / m - log det W)

with innovations Y_k, r_k, and two damped Newton steps a sample follow its minimum; log det keeps W positive at every
instant.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import FitError, OptionError
from steelyard.inertia import parameters
from steelyard.native import require_core
from steelyard.numbers import NEGLIGIBLE, STEPS
from steelyard.payload.density import UNIT, precisions
from steelyard.payload.entropic import (
    ACCEPTED,
    BOUNDARY,
    CENTERED,
    CONVERGED,
    HALVINGS,
    SHORTER,
    TRIALS,
    unit_basis,
)
from steelyard.payload.payload_estimate import Payload, Status, status_of
from steelyard.payload.solid_shape import solid_of
from steelyard.payload.thresholds import THRESHOLDS
from steelyard.payload.wrench_log import WrenchLog
from steelyard.payload.wrench_sums import LENGTH
from steelyard.spatial import GRAVITY

KINDS = {1: "picked up", 2: "swapped", 3: "dropped"}
BARRIER_WITH_SHAPE, BARRIER_ALONE = 0.05, 0.1
CHANGED, EXCESS = 12.0, 1.5  # of the cumulative sum, and the excess over the usual surprise that is not yet counted
SETTLING = 20  # samples after a fresh start before a change is named, and before the next can be seen
NEWTON_STEPS = 2
LEARNING = 100.0  # samples that it takes to learn which surprise is usual
YOUNG, YOUNG_STEPS = 5, 12  # samples after a fresh start that take more Newton steps
WILD = 30.0  # surprise (chi-square of 6) beyond which a sample counts less, and teaches no more
ONSET_SHARE = 0.3  # of the threshold, below which a change is not believed to have begun
MEMORY = 0.975  # from sample to sample, of sums of what was not predicted: half a second at 100 Hz
LASTING = 2.5  # of the usual surprise: sums that are so much larger show errors that last longer than a sample
RESTING = 0.005  # share of a sample's squared columns that biases do not predict, below which less is forgotten
FAR = 0.1  # squared Newton decrement after these steps, above which the central path is followed
FADING = 100.0  # s, after which the rate of a bias is another one
DIFFERENT = 200.0  # squared difference of two payloads (chi-square of 10) that makes a swap
PATIENCE = 300.0  # samples after which payloads that do not differ are the same

RULES = np.array(  # behind the configuration, for the core
    [
        *(NEWTON_STEPS, WILD, LEARNING, YOUNG, YOUNG_STEPS, WILD, ONSET_SHARE, NEGLIGIBLE, CONVERGED, HALVINGS),
        *(DIFFERENT, PATIENCE, MEMORY, LASTING, RESTING, FAR, STEPS, TRIALS, CENTERED, ACCEPTED, BOUNDARY, SHORTER),
    ],
    dtype=float,
)

# entries of the scalar state; ENERGY, TRUSTED: sums of whitened wrenches squared, and of the samples' weights; RUN: the
# first of six
FELT, PULLED, COUNT, ALARM, ONSET, LAST, AGE, HELD, BEFORE, USUAL, ENERGY, TRUSTED, TIME, SEEN, LONG = range(15)
SETTLED, RUN, *_, STATE_SIZE = range(15, 23)
# entries of the configuration
FORCE, TORQUE, KAPPA, FORGET, THRESHOLD, DRIFT, SETTLE, EMPTY, FORCE_RATE, TORQUE_RATE, FADE = range(11)
# of the bias: values and rates of six channels per unit of ten numbers and as measured, and two covariances
BIAS_SIZE = 2 * 6 * 11 + 2 * 3
PAST_SIZE = 2 * BIAS_SIZE + 10 + 100 + 100 + 10 + 5 + 3  # of what held before a change that is not named yet


@dataclass(frozen=True)
class Change:
    """A change of payload. time: s, when it began; kind: picked up, swapped or dropped; masses before and after, kg."""

    time: float
    kind: str
    mass_before: float
    mass_after: float


class OnlineEstimator:
    """Feed it samples with `update` (one) or `update_many` (a chunk); read `payload`, `theta`, `bias`, `changes` at any
    time.

    shape: as for `identify`, or None. noise: standard deviations of force [N] and torque [N m] of the sensor; what
    errors of the motion signals add is learnt from the stream. drift: standard deviations of the rates of the sensor's
    biases [N/s, N m/s], which are zero at the first sample; 0 for biases that stay zero. memory: samples after which
    data counts 1/e, None to never forget; at rest, where a payload cannot be told from a drift, it hardly runs. empty:
    mass below which nothing is held, kg. gravity: (3,) in the world. tool: from `calibrate`, taken off every sample.
    The object changes with each sample.
    """

    def __init__(
        self,
        *,
        shape=None,
        noise=(0.1, 0.005),
        drift=(0.02, 0.001),
        memory: float | None = None,
        empty=0.02,
        gravity=GRAVITY,
        tool=None,
    ):
        noise, drift = np.asarray(noise, dtype=float), np.asarray(drift, dtype=float)
        if noise.shape != (2,) or not (noise > 0).all():
            raise OptionError(f"noise is two positive standard deviations, force [N] and torque [N m]; got {noise!r}")
        if drift.shape != (2,) or not (np.isfinite(drift) & (drift >= 0)).all():
            raise OptionError(f"drift is two rates, force [N/s] and torque [N m/s], 0 for none; got {drift!r}")
        if memory is not None and not memory >= 10:
            raise OptionError(f"memory={memory!r}: expected 10 samples or more, or None to never forget")
        if not empty > 0:
            raise OptionError(f"empty={empty!r}: expected a positive mass in kg")
        solid = None if shape is None else solid_of(shape)
        reference = _ball(LENGTH) if solid is None else solid.homogeneous
        self._basis = np.ascontiguousarray(unit_basis(reference))
        self._size = None if solid is None else float(np.linalg.norm(solid.sides)) / 2
        self._tool, self._gravity = tool, np.asarray(gravity if tool is None else tool.gravity, dtype=float)
        nothing = np.zeros((10, 10)), np.zeros((10, 10))
        self._Q, self._wide = map(np.ascontiguousarray, nothing if solid is None else precisions(solid, self._basis))
        barrier = BARRIER_ALONE if solid is None else BARRIER_WITH_SHAPE
        forget = 1.0 if memory is None else float(np.exp(-1 / memory))
        told = [*noise, barrier, forget, CHANGED, EXCESS, SETTLING, empty, *drift / noise, FADING]
        self._config = np.array(told, dtype=float)
        self._rules = np.concatenate([self._config, RULES])
        self._noise = noise
        self.changes: list[Change] = []
        self._events = np.empty((1, 4))
        self._theta = np.empty((1, 10))
        self.samples = 0
        self._reset()

    def _reset(self):
        self._state = np.zeros(STATE_SIZE)
        self._state[[LAST, USUAL, SEEN]] = -1.0, 1.0, 10.0
        self._G, self._h, self._H, self._L = np.zeros((10, 10)), np.zeros(10), np.eye(10), np.eye(10)
        self._w, self._shift = 0.3 * self._config[EMPTY] * UNIT, np.zeros(10)
        self._bias, self._past = np.zeros(BIAS_SIZE), np.zeros(PAST_SIZE)
        self._bias[[-4, -1]] = self._config[[FORCE_RATE, TORQUE_RATE]] ** 2
        self._past[:BIAS_SIZE] = self._bias

    @property
    def theta(self) -> np.ndarray:
        """(10,) current estimate in the sensor frame; consistent at every instant."""
        return self._basis @ self._w

    @property
    def covariance(self) -> np.ndarray:
        """(10, 10) of the current estimate, at the noise that the stream really has, for any density inside the shape:
        it holds the way to the estimate that assumes nothing else."""
        factor = self._basis @ np.linalg.inv(self._L).T
        shift = self._basis @ self._shift
        usual, lasting = self._state[[USUAL, LONG]]
        return (lasting if lasting > LASTING * usual else usual) * factor @ factor.T + np.outer(shift, shift)

    @property
    def bias(self) -> np.ndarray:
        """(6,) current bias of the sensor, N and N m."""
        value = self._bias[:66].reshape(6, 11)
        return np.repeat(self._noise, 3) * (value[:, 10] - value[:, :10] @ self._w)

    @property
    def holding(self) -> bool:
        """Whether something is held."""
        return bool(self._state[PULLED] > self._config[EMPTY] * max(self._state[FELT], 1e-12))

    @property
    def state(self) -> str:
        """What is going on: "empty", "holding", or "changing" while it is open whether there is a change."""
        if self._state[LAST] >= 0:
            return "changing"
        return "holding" if self.holding else "empty"

    @property
    def payload(self) -> Payload:
        """The current estimate as a Payload. Raises FitError before the first sample."""
        if self.samples == 0:
            raise FitError("no sample has been fed yet; call update or update_many first")
        found = Payload(
            theta=self.theta,
            covariance=self.covariance,
            method="online",
            status=Status.FAINT,
            noise=self._noise,
            samples=int(self._state[COUNT]),
            why="recursive, with forgetting and change detection",
            notes=tuple(f"{c.kind} at {c.time:.2f} s" for c in self.changes),
        )
        if not self.holding:
            return found
        if self.share_left > THRESHOLDS.unexplained:
            return replace(found, status=Status.NOT_EXPLAINED)
        return replace(found, status=status_of(found, moving=True, size=self._size))

    @property
    def share_left(self) -> float:
        """What the estimate leaves of the wrench beyond the sensor's noise, as a part of it, both in units of noise and
        without what a drifting bias can be."""
        energy, w = self._state[ENERGY], self._w
        left = energy - 2 * self._h @ w + w @ self._G @ w - 6 * self._state[TRUSTED]
        return float(np.sqrt(max(left, 0.0) / max(energy, 1e-300)))

    def update(self, t: float, rotation, wrench, twist=None, acceleration=None) -> np.ndarray:
        """One sample. rotation: (3, 3) world_from_sensor; wrench, twist, acceleration: (6,). Returns theta (10,)."""
        sample = (
            np.array([t], dtype=float),
            np.array(rotation, dtype=float).reshape(1, 3, 3),
            *(_row(x) for x in (wrench, twist, acceleration)),
        )
        self._feed(sample, self._theta, self._events)
        return self._theta[0]

    def update_many(self, log: WrenchLog) -> np.ndarray:
        """A chunk of samples in order. Returns theta (n, 10) after each of them."""
        thetas, events = np.empty((len(log), 10)), np.empty((len(log), 4))
        twist, acceleration = log.motion  # copies below, as the compiled code knows writable arrays only
        signals = (log.t, log.rotation, log.wrench, twist, acceleration)
        self._feed(tuple(np.array(x) for x in signals), thetas, events)
        return thetas

    def _feed(self, samples, thetas, events):
        """thetas: (n, 10) filled; events: (n, 4) filled with time, kind (of `KINDS`), mass before and after."""
        core = require_core()
        t, rotation, wrench, twist, acceleration = samples
        moved = rotation, wrench, twist, acceleration, self._gravity
        if self._tool is not None:
            core.without_tool(*moved, self._tool.theta, self._tool.bias)
        fit = self._G, self._h, self._w, self._H, self._L, self._shift, self._bias, self._past
        told = self._basis, self._Q, self._wide, self._rules
        count = core.advance(t, *moved, *told, self._state, *fit, thetas, events)
        self.samples += len(t)
        for time, kind, before, after in events[:count]:
            self.changes.append(Change(float(time), KINDS[int(kind)], float(before), float(after)))


def _row(x) -> np.ndarray:
    """(1, 6) copy of a spatial vector, zero for None."""
    return np.zeros((1, 6)) if x is None else np.array(x, dtype=float).reshape(1, 6)


def _ball(radius):
    return parameters.from_com_inertia(1.0, np.zeros(3), 2 / 3 * radius**2 * np.eye(3))
