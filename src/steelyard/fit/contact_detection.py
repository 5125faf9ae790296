"""Contacts in logs of joint torques: the momentum observer, with thresholds that the identified model states.

The observer's residual is the torque from outside behind a low-pass filter (`momentum_observer`). Without a contact it
is what the model has wrong: uncertain parameters, whose covariance passes the same filter with the columns of the
regression, noise, and near standstill friction of another shape: logs without contacts have their sizes and tail. Peaks
of a normal process follow Rayleigh's distribution (Rice 1945): excesses of their squares are exponential, whose mean
those logs give, and with it the threshold for a rate of false alarms.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.arguments import require_each, require_type
from steelyard.cards import Card
from steelyard.dynamics.contact_forces import CONTACT_KINDS, contact_jacobian, require_contact_kinds
from steelyard.dynamics.generalised_momentum import gains_of, lagged
from steelyard.dynamics.kinematics import tree
from steelyard.errors import LogError, OptionError
from steelyard.fit.confidence import Uncertainty
from steelyard.fit.validation import raw_values
from steelyard.information.accumulation import Columns, RegressionSpec
from steelyard.information.contact_rows import explained_torque
from steelyard.information.regression_rows import channels_of, recorded_direction, require_tree
from steelyard.information.row_kinds import momentum_balance
from steelyard.log import Log
from steelyard.log.stamps import runs, segments
from steelyard.model import Robot
from steelyard.native import CHUNK
from steelyard.numbers import NEGLIGIBLE

COMMON = 0.9, 0.75, 0.5, 0.0  # quantiles above which peaks of a log without contacts make the tail: the first of enough
MEMORY = 3.0  # over the gain: after as long, 5 % of a contact is left in the filter, and alarms are of another one
FEWEST = 10  # peaks


@dataclass(frozen=True, eq=False)
class Contact:
    """Alarms that belong together.

    begin, end: of the alarms, s. joints: degrees that gave them, the first first. torque: (nv,) of the largest
    residual of each, N m or N. links: of the last joints with an alarm: it is there, or at what they carry.
    """

    begin: float
    end: float
    joints: tuple[str, ...]
    torque: np.ndarray
    links: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ExternalTorque(Card):
    """Torques from outside over time, (n, nv) in N m or N, behind the observer's filter.

    t: (n,) s. torque: of what acts on the robot. deviation: standard deviation that it has without contacts; threshold:
    of an alarm. memory: s within which alarms are of one contact.
    """

    robot: Robot
    t: np.ndarray
    q: np.ndarray
    torque: np.ndarray
    deviation: np.ndarray
    threshold: np.ndarray
    memory: float

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """In time."""
        found, alarms = [], np.abs(self.torque) > self.threshold
        for start, stop in _merged(self.t, alarms.any(axis=1), self.memory):
            own = alarms[start:stop]
            dofs = sorted(
                np.flatnonzero(own.any(axis=0)).tolist(), key=lambda dof, own=own: int(np.argmax(own[:, dof]))
            )
            part = self.torque[start:stop]
            largest = part[np.argmax(np.abs(part), axis=0), np.arange(part.shape[1])]
            names = tuple(self.robot.dof_names[dof] for dof in dofs)
            links = touched(self.robot, dofs)
            found.append(Contact(float(self.t[start]), float(self.t[stop - 1]), names, largest, links))
        return tuple(found)

    def wrench(self, frame: str, kind: str = "flat") -> tuple[np.ndarray, np.ndarray]:
        """The wrench on a frame that explains the torques best, each over its deviation.

        Args:
            frame: where the contact is.
            kind: "point" (a force at the frame's origin), "line" or "flat" (all six components).

        Returns:
            (n, m) the components of the kind, N and N m, in world axes at the frame's origin (moments of a line in
            those of the frame), and their standard deviations. NaN where the joints do not determine a component.

        Raises:
            ModelError: no such frame.
            OptionError: another kind.
        """
        require_contact_kinds(kind)
        wrench, deviation = np.empty((2, len(self.t), len(CONTACT_KINDS[kind])))
        for start in range(0, len(self.t), CHUNK):
            part = slice(start, start + CHUNK)
            size = self.deviation[part]
            J = contact_jacobian(self.robot, self.q[part].T, (frame,), (kind,)) / size[..., None]
            wrench[part], deviation[part] = _explained(J, self.torque[part] / size)
        return wrench, deviation

    def _title(self) -> str:
        return f"{len(self.contacts)} contacts in {self.t[-1] - self.t[0]:.4g} s"

    def _rows(self):
        return {
            f"{each.begin:.2f} to {each.end:.2f} s": f"{', '.join(each.links)} or beyond, by {', '.join(each.joints)}"
            for each in self.contacts
        }


def _explained(J, torque):
    """Least squares (n, m) of J (n, nv, m) and torques (n, nv) of unit variance, deviations (n, m); NaN if open."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    kept = s > 1e-9 * s.max(axis=1, initial=0.0, keepdims=True)
    inverse = np.where(kept, 1 / np.where(kept, s, 1.0), 0.0)
    found = np.einsum("nkm,nk,nvk,nv->nm", Vt, inverse, U, torque)
    deviation = np.sqrt(np.einsum("nkm,nk->nm", Vt**2, inverse**2))
    seen = np.einsum("nkm,nk->nm", Vt**2, kept)
    return tuple(np.where(seen > 1 - 1e-9, x, np.nan) for x in (found, deviation))


