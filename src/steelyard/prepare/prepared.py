"""The one order in which a log is made ready for a robot: mistakes undone, checked, filtered, cleared, completed.

    false samples left out -> corrected -> checked -> evenly stamped -> filtered -> in steady contact
        -> without clipped torques -> with the joints of closed loops

What takes a fit to be undone (drive gains, unknown delays, torques beyond their limit) follows in `decisions`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from steelyard.cards import Card
from steelyard.corrections import NOTHING, Corrections
from steelyard.drives.arrays import effort
from steelyard.drives.drive import Drive, drives_of
from steelyard.drives.ground import radius_of_feet
from steelyard.errors import LogError
from steelyard.identifiable.loop_completion import on_tree
from steelyard.log import Finding, Log, checks, filters
from steelyard.log.automatic_cutoff import cutoff_for, torque_cutoff_for
from steelyard.log.false_samples import believable
from steelyard.log.findings import accepted
from steelyard.log.masks import coarse, hanging, masked, saturated
from steelyard.log.smoothers import BUTTERWORTH
from steelyard.log.walk_states import BaseStates
from steelyard.model import Robot
from steelyard.prepare.contact_checks import contact_faults
from steelyard.prepare.contact_flags import AUTO, in_steady_contact, parted, standing_frames, with_contacts
from steelyard.prepare.inertial_sensors import sensor_faults, with_acceleration, with_angular_velocity
from steelyard.prepare.undo import corrected, effort_note
from steelyard.spatial import POSE

REPAIRED = ("repeated_sample",)  # findings that new stamps undo
UNUSABLE = ("not_finite", "time_order", "time_duplicate", "few_samples", "no_velocity")  # no filter takes such logs


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Card):
    """A log as fits use it, and what was done to it.

    raw: as recorded, with mistakes undone and stamps made even. filtered: the same with v and a, None where it cannot
    be filtered. log: what is fitted, on the tree of a robot with loops and without clipped torques if asked. findings:
    of the checks. cutoff, torque_cutoff: of positions and torques, Hz; 0 as recorded, None where they cannot be told.
    refilter: what made `filtered`, for other torques of the same samples. unfilled: what to judge a model by where
    `log` has torques that a fit filled in. notes: on what could not be done. repaired: codes of findings that were
    undone. states: of the base of a robot that walks by its drives.
    """

    raw: Log
    filtered: Log | None
    log: Log
    findings: tuple[Finding, ...]
    cutoff: float | None
    torque_cutoff: float | None
    refilter: "Filter | None" = None
    unfilled: Log | None = None
    notes: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    states: BaseStates | None = None

    @property
    def remaining(self) -> tuple[Finding, ...]:
        """Findings that are still to be looked at."""
        return tuple(each for each in self.findings if each.code not in self.repaired)

    @property
    def judged(self) -> Log:
        """The samples that models are judged by: as measured."""
        return self.unfilled or self.log

    @property
    def memory(self) -> float:
        """s over which the filters of positions and torques carry a sample: the period at the lower cutoff."""
        cutoffs = [each for each in (self.cutoff, self.log.bandwidth) if each]
        return 1 / min(cutoffs) if cutoffs else 0.0

    def require_filter(self) -> "Filter":
        """What made the filtered log."""
        assert self.refilter is not None, "a log that could not be filtered has no filter"
        return self.refilter

    def require_filtered(self) -> Log:
        """The filtered log."""
        assert self.filtered is not None, "this log could not be filtered"
        return self.filtered

    @cached_property
    def clear(self) -> Log:
        """The filtered log away from clipped torques, which look like many other mistakes."""
        clipped = saturated(self.raw)
        return masked(self.require_filtered(), self.raw, clipped, self.torque_cutoff or 0.0, name="clipped torques")


def prepare(
    log: Log,
    robot: Robot | None = None,
    *,
    corrections: Corrections = NOTHING,
    cutoff: float | None = None,
    torque_cutoff: float | None = None,
    smoother: str = BUTTERWORTH,
    coupling=(),
    accept: tuple[str, ...] = (),
    drive: tuple[str, ...] = (),
    contacts: tuple[str, ...] = (),
    refuse: bool = True,
) -> Prepared:
    """Make a log ready for fits of a robot.

    Args:
        log: as read, with joint torques or what drives were told.
        robot: it belongs to; without one, nothing is compared with a model.
        corrections: mistakes to undo.
        cutoff: of positions, Hz; None lets the spectrum decide, 0 takes v and a as recorded.
        torque_cutoff: of torques, Hz; None as `filters.differentiate`.
        smoother: "butterworth", "kalman" or "savgol".
        coupling: groups of joints with a common motor, whose direction of motion is theirs together.
        accept: codes of fatal findings in spite of which to go on.
        drive: words of a job that say what drives the joints of a log without torques.
        contacts: frames with flags of contact to use, "auto" to find them from the motion, "none"; empty: as recorded.
        refuse: whether a log that cannot be used is refused; otherwise it comes back as far as it could be prepared.

    Returns:
        The log with v and a, and everything that was done and found on the way.

    Raises:
        LogError: for a log without torques, of other joints or in another order than the robot's, or with a fatal
            finding that is not accepted.
        OptionError: for corrections or cutoffs that do not go with the log.
    """
    if robot is not None:
        checks.require_joints(log, robot)
    drives = drives_of(robot, drive) if robot is not None and drive else {}
    if log.tau is None and refuse and not drives:
        raise LogError(f"Log '{log.name}' has no joint torques (tau); {checks.no_torque(log)}")
    required = partial(accepted, log.name, accept=accept) if refuse else tuple
    task = _Asked(
        robot, corrections, cutoff, torque_cutoff, drives, contacts, required, Filter(robot, smoother, coupling)
    )
    found = Prepared(log, None, log, (), None, None)
    for step in (_undone, _on_base, _checked):
        found = step(task, found)
    if not refuse and not filterable(found.findings):
        return replace(found, log=found.raw)
    found = _with_cutoffs(task, _evenly_stamped(task, found))
    try:
        for step in (_filtered, _sensed, _in_contact):
            found = step(task, found)
    except LogError as error:
        if refuse:
            raise
        notes = (f"motion not analysed: {error}",)
        return Prepared(found.raw, None, found.raw, found.findings, found.cutoff, found.torque_cutoff, notes=notes)
    return _on_tree(task, found)


@dataclass(frozen=True, eq=False)
class Filter:
    """What makes the filtered log of a raw one.

    contacts: words for flags of contact, of whose steady stretches alone samples are kept; None keeps all.
    """

    robot: Robot | None
    smoother: str
    coupling: tuple
    cutoff: float | None = None  # and `torque_cutoff`: as of `Prepared`
    torque_cutoff: float = 0.0
    imu: bool = False  # whether a sensor tells the motion of the base
    contacts: tuple[str, ...] | None = None

    def __call__(self, log: Log) -> Log:
        raw = with_angular_velocity(self.robot, log) if self.imu and self.robot else log
        found = with_motion(
            raw, self.cutoff, torque_cutoff=self.torque_cutoff, smoother=self.smoother, coupling=self.coupling
        )
        if raw.weights is not None:
            found = _without_unweighted(found, raw, self.torque_cutoff)
        found = with_acceleration(self.robot, found) if self.imu and self.robot else found
        if self.contacts is None or self.robot is None:
            return found
        return in_steady_contact(self.robot, with_contacts(self.robot, found, self.contacts), self.cutoff or 0.0)


def _without_unweighted(filtered: Log, log: Log, cutoff: float) -> Log:
    """The filtered log, in which torques with weight 0 do not count, nor what the filter mixes with them: without
    samples of which no torque counts, so that none is held out."""
    found = masked(filtered, log, log.weights == 0, cutoff, name="torques without weight")
    counts = np.ones(len(found), dtype=bool) if found.weights is None else found.weights.any(axis=1)
    if not counts.any():
        raise LogError(f"log {log.name!r}: no torque counts. Leave out less.")
    return found if counts.all() else found[counts]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What was asked of `prepare`. drives: by joint. required: refuses fatal findings. filter: without cutoffs."""

    robot: Robot | None
    corrections: Corrections
    cutoff: float | None
    torque_cutoff: float | None
    drives: Mapping[str, Drive]
    contacts: tuple[str, ...]
    required: Callable[[Iterable[Finding]], tuple[Finding, ...]]
    filter: Filter


