"""`steelyard excite`: a model in, a motion out."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from steelyard.errors import OptionError
from steelyard.excite.experiment import Design, design
from steelyard.excite.files import FORMATS, write
from steelyard.excite.limits import Limits
from steelyard.information import Information, accumulate
from steelyard.log import filters, read_log
from steelyard.model import Robot, load

CUTOFF = 10.0  # Hz, for earlier logs without v and a; less where their rate is low


def command(
    model,
    *,
    out: Iterable[Path] = (),
    limits: Mapping,
    after: Iterable[Path] = (),
    explain: bool = False,
    show: Callable[[Design], Iterable[str]] = lambda made: (),
    **options,
) -> tuple[str, bool]:
    """Design a motion for a model file and write it. limits: fields of `Limits`; options: of `design`. show: writes
    pictures of the design and says which.

    Returns the text to show, and whether a target was missed. Raises SteelyardError before anything is written.
    """
    for path in out:
        if path.suffix.lower() not in (*FORMATS, ".yml"):
            raise OptionError(
                f"--out {path}: a motion is written to {', '.join(FORMATS)}; choose one of these suffixes."
            )
    robot = load(model)
    terms = {name: options[name] for name in ("friction", "armature")}
    made = design(robot, limits=Limits(**limits), after=_information(robot, after, terms), **options)
    written = [write(made, path) for path in out]
    lines = [made.explain() if explain else _short(made), *(f"Wrote {path}." for path in written), *show(made)]
    target = options.get("target")
    return "\n".join(lines), target is not None and made.condition > target


def _information(robot: Robot, paths: Iterable[Path], terms) -> Information | None:
    logs = [read_log(path, robot) for path in paths]
    if not logs:
        return None
    return accumulate(
        robot, [log if log.a is not None else filters.differentiate(log, cutoff=_cutoff(log)) for log in logs], **terms
    )


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