def _merged(t, alarms, memory: float):
    """Start and stop of runs of alarms (n,), those together between which less time passes than a memory."""
    found: list[tuple[int, int]] = []
    for start, stop in runs(alarms):
        joins = found and t[start] - t[found[-1][1] - 1] < memory
        found.append((found.pop()[0] if joins else start, stop))
    return found


def touched(robot: Robot, dofs: Iterable[int]) -> tuple[str, ...]:
    """Links that something touches, if these degrees feel it: one for each branch of the robot, those that the last of
    the degrees carry. What touches is there, or at what they carry."""
    constants = tree(robot)
    joints = [int(constants.degree_joint[np.flatnonzero(constants.coordinates == dof)[0]]) for dof in dofs]
    above = {int(j) for k in set(joints) for j in constants.degree_joint[constants.ancestors[k] > 0] if j != k}
    bodies = {constants.subtree_bodies[joint].start for joint in joints if joint not in above}
    return tuple(robot.body_names[body] for body in sorted(bodies))


@dataclass(frozen=True, eq=False, repr=False)
class ContactDetector(Card):
    """Alarms of the momentum observer at a known rate of false ones.

    uncertainty: of the identified model. quiet: logs without contact, with q, v and tau as those to be observed are
    (as recorded, or filtered alike); those that were identified will do. gain: K of the observer, 1/s.
    false_alarms: expected in an hour of motion, over all joints.
    """

    uncertainty: Uncertainty
    quiet: Log | Sequence[Log]
    gain: float = 30.0
    false_alarms: float = 1.0

    def __post_init__(self):
        require_type(Uncertainty, uncertainty=self.uncertainty)
        require_each(Log, quiet=self.quiet)
        if not self.false_alarms > 0:
            raise OptionError(f"false_alarms={self.false_alarms}: a rate in 1/h is positive.")
        gains_of(self.gain, 1)
        require_tree(self.robot, "ContactDetector")

    @property
    def robot(self) -> Robot:
        """As identified."""
        return self.uncertainty.estimate.require_robot()

    @cached_property
    def _calibration(self) -> tuple[np.ndarray, np.ndarray]:
        """(2, nv) noise of the residual, everywhere and at standstill besides; (nv,) how many deviations a threshold
        is; from logs without contact."""
        logs = (self.quiet,) if isinstance(self.quiet, Log) else tuple(self.quiet)
        parts = [self._residual(log) for log in logs]
        time = sum(float(log.t[s.stop - 1] - log.t[s.start]) for log in logs for s in segments(log.t))
        if not time > 0:
            raise LogError("quiet: a detector is calibrated by logs of motion without contact; these have no samples.")
        torque, parameter, slow = (np.concatenate(each) for each in zip(*parts, strict=True))
        least = NEGLIGIBLE * np.ptp(np.concatenate([log.require("tau")[0] for log in logs]), axis=0)
        noise = np.maximum(_noise(torque, slow), np.maximum(least, np.finfo(float).tiny) * [[1.0], [0.0]])
        share = self.false_alarms / 3600.0 / self.robot.nv / 2  # 1/s, of each half of the samples
        stamps = np.concatenate([log.t + k * (1e6 + time) for k, log in enumerate(logs)])
        z = np.abs(torque) / np.sqrt(parameter**2 + noise[0] ** 2 + (noise[1] * slow) ** 2)
        fast = np.abs(slow) <= np.median(np.abs(slow), axis=0)
        parts = [[_level(stamps, x, MEMORY / self.gain, share * time) for x in (z * at).T] for at in (fast, ~fast)]
        return noise, np.max(parts, axis=0)

    def __call__(self, log: Log) -> ExternalTorque:
        """Torques from outside, and the contacts that they show.

        Args:
            log: with q, v and tau, as the quiet ones; wrenches of `log.external` are known, and taken off.

        Returns:
            The ExternalTorque.

        Raises:
            LogError: a missing channel, values that are not finite, joints of another robot; contacts that are flagged.
        """
        noise, level = self._calibration
        torque, parameter, slow = self._residual(log)
        deviation = np.sqrt(parameter**2 + noise[0] ** 2 + (noise[1] * slow) ** 2)
        threshold = np.where(1.0 if log.weights is None else log.weights > 0, level * deviation, np.inf)
        return ExternalTorque(self.robot, log.t, log.q, torque, deviation, threshold, MEMORY / self.gain)

    @cached_property
    def _regression(self):
        estimate = self.uncertainty.estimate
        spec = RegressionSpec(
            robot=self.robot,
            layout=estimate.layout,
            basis=estimate.basis,
            kept=estimate.basis.columns,
            kinds=("momentum",),
            told=Columns(rows="momentum", coulomb_width=estimate.coulomb_width),
        )
        return spec, *raw_values(self.uncertainty)[1:]

    def _residual(self, log: Log) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n, nv) torque from outside, its standard deviation by uncertain parameters, and the share of standstill,
        where the smoothed sign may have another shape: each behind the filter."""
        spec, base, root = self._regression
        if log.contacts:
            raise LogError(
                f"Log '{log.name}': forces of contacts that it flags are not known. Leave the flags out to observe "
                "them, log.replace(contacts={}), or give their wrenches as external."
            )
        names = ("q", "v", "tau", *(["a"] if any(extra.function is not None for extra in spec.layout.extras) else []))
        q, v, tau, *a = channels_of(spec.robot, log, names)
        tau = explained_torque(spec.robot, log, q, tau)
        channels = q, v, (a or [None])[0], tau, recorded_direction(log, spec.coulomb_width, spec.layout)
        torque, parameter, slow = (np.empty(tau.shape) for _ in range(3))
        gains, still = gains_of(self.gain, self.robot.nv), np.tanh(v / spec.coulomb_width) ** 2 - 1
        for stretch in segments(log.t):
            slow[stretch] = lagged(log.t[stretch], still[stretch], 0 * still[stretch], gains)[0]
            before: dict[int, tuple] = {}
            for start in range(stretch.start, stretch.stop, CHUNK):
                at = slice(start, min(start + CHUNK, stretch.stop))
                for dof, places, static, rate in momentum_balance(spec, spec.chunk(channels, at)):
                    static, rate = (np.broadcast_to(x, (len(x), at.stop - at.start)).T for x in (static, rate))
                    gain = np.full(static.shape[1], self.gain)
                    lag, before[dof] = lagged(log.t[at], static, rate, gain, before.get(dof))
                    torque[at, dof] = lag[:, :-1] @ base[places] - lag[:, -1]
                    parameter[at, dof] = np.linalg.norm(lag[:, :-1] @ root[places], axis=1)
        return torque, parameter, slow

    def _title(self) -> str:
        return f"ContactDetector({self.robot.name}, {self.false_alarms:g} false alarms an hour)"

    def _rows(self):
        noise, level = self._calibration
        told = zip(self.robot.dof_names, noise[0], level, strict=True)
        return {name: f"{own:.3g}, alarm at {factor:.2f} deviations" for name, own, factor in told}


def _noise(torque, slow):
    """(2, nv) deviations of residuals (n, nv): in the faster half, and times the share of standstill besides."""
    power, shape = torque**2, slow**2
    fast = np.mean(power, axis=0, where=shape <= np.median(shape, axis=0))
    more = np.sum((power - fast) * shape, axis=0) / np.maximum(np.sum(shape**2, axis=0), np.finfo(float).tiny)
    return np.sqrt([fast, np.maximum(more, 0.0)])


def _level(t, z, memory: float, count: float) -> float:
    """Deviations that peaks of z (n,) >= 0 exceed so often in this log."""
    common, peaks = 0.0, np.array([float(np.max(z))])
    for share in COMMON:
        common = float(np.quantile(z, share))
        peaks = np.array([z[start:stop].max() for start, stop in _merged(t, z >= common, memory)])
        if len(peaks) >= FEWEST:
            break
    excess = float(np.mean(peaks**2 - common**2))
    return float(np.sqrt(common**2 + excess * max(0.0, np.log(len(peaks) / count))))
