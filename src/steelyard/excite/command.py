"""`steelyard excite`: a model in, a motion out."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from steelyard import storage
from steelyard.errors import OptionError
from steelyard.excite.experiment import Design, design
from steelyard.excite.files import FORMATS, write
from steelyard.excite.limits import Limits
from steelyard.excite.measured import measured_kinds
from steelyard.information import Information, accumulate, is_information, load_information
from steelyard.log import Log, filters, read_log
from steelyard.model import Robot, load

CUTOFF = 10.0  # Hz, for earlier logs without v and a; less where their rate is low


def command(
    model,
    *,
    out: Iterable[Path] = (),
    limits: Mapping,
    after: Iterable[Path] = (),
    warm: Path | None = None,
    explain: bool = False,
    held: bool = False,
    gravity=None,
    folders=(),
    read: Callable[[Path, Robot], Log] = read_log,
    show: Callable[[Design], Iterable[str]] = lambda made: (),
    **options,
) -> tuple[str, bool]:
    """Design a motion for a model file and write it. limits: fields of `Limits`; after: logs and saved Information;
    warm: a log to start from; held: whether a free base stays where the model has it; gravity, folders: as of `load`;
    read: reads a log of `after` for the robot; show: writes pictures of the design and says which; options: of
    `design`.

    Returns the text to show, and whether a target was missed. Raises SteelyardError before anything is written.
    """
    for path in out:
        if path.suffix.lower() not in (*FORMATS, ".yml"):
            raise OptionError(
                f"--out {path}: a motion is written to {', '.join(FORMATS)}; choose one of these suffixes."
            )
        storage.require_folder(path.parent)  # before the work, not after
    robot = load(model, floating=False if held else None, gravity=gravity, folders=folders)
    terms = {name: options[name] for name in ("friction", "armature")}
    terms["rows"] = measured_kinds(robot, options["rows"])
    known = _information(robot, after, terms, read)
    first = None if warm is None else read_log(warm, robot)
    made = design(robot, limits=Limits(**limits), after=known, warm=first, **options)
    written = [write(made, path) for path in out]
    lines = [made.explain() if explain else _short(made), *(f"Wrote {path}." for path in written), *show(made)]
    target = options.get("target")
    return "\n".join(lines), target is not None and made.condition > target


def _information(robot: Robot, paths: Iterable[Path], terms, read=read_log) -> Information | None:
    paths = list(paths)
    saved = [load_information(path, robot) for path in paths if is_information(path)]
    logs = [read(path, robot) for path in paths if not is_information(path)]
    if logs:
        whole = [log if log.a is not None else filters.differentiate(log, cutoff=_cutoff(log)) for log in logs]
        saved.append(accumulate(robot, whole, **terms))
    return sum(saved[1:], saved[0]) if saved else None


def _cutoff(log) -> float:
    return min(CUTOFF, log.rate / 5)


def _short(made: Design) -> str:
    tightest = made.margins[0]
    return "\n".join(
        [
            f"{made.duration:g} s for {len(made.robot.joint_names)} joints: condition number {made.condition:.3g}, "
            f"{made.condition_before:.3g} for the random motion it started from.",
            f"Every limit is kept at 1 kHz; the tightest is {tightest.limit_name} of {tightest.where}.",
            *made.notes,
        ]
    )