def _undone(task: _Asked, found: Prepared) -> Prepared:
    raw, lost = (found.raw, ()) if task.drives else believable(found.raw)
    return replace(found, raw=corrected(task.robot, raw, task.corrections, task.drives), findings=lost)


def _on_base(task: _Asked, found: Prepared) -> Prepared:
    """With the motion of a free base, as legs show it where drives move them."""
    robot, raw = task.robot, found.raw
    if robot is None or not robot.floating:
        return found
    from steelyard.prepare.base_states import with_base

    early = task.required(checks.check(raw, robot)) if np.isnan(raw.q[:, :POSE]).all() else ()
    if any(each.severity == "fatal" for each in early):  # of joints, which tell the motion of the base
        return found
    if not task.drives:
        raw, told = with_base(robot, raw)
        return replace(found, raw=raw, findings=found.findings + told)
    states = walking_states(robot, raw, task.contacts)
    q = np.concatenate([states.q[:, :POSE], raw.q[:, POSE:]], axis=1)
    raw = raw.replace(q=q, v=states.v).noted(*states.notes)
    return replace(found, raw=raw, findings=found.findings + states.findings, states=states)


def _checked(task: _Asked, found: Prepared) -> Prepared:
    robot, raw = task.robot, found.raw
    if robot is not None and task.drives:
        raw = raw.replace(tau=effort(robot, raw, task.drives))
    findings = task.required(checks.check(raw, robot)) + found.findings
    if task.drives:  # joints that stick repeat themselves
        findings = tuple(finding for finding in findings if finding.code not in REPAIRED)
    elif any(finding.code in ("coarse_torque", "hanging_torque") for finding in findings):
        weights = np.ones((len(raw), raw.nv)) if raw.weights is None else raw.weights
        raw = raw.replace(weights=np.where(coarse(raw) | hanging(raw), 0.0, weights))
    return replace(found, raw=raw, findings=findings)


