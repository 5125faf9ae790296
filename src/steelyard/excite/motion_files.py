"""From files to files: a model, earlier logs and an old motion in, a design out."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.corrections import NOTHING, Corrections
from steelyard.errors import OptionError
from steelyard.excite.hulls import solids_of
from steelyard.excite.limits import Limits, by_joint
from steelyard.excite.measured_axes import measured_kinds
from steelyard.excite.motion_design import HOME, design
from steelyard.excite.motion_formats import format_of, of_player, write, write_all
from steelyard.excite.planned_motion import Design
from steelyard.excite.profiles import profile_for
from steelyard.information import Information, accumulate, load_information
from steelyard.information.files import is_information
from steelyard.log import Log
from steelyard.model import Robot, load
from steelyard.prepare import prepare
from steelyard.prepare.reading import read_undone

UNSEEN = "Collisions were not looked at: keep the space around the robot clear."
FILTERED = 20.0  # Hz, independent samples of a log whose torques were filtered at 10 Hz: saved sums do not say theirs
PER_JOINT = ("velocity", "acceleration", "jerk")  # limits that name joints, or are one number for all


def design_files(
    model,
    *,
    out: Iterable[Path] = (),
    players: Iterable[str] = (),
    limits: Mapping,
    profile: str | None = None,
    home: str | None = None,
    after: Iterable[Path] = (),
    warm: Path | None = None,
    explain: bool = False,
    held: bool = False,
    gravity=None,
    folders=(),
    arguments=(),
    read: Callable[[Path, Robot], Log] | None = None,
    show: Callable[[Design], Iterable[str]] = lambda made: (),
    **options,
) -> tuple[str, bool]:
    """Design a motion for a model file and write it, as `steelyard excite` does: to files by their suffix and to
    folders, with scripts of players. limits: fields of `Limits`, rates as words. home: JOINT=POSITION with commas, over
    `start` of `design`. after: earlier logs and saved Information, which `read` prepares. show: writes pictures and
    returns lines that say which. options: of `design`. Returns the text to show, and whether a target was missed.
    Raises SteelyardError before anything is written."""
    out, scripts = list(out), [of_player(name).ending for name in players]
    if scripts and not out:
        raise OptionError("--player writes a script beside the motion: give -o, a folder or a file.")
    for path in out:
        if path.suffix:
            format_of(path)
        storage.require_folder(path.parent)  # before the work, not after
    robot = load(model, floating=False if held else None, gravity=gravity, folders=folders, arguments=arguments)
    terms = {name: options[name] for name in ("friction", "armature")}
    terms["rows"] = measured_kinds(robot, options["rows"])
    looked = limits.get("collisions", Limits.collisions)
    if looked:
        _require_geometry(robot)
    stated = dict(limits)
    for name in PER_JOINT:
        if stated.get(name) is not None:
            stated[name] = np.nan_to_num(by_joint(robot, stated[name], name), nan=np.inf)
    make = profile_for(robot, profile)
    start = HOME if home is None else by_joint(robot, home, "home")
    read = cache(read or _prepared)
    known = earlier_information(robot, after, terms, read)
    if known is not None:
        options["rate"] = _effective_rate([read(path, robot) for path in after if not is_information(path)])
    first = None if warm is None else read_undone(warm, robot)
    made = design(robot, limits=Limits(**stated), start=start, profile=make, after=known, warm=first, **options)
    beside = out[0].with_suffix("") if out and out[0].suffix else Path(*out[:1], "motion")
    written = [write(made, beside.with_name(beside.name + ending)) for ending in scripts]  # may be refused
    written += [each for path in out for each in ([write(made, path)] if path.suffix else write_all(made, path))]
    lines = [
        made.explain() if explain else _summary(made),
        *([] if looked else [UNSEEN]),
        *(f"Wrote {path}." for path in written),
        *show(made),
    ]
    target = options.get("target")
    return "\n".join(lines), target is not None and made.condition > target


def earlier_information(robot: Robot, paths: Iterable[Path], terms, read=None) -> Information | None:
    """Information of logs and of saved Information together, None without any. terms: options of `accumulate`."""
    paths = list(paths)
    saved = [load_information(path, robot) for path in paths if is_information(path)]
    read = read or _prepared
    logs = [read(path, robot) for path in paths if not is_information(path)]
    if logs:
        saved.append(accumulate(robot, logs, **terms))
    return sum(saved[1:], saved[0]) if saved else None


def _effective_rate(logs: list[Log]) -> float:
    """Independent samples a second that the next log will have, as the earlier ones, Hz."""
    if not logs:
        return FILTERED
    return sum(log.effective_samples for log in logs) / sum(log.duration for log in logs)


def _prepared(path: Path, robot: Robot) -> Log:
    return prepared_for_design(read_undone(path, robot), robot)


def prepared_for_design(log: Log, robot: Robot, corrections: Corrections = NOTHING) -> Log:
    """An earlier log as identification would use it; velocities and accelerations that it has are taken as recorded."""
    recorded = log.v is not None and log.a is not None
    return prepare(log, robot, corrections=corrections, cutoff=0.0 if recorded else None).log


def _require_geometry(robot: Robot) -> None:
    """Raise OptionError for a robot with bodies that move and no geometry to keep apart."""
    if not solids_of(robot)[0]:
        raise OptionError(
            f"Robot '{robot.name}' has no geometry that could be read, so nothing would keep a motion from collisions. "
            "Name the folder of its meshes (--folder DIR), or clear the space around it and say so (--no-geometry)."
        )


def _summary(made: Design) -> str:
    tightest = made.margins[0]
    return "\n".join(
        [
            f"A motion of {made.duration:g} s: condition number {made.condition:.3g}, {made.condition_before:.3g} for "
            "the random motion it started from.",
            f"Every limit is kept at 1 kHz; the tightest is {tightest.limit_name} of {tightest.where}.",
            *made.notes,
        ]
    )
