"""The whole job for logs of commands instead of torques: model and logs in; drives, friction and bodies that make the
model move as the robot did, judged by motion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path

import numpy as np

from steelyard.cards import Card
from steelyard.decisions.rules import TORQUES
from steelyard.drives.arrays import DriveArrays, arrays_of, require_driven
from steelyard.drives.drive import drives_of, twins
from steelyard.drives.free_base import TWIST, apart, moved
from steelyard.drives.free_swings import swings
from steelyard.drives.held_out import (
    WINDOW,
    JudgedMotion,
    Proven,
    judges_of,
    parted,
    parted_by_speed,
    reached,
    window_of,
)
from steelyard.drives.motion_fit import MotionFit, SearchEnd, Stated, draws, fit_motion, search
from steelyard.drives.simulation import Simulation, step_for, unbounded
from steelyard.drives.window_errors import errors_of
from steelyard.drives.windows import Recorded, stretches
from steelyard.errors import LogError, OptionError, UnrecordedJoints, choices
from steelyard.fit import Draws, Estimate
from steelyard.fit.cone_program import consistent
from steelyard.fit.draws import COUNT
from steelyard.identifiable import identifiability
from steelyard.identifiable.analysis import Scale
from steelyard.identifiable.scale_words import ALL, scale_lines
from steelyard.information import accumulate
from steelyard.job import Job
from steelyard.log import Finding
from steelyard.log.match import WALK
from steelyard.model import STEP, Robot
from steelyard.model.drive import Drive
from steelyard.model.formats import document_of
from steelyard.model.robot import ContactParameters
from steelyard.pipeline.drive_estimates import (
    DriveEstimate,
    from_earlier,
    known_of,
    named_drives,
    starts_of,
    with_friction,
    with_gain,
    with_masses,
)
from steelyard.pipeline.job_run import JobRun, Progress, begin, require_motion
from steelyard.prepare import Prepared, prepare

EVIDENCE = 1.1  # times as large an error of faster motion must drives of twins make together to be fitted one by one
HELD = 5e-3  # m and rad, that the base of a walking robot moves at least
FOUND, START, GIVEN = "identified", "where the refinement began", "given model"


@dataclass(frozen=True, eq=False, repr=False)
class DriveResult(Card):
    """Outcome of a run from commands: a robot with drives that moves as its logs do.

    start: the fit to torques of drives that the refinement began with; None of a walking robot, whose refinement begins
    with the given model. motion: errors of motion on held-out blocks: of what the others show, where it began, the
    given model where its drives are known, and of a robot that goes where it is told or stays. Then all samples were
    fitted. ground: what contacts of feet with it have, as the motion shows; None unless the robot walks, and where they
    are of several kinds. `robot.floor` is the same where the file has a place for it. overlay: of these, times,
    measured and simulated positions of each block in one piece, and commanded ones, None where commands are no
    positions; of a free base displacement and rotation vector.
    """

    job: Job  # what was asked for
    prior: Robot  # the given model
    robot: Robot  # the model with new drives, friction, armature and bodies
    drives: Mapping[str, DriveEstimate]  # by joint
    start: Estimate | None
    motion: tuple[JudgedMotion, ...]
    proven: Proven  # how motion is predicted that is faster than what was fitted, and up to where
    scale: tuple[str, ...]  # what says the common scale of masses, friction and gains, and what would, in words
    scaled: tuple[str, ...]  # joints whose numbers count in masses of the given model, as nothing else says their scale
    fit: MotionFit  # the refinement
    ground: ContactParameters | None
    held_out: tuple[Recorded, ...]  # samples that judge
    overlay: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]
    findings: tuple[Finding, ...]  # of the logs
    notes: tuple[str, ...]  # on what was done
    log_names: tuple[str, ...]  # of the files
    window: float = WINDOW  # s of those windows of `motion`
    step: float = STEP  # of the simulation, s

    @cached_property
    def samples(self) -> Draws:
        """Those of `draws.npz`."""
        return self.draws()

    def draws(self, count: int = COUNT, *, seed: int = 0) -> Draws:
        """Samples of what the motion leaves open."""
        values = draws(self.fit, count, seed)
        inertias, ground = values.pop("inertias"), values.pop("ground", None)
        if ground is not None:
            ground = None if self.ground is None else ground * (self.ground.friction[0], self.ground.time_constant)
        return Draws(self.prior.body_names, self.prior.dof_names, inertias, values, ground=ground)

    def _title(self) -> str:
        return f"Drives of '{self.prior.name}' from {len(self.log_names)} log(s)"

    def _rows(self):
        errors = {each.name: "windows {:.3g}, whole {:.3g}".format(*each.pooled) for each in self.motion}
        return errors | {
            "scale": self.scale[0],
            "findings in logs": [finding.code for finding in self.findings] or None,
            "more": ".drives[JOINT], .robot, .motion; sy.save(result.robot, PATH)",
        }


def run_drives(
    job: Job, *, robot: Robot | None = None, logs: Sequence | None = None, progress: Progress | None = None
) -> DriveResult:
    """From files to drives that move as the logs do, judged on held-out samples. Writes nothing. Raises SteelyardError.

    job: with words in `drive`. robot, logs: instead of the files that the job names. progress: told stage and share."""
    report = progress or (lambda stage, share: None)
    report("reading the model", 0.0)
    try:
        begun = begin(job, robot, logs, lambda stage, share: report(stage, 0.02 + 0.08 * share), _refuse)
    except UnrecordedJoints as error:
        raise OptionError(
            f"{error} Joint '{error.joints[0]}': if it is a free base that was held, as on a stand with legs in the "
            f"air, give --fixed (in Python floating=False). {WALK} Lock other joints that no log has (--lock)."
        ) from error
    robot, job = begun.robot, begun.job
    drives = drives_of(robot, job.drive)
    require_driven(robot, drives)
    inputs = [[prepare(log, robot, **job.preparation) for log in own] for own in _inputs(drives, begun.logs)]
    require_motion([each.raw for each in inputs[0]], job)
    recordings = _recorded(robot, inputs[0], drives)
    robot, beyond = unbounded(robot, recordings)
    if robot.floating:
        require_walking(robot, recordings)
    step = STEP if robot.floating else step_for(min(each.raw.rate for each in inputs[0]))
    task = _Task(replace(begun, robot=robot), drives, step)
    report("judging by faster motion", 0.1)
    faster, chosen = _by_speed(task, inputs, lambda share: report("judging by faster motion", 0.1 + 0.25 * share))
    task, read = replace(task, groups=faster.groups), faster.read
    pieces = _recorded(robot, read, drives)
    free = swings(robot, [each.raw for each in read], drives)
    if robot.floating:  # strides of one gait are alike: what judges is the faster motion
        test, found, estimate, more = faster.fast, faster.found, None, task.simulation.notes
    else:
        train, test = parted(pieces, job.validation)
        require_windows(train, test)
        found, estimate, more = task.search(
            read, train, free, lambda share: report("searching", 0.35 + 0.2 * share), faster.found
        )
    fit = fit_motion(
        robot,
        found.near,
        task.stated,
        [*pieces, *free],
        task.step,
        progress=lambda share: report("refining", 0.55 + 0.35 * share),
    )
    report("judging by motion", 0.9)
    named = named_drives(robot, drives, fit)
    refined, ground = _refined(robot, fit, named), task.simulation.contact(fit.windows.q, fit.drives)
    if ground is not None and task.holds_floor:
        refined = replace(refined, floor=ground)
    motion, overlay = _judged(task, found.near.drives, found.start, test)
    noted = (note for each in read for note in each.log.notes)
    result = DriveResult(
        job=job,
        prior=robot,
        robot=refined,
        drives=named,
        start=estimate,
        motion=motion,
        proven=faster.proven,
        scale=task.scale[0],
        scaled=tuple(name for each in task.scale[1] for name in each.joints),
        fit=fit,
        ground=ground,
        held_out=tuple(test),
        overlay=overlay,
        findings=tuple(finding for each in read for finding in each.remaining),
        notes=tuple(dict.fromkeys((*robot.notes, *beyond, *begun.said, *_swung(free), *noted, *more, *chosen))),
        log_names=tuple(Path(path).name for path in job.logs),
        window=window_of(robot),
    )
    report("done", 1.0)
    return result


def _recorded(robot: Robot, read: Sequence[Prepared], drives: Mapping[str, Drive]) -> list[Recorded]:
    return stretches(robot, [each.raw for each in read], drives, [each.states for each in read])


def require_walking(robot: Robot, recordings: Sequence[Recorded]) -> None:
    """Raise OptionError for a free base that is held: a simulation would let it fall."""
    poses = np.concatenate([apart(own.q, own.q[:1], robot.nv)[:, :TWIST] for own in recordings])
    if np.abs(poses).max(initial=0.0) < HELD:
        base = robot.joints[0].name
        raise OptionError(
            f"The base of '{robot.name}' is free (joint '{base}') and does not move in the logs. If it was held, as on "
            "a stand with the legs in the air, give --fixed (in Python floating=False): the free joint stays in the "
            "written model. A robot that stands on the ground shows no drives; let it walk."
        )


def _refuse(job: Job, robot: Robot) -> None:
    if (job.friction is not None and job.shaped_friction) or job.springs:
        raise OptionError("--spring and --friction curve,load are for logs with torques; leave them out with --drive.")
    drives_of(robot, job.drive)


@dataclass(frozen=True, eq=False)
class _Task:
    """What all searches of a run share."""

    run: JobRun
    drives: Mapping[str, Drive]
    step: float
    groups: tuple[np.ndarray, ...] = ()

    @cached_property
    def scale(self) -> tuple[tuple[str, ...], tuple[Scale, ...]]:
        """What says the scales of masses, friction and gains, in words, and those that nothing says."""
        job, known = self.run.job, self.run.known
        if job.loads:
            return ("The known load says the scale.",), ()
        found = identifiability(
            replace(self.run.robot, drives=dict(self.drives)),
            drive={name: str(drive.kind) for name, drive in self.drives.items()},
            masses=known["masses"],
            fixed=known["fixed"],
            friction=job.plain_friction,
            armature=job.armature,
        )
        return tuple(scale_lines(found)), tuple(each for each in found.scales if not each.fixed)

    @cached_property
    def simulation(self) -> Simulation:
        return Simulation(self.run.robot, self.step)

    @cached_property
    def holds_floor(self) -> bool:
        """Whether the file has a floor, and a place for what contacts with it have."""
        document = document_of(self.run.robot)
        return document is not None and document.holds_floor

    @property
    def stated(self) -> Stated:
        return Stated(
            known=known_of(self.run.robot, self.drives, self.run.job),
            total=ALL in self.run.known["masses"],
            weighed=np.array([name in self.run.known["masses"] for name in self.run.robot.body_names]),
            scaled=[np.isin(self.run.robot.body_names, each.bodies) for each in self.scale[1]],
            groups=self.groups,
        )

    def search(
        self,
        read: Sequence[Prepared],
        train: list[Recorded],
        free: list[Recorded],
        progress,
        earlier: SearchEnd | None = None,
    ) -> tuple[SearchEnd, Estimate | None, tuple]:
        """What moves most as some recordings of logs do, and as joints swing whose drives are off; the fit to their
        torques; and notes on it. earlier: as of `search`."""
        robot, known, stated = self.run.robot, self.run.known["masses"], self.stated
        if robot.floating:
            told = {name: with_gain(each, 1.0) for name, each in self.drives.items()}
            given = with_masses(
                robot, with_friction(from_earlier(robot, arrays_of(robot, told), stated.known, self.run.job)), known
            )
            return search(robot, [given], stated, train, self.step, progress=progress), None, ()
        own = [replace(each, log=each.log[_within(each.log.t, train)]) for each in read]
        plan = self.run.plan([each for each in own if len(each.log)], self.drives).decided(TORQUES)
        # the consistent fit to torques: where the refinement begins (equation error)
        estimate = consistent(
            reduce(add, [accumulate(robot, log, **plan.options) for log in plan.logs]), **self.run.known
        )
        gains = np.ones(robot.nv) if plan.gains is None else plan.gains
        starts = starts_of(self.run.robot, self.drives, gains, estimate)
        if self.run.job.start:
            starts.insert(0, from_earlier(robot, starts[0], stated.known, self.run.job))
        starts = [with_masses(robot, each, known) for each in starts]
        return (
            search(robot, starts, stated, [*train, *free], self.step, earlier=earlier, progress=progress),
            estimate,
            tuple(each.words for each in plan.made),
        )


def _inputs(drives: Mapping[str, Drive], logs: Sequence) -> list[list]:
    """What may have driven the joints: commands, and torques that were measured beside commanded ones."""
    both = all(log.command is not None and log.tau is not None for log in logs)
    measured = [log.replace(command=None) for log in logs] if both else []
    torques = all(drive.features.measured == "tau" for drive in drives.values())
    return [list(logs), measured] if both and torques else [list(logs)]


@dataclass(frozen=True, eq=False)
class _Faster:
    """A fit to the slower part of logs and how it predicts their faster part."""

    found: SearchEnd
    proven: Proven
    fast: list[Recorded]
    groups: tuple[np.ndarray, ...]
    read: list[Prepared]


def _by_speed(task: _Task, inputs: list[list[Prepared]], progress) -> tuple[_Faster, tuple[str, ...]]:
    """How motion is predicted that is faster than what was fitted; and what predicts it best, with notes: drives of
    twins alike or each of its own, commanded or measured torques."""
    robot, found = task.run.robot, []
    alike = twins(robot, task.drives)
    for read in inputs:
        free = swings(robot, [each.raw for each in read], task.drives)
        slow, fast = parted_by_speed(_recorded(robot, read, task.drives), task.run.job.validation)
        require_windows(slow, fast)
        own = None
        for groups in [alike, ()] if alike and not robot.floating else [alike]:
            own, *_ = replace(task, groups=groups).search(read, slow, free, progress, own)
            motion, _ = _judged(task, own.near.drives, None, fast)
            found.append(_Faster(own, Proven(motion, reached(slow), reached(fast)), fast, groups, read))
    best = min(found, key=lambda each: each.proven.error * (EVIDENCE if alike and not each.groups else 1.0))
    rest = choices([_mrad(each.proven.error) for each in found if each is not best])
    others = f" (error of faster motion {_mrad(best.proven.error)}, otherwise {rest})" if rest else ""
    notes = []
    if alike:
        names = "; ".join(", ".join(robot.dof_names[j] for j in group) for group in alike)
        notes.append(f"Same motor: {names}. Drives {'share' if best.groups else 'do not share'} their numbers{others}.")
    known = {j for group in alike for j in group}
    for group in twins(robot, task.drives, named=False) if not robot.floating else ():
        if known.isdisjoint(group) and np.isfinite(robot.effort_limits[group[0]]):
            names = ", ".join(robot.dof_names[j] for j in group)
            notes.append(
                f"{names} have equal limits in the model. If they have the same servo, give each the same group in "
                '[drives.JOINT] of the side file (group = "servo"): then they share its numbers, if evidence says so.'
            )
    if len(inputs) > 1:
        which = "commanded" if best.read is inputs[0] else "measured"
        notes.append(f"Of commanded and measured torques, the {which} ones drive the joints{others}.")
    return best, tuple(notes)


def _swung(free: Sequence[Recorded]) -> tuple[str, ...]:
    if not free:
        return ()
    length = sum(own.t[-1] - own.t[0] for own in free)
    return (f"Drives are off and joints swing freely for {length:.3g} s: fitted, too, as motion without drives.",)


def _mrad(error: float) -> str:
    return f"{1e3 * error:.3g} mrad (mm)"


def _within(t, recordings: list[Recorded]) -> np.ndarray:
    """(n,) bool: times that lie within recordings."""
    return np.any([(t >= own.t[0]) & (t <= own.t[-1]) for own in recordings], axis=0)


def require_windows(train: list[Recorded], test: list[Recorded]) -> None:
    """Raise LogError where nothing is left to fit or to judge by."""
    if not train or not test or max(own.t[-1] - own.t[0] for own in train) < WINDOW:
        raise LogError(
            "No stretch of the logs, without a gap and with all drives on, is long enough: the part that is fitted "
            f"takes {WINDOW:g} s at least. Record a longer motion."
        )


def _refined(robot: Robot, fit: MotionFit, named: Mapping[str, DriveEstimate]) -> Robot:
    plain = {
        name: Drive(**{key: value for key, value in vars(each).items() if key in Drive.__dataclass_fields__})
        for name, each in named.items()
    }
    arrays = fit.drives
    changed = robot.with_inertias(arrays.inertias).with_joint_properties(
        damping=arrays.damping, frictionloss=fit.friction, armature=arrays.armature
    )
    return replace(changed, drives=plain)


def _judged(
    task: _Task, found: DriveArrays, start: DriveArrays | None, test: list[Recorded]
) -> tuple[tuple[JudgedMotion, ...], tuple]:
    """Errors of motion on samples that were not fitted, and the overlay of a `DriveResult`, on the ground that is
    written, else on the file's."""
    simulation, judges = Simulation(task.run.robot, STEP), judges_of(test, STEP)
    sets = {FOUND: found} | ({} if start is None else {START: start})
    if all(each.torque_per_unit is not None for each in task.drives.values()):
        sets[GIVEN] = arrays_of(task.run.robot, task.drives)
    level = (found.ground[0], 0.0, 0.0)
    written = task.holds_floor and simulation.contact(judges.windows.q, found) is not None
    given = [name for name in sets if name != FOUND or not written]
    sets |= {name: sets[name].changed(ground=level) for name in given}
    motion = [judges.motion(name, simulation, arrays) for name, arrays in sets.items()]
    whole = judges.whole
    followed = bool(found.follows_q[whole.base :].all())
    (error,) = errors_of(simulation, [whole], [sets[FOUND]])
    begin = task.run.robot.neutral
    paths = (apart(q, begin, whole.nv) for q in (whole.measured, moved(whole.measured, error)))
    overlay = (whole.times, *paths, whole.commanded if followed else None)
    return (*motion, *judges.idle(positions=followed)), overlay