def _evenly_stamped(task: _Asked, found: Prepared) -> Prepared:
    repaired = tuple(code for code in REPAIRED if any(finding.code == code for finding in found.findings))
    raw = filters.restamp(found.raw) if repaired else found.raw
    raw = raw.noted(*effort_note(task.robot, raw)) if task.robot is not None and not task.drives else raw
    return replace(found, raw=raw, repaired=repaired)


def _with_cutoffs(task: _Asked, found: Prepared) -> Prepared:
    own = cutoff_for(found.raw, task.cutoff, smoother=task.filter.smoother)
    band = torque_cutoff_for(found.raw, task.cutoff, task.torque_cutoff)
    refilter = replace(task.filter, cutoff=own, torque_cutoff=band)
    return replace(found, cutoff=own, torque_cutoff=band, refilter=refilter)


def _filtered(task: _Asked, found: Prepared, **how) -> Prepared:
    """The log filtered as before, or otherwise. how: fields of its Filter."""
    refilter = replace(found.require_filter(), **how)
    return replace(found, filtered=refilter(found.raw), refilter=refilter)


def _sensed(task: _Asked, found: Prepared) -> Prepared:
    """With what an inertial sensor says of a free base."""
    robot = task.robot
    if robot is None or not robot.floating or not found.cutoff or found.states is not None:
        return found
    told = task.required(sensor_faults(robot, found.raw, found.require_filtered()))
    found = replace(found, findings=found.findings + told)
    return _filtered(task, found, imu=True) if found.raw.imu else found


def _in_contact(task: _Asked, found: Prepared) -> Prepared:
    """Where contacts are steady; of drives, the ground is simulated."""
    robot, words = task.robot, task.contacts
    if robot is None or not (found.raw.contacts or words) or found.states is not None:
        return found
    told = contact_faults(robot, with_contacts(robot, found.require_filtered(), words), found=AUTO in parted(words))
    found = replace(found, findings=found.findings + task.required(told))
    return _filtered(task, found, contacts=words)


def _on_tree(task: _Asked, found: Prepared) -> Prepared:
    """With what is fitted: without clipped torques if asked, with the joints of closed loops."""
    log, robot = found.clear if task.corrections.saturation else found.require_filtered(), task.robot
    return replace(found, log=on_tree(robot, log) if robot is not None and robot.loops else log)


def walking_states(robot: Robot, log: Log, contacts: tuple[str, ...] = ()) -> BaseStates:
    """States of a walking base, on round feet where the robot's file has spheres there. log: with mistakes undone;
    contacts: as of `prepare`. Raises LogError as `base_states`."""
    radius = radius_of_feet(robot, tuple(log.contacts) or standing_frames(robot))
    from steelyard.prepare.base_states import base_states

    return base_states(robot, log, contacts=contacts or None, radius=radius)


def spectral_cutoff(log: Log, findings: Iterable[Finding]) -> float | None:
    """Hz that the spectrum of a log asks for; None where it cannot be told."""
    return cutoff_for(log) if filterable(findings) else None


def filterable(findings: Iterable[Finding]) -> bool:
    """Whether any filter takes the log of these findings."""
    return not any(each.code in UNUSABLE for each in findings)


def with_motion(
    log: Log,
    cutoff: float | None = None,
    *,
    torque_cutoff: float | None = None,
    smoother: str = BUTTERWORTH,
    coupling=(),
) -> Log:
    """A log with v and a: filtered and differentiated as by `filters.differentiate`, or as recorded for cutoff 0."""
    if cutoff == 0:
        if log.v is None or log.a is None:
            raise LogError(f"Log '{log.name}' has no recorded v or a; give a cutoff in Hz to differentiate positions.")
        return log
    return filters.differentiate(log, cutoff=cutoff, torque_cutoff=torque_cutoff, smoother=smoother, coupling=coupling)
