"""The start of every run: a job from what Python gives, robot and logs as read, facts of the bodies, and refusals.

`begin` makes the `JobRun` that identification from torques and from commands go on from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.arguments import require_type, unknown_option
from steelyard.corrections import Corrections, corrections_from
from steelyard.decisions.fit_plan import FitPlan
from steelyard.drives.drive import Drive
from steelyard.dynamics.closed_loop.projection import with_motors
from steelyard.errors import LogError, OptionError, choices
from steelyard.fit import Estimate, posterior
from steelyard.fit.knowledge import fixed_from, fixed_words, mass_words, masses_from, model_facts, tied_from, tied_words
from steelyard.information import Information
from steelyard.job import Job, in_memory, is_in_memory
from steelyard.job_options import options_of
from steelyard.log import Log, checks
from steelyard.log.read import READERS
from steelyard.model import Robot, load
from steelyard.model.formats import MODEL_SUFFIXES, arguments_of
from steelyard.model.locking import locked
from steelyard.model.side import read_known, read_side, side_path
from steelyard.numbers import to_float
from steelyard.pipeline.sums_of_logs import several
from steelyard.prepare import Prepared, prepare
from steelyard.prepare.reading import lock_words, locks_of, read_logs
from steelyard.terms import text_of


def job_of(model, logs=(), **options) -> Job:
    """A Job of options as `identify` takes them. model: a path or a Robot; logs: one or several, each a path or what
    `read_log` takes, in memory with a name in `<>`. Raises OptionError for an option that a Job does not have."""
    if isinstance(model, Log):
        raise OptionError("The first argument is a Log: the model comes first, then the logs.")
    require_type(Robot | str | PathLike, model=model)
    known = options_of(Job)
    if unknown := sorted(set(options) - set(known)):
        raise OptionError(unknown_option("A job", unknown, known))
    told: dict[str, Any] = {
        name: _READ[name](value) if name in _READ else _plain(name, value) for name, value in options.items()
    }
    if isinstance(model, Robot) and model.source is not None:
        told.setdefault("arguments", _READ["arguments"](model.source.arguments))
    return Job(model=_model_word(model), logs=_log_words(several(logs)), **told)


def _model_word(model) -> str:
    if not isinstance(model, Robot):
        return str(model)
    return in_memory(model.name) if model.source is None else str(model.source.path)


def _log_words(logs: Sequence) -> tuple[str, ...]:
    words = [
        str(log) if isinstance(log, str | Path) else in_memory(log.name if isinstance(log, Log) else "log")
        for log in logs
    ]
    return tuple(
        in_memory(f"{word[1:-1]} {k + 1}") if is_in_memory(word) and words.count(word) > 1 else word
        for k, word in enumerate(words)
    )


def _plain(name: str, value):
    each, how = options_of(Job)[name]
    if isinstance(each.default, tuple) or (how.joined and value is not None):
        return _words(value)
    if how.path and value is not None:
        return str(value)
    return tuple(map(float, value)) if name == "gravity" and value is not None else value


def _words(value) -> tuple[str, ...]:
    return (str(value),) if isinstance(value, str | Path) else tuple(map(str, value))


def _coupling(value) -> tuple[str, ...]:
    return tuple(text_of(group) for group in ((value,) if isinstance(value, str | Mapping) else value))


def _drive(value) -> tuple[str, ...]:
    return tuple(f"{joint}={kind}" for joint, kind in value.items()) if isinstance(value, Mapping) else _words(value)


_READ: dict[str, Callable[[Any], Any]] = {
    "arguments": lambda value: tuple(f"{name}={text}" for name, text in arguments_of(value).items()),
    "drive": _drive,
    "coupling": _coupling,
    "masses": mass_words,
    "fixed": fixed_words,
    "tied": tied_words,
    "channels": lambda value: None if value is None else dict(value),
    "corrections": lambda value: value if isinstance(value, Corrections) else corrections_from(value),
}


Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class JobRun:
    """A job as its logs show it.

    job: with the joints that the logs lock, without logs that repeat others. robot: with motors. known: of its bodies,
    as options of `fit.consistent`; said: notes on that. logs: as read.
    """

    job: Job
    robot: Robot
    known: dict
    said: tuple[str, ...]
    logs: tuple[Log, ...]

    def prepared(self) -> list[Prepared]:
        """The logs as fits use them. Raises LogError."""
        return [prepare(log, self.robot, **self.job.preparation) for log in self.logs]

    def plan(self, read: Sequence[Prepared], drives: Mapping[str, Drive] | None = None) -> FitPlan:
        """What is to be decided of prepared logs. drives: by joint, of logs of commands; those without a known gain are
        in units of their drive."""
        loads = tuple(map(load_word, self.job.loads))
        found = FitPlan(self.job, self.robot, tuple(read), self.fit, drives or {})
        if loads and not found.unknown.any():
            raise OptionError("Logs with a known load fix drive gains: give --drive-gains with --load.")
        logs = [prepared_file(self.job, self.robot, path).log for *_, path in loads]
        return replace(found, loads=tuple((link, kg, log) for (link, kg, _), log in zip(loads, logs, strict=True)))

    def fit(self, info: Information, **options) -> Estimate:
        """The posterior of this job. options: of `fit.posterior`."""
        return posterior(info, **(self.known | options))


def begin(
    job: Job, robot: Robot | None, logs: Sequence | None, progress: Progress, refuse: Callable[[Job, Robot], None]
) -> JobRun:
    """The run of a job, its logs read, or a robot and logs in their place. refuse: raises for what this kind of run
    cannot do, before any log is read. Raises SteelyardError."""
    require_model_first(job)
    whole = with_motors(load_with_side(job, robot))
    knowledge_of(job, whole)
    refuse(job, whole)
    require_filtered(job)
    robot, job, found = recorded(job, whole, logs, progress=progress)
    return JobRun(job, robot, *knowledge_of(job, robot), tuple(found))


def load_with_side(job: Job, robot: Robot | None = None) -> Robot:
    """The nominal robot, with the rotors and loops of its side file where the job uses it, and locked joints."""
    if robot is None:
        robot = load(
            job.model, floating=job.floating, gravity=job.gravity, folders=job.folders, arguments=job.arguments
        )
    side = side_of(job)
    robot = robot if side is None else read_side(side, robot, gravity=job.gravity)
    return locked(robot, lock_words(job.lock, robot))


def model_in(path) -> Path:
    """A model file as it is; of the folder of a result, that to be simulated where there is one. Raises OptionError."""
    files = sorted(Path(path).iterdir()) if Path(path).is_dir() else [Path(path)]
    found = [each for each in files if each.suffix.lower() in MODEL_SUFFIXES and each.is_file()]
    if not found:
        raise OptionError(f"{path} holds no model. Name the folder of an earlier result, or its model file.")
    return min(found, key=lambda each: not each.stem.endswith("_simulated"))


def side_of(job: Job) -> Path | None:
    """The side file that a job reads: the one it names, else the one beside the model where there is one."""
    if job.side is not None:
        return Path(job.side)
    beside = side_path(job.model)
    return beside if job.rotors or beside.is_file() else None


def knowledge_of(job: Job, robot: Robot) -> tuple[dict, tuple[str, ...]]:
    """What a job and its side file say about the bodies, as arguments of `fit.consistent`; and notes on the latter.

    What the job says of a link counts more than what the file says of it. Raises SteelyardError for mistakes in either.
    """
    side = side_of(job)
    told = {"masses": masses_from(job.masses), "fixed": fixed_from(job.fixed), "tied": tied_from(job.tied)}
    facts = model_facts(robot, side, rotors=job.rotors, within=job.within, **told)
    if side is None:
        return facts, ()
    known = read_known(side, robot) if job.rotors else read_known(side, robot).without_rotors(robot)
    return facts, tuple(f"{side.name}: {text}" for text in known.words())


def recorded(
    job: Job, robot: Robot, logs: Sequence | None = None, progress: Progress | None = None
) -> tuple[Robot, Job, list[Log]]:
    """The robot as the logs of a job show it, the job that says so in words, and the logs as they were read.

    logs: in the place of the files that the job names.
    """
    sources = job.logs if logs is None else logs
    robot, read = read_logs(sources, robot, channels=job.channels, corrections=job.corrections, progress=progress)
    kept: list[int] = []
    for k, log in enumerate(read):
        first = next((i for i in kept if _same(read[i], log)), None)
        if first is None:
            kept.append(k)
            continue
        note = f"{job.logs[k]} is the same recording as {job.logs[first]} and is not counted again"
        read[first] = read[first].noted(note)
    job = replace(job, lock=locks_of(robot), logs=tuple(job.logs[k] for k in kept))
    return robot, job, [_with_currents(job, read[k]) for k in kept]


def _with_currents(job: Job, log: Log) -> Log:
    """Motor currents in the place of torques that a log lacks, where gains are looked for."""
    if not job.drive_gains or log.tau is not None or log.current is None:
        return log
    return log.replace(tau=log.current, current=None).noted("tau: motor currents, whose gains are found")


def _same(one: Log, other: Log) -> bool:
    """Whether two logs are one recording: the same samples at the same times after their start."""
    if one is other:
        return True
    pairs = ((one.t - one.t[:1], other.t - other.t[:1]), (one.q, other.q), (one.tau, other.tau))
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)


def prepared_file(job: Job, robot: Robot, path) -> Prepared:
    """A log file of a job, as the job uses it. Raises LogError for one that cannot be used."""
    _, (log,) = read_logs([path], robot, channels=job.channels, corrections=job.corrections)
    return prepare(_with_currents(job, log), robot, **job.preparation)


def load_word(word: str) -> tuple[str, float, str]:
    """Link, mass in kg and path of the log of `LINK=KG:LOG`. Raises OptionError."""
    link, equals, rest = word.partition("=")
    mass, colon, path = rest.partition(":")
    try:
        value = to_float(mass)
    except ValueError:
        value = np.nan
    if not (link and equals and colon and path and value > 0):
        raise OptionError(f"--load {word!r} cannot be read; write it as LINK=KG:LOG, such as hand=2.5:loaded.csv.")
    return link.strip(), value, path


def require_model_first(job: Job) -> None:
    """Raise OptionError where there is no log, or model and log are the wrong way round."""
    if not job.logs:
        raise OptionError("At least one log is needed.")
    models = [path for path in job.logs if Path(path).suffix.lower() in MODEL_SUFFIXES]
    if models and Path(job.model).suffix.lower() in READERS:
        raise OptionError(f"{job.model} is a log and {models[0]} a model: the model comes first, then the logs.")


def require_filtered(job: Job) -> None:
    """Raise OptionError where torques are to be filtered and positions not."""
    if job.cutoff == 0 and job.torque_cutoff is not None:
        raise OptionError("With cutoff 0 nothing is filtered, torques neither: leave out the cutoff of torques.")


def require_motion(logs: list[Log], job: Job) -> None:
    """Raise LogError where no joint moves in any of the logs, nor from one to another."""
    q = np.concatenate([log.q for log in logs])
    if np.ptp(q, axis=0).max() < checks.STILL:
        raise LogError(
            f"No joint moves in {choices(Path(path).name for path in job.logs)}: a robot at rest in one pose shows one "
            "torque a joint, which any model can be made to meet. Record a motion, such as one that `steelyard excite` "
            "designs, or poses in several logs. If it did move, choose the columns of measured positions: --channels."
        )
