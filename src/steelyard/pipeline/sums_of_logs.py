"""The sums that a fit takes of logs: columns, weights of samples and forces of contacts, chosen by what the logs have.

`identify` and the step-by-step way, `sy.accumulate` with `sy.fit.consistent`, both choose here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from steelyard.arguments import require_type
from steelyard.decisions.fit_plan import FitPlan
from steelyard.decisions.rules import constant_torques, contact_weights, shapes, standstill
from steelyard.dynamics.closed_loop.projection import with_motors
from steelyard.errors import LogError
from steelyard.fit import consistent
from steelyard.information import Information
from steelyard.information import accumulate as summed
from steelyard.information import accumulate_blocks as summed_blocks
from steelyard.job import Job
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.prepare import Prepared, prepare
from steelyard.prepare.reading import read_logs

PLAIN = "plain"  # columns of links, of friction that all joints have, and of armature
ROWS = "joints"  # the kind of rows whose samples have weights
Logs = Any  # a recording or several: what `read_log` takes, or Logs


def accumulate(robot: Robot, log: Logs, **options) -> Information:
    """Information of one log or several, as `identify` sums them.

    A recording is made ready as `identify` does. Columns are those of `fit.posterior`: friction of any shape over speed
    and by load, armature, and small mistakes of the log beside the links; other fits leave out what only evidence can
    weigh. Samples where a joint nearly stands still count less. With contacts, friction is viscous and Coulomb, and
    forces of contacts are eliminated by rows weighed by the noise of a first fit.

    Args:
        robot: as of `information.accumulate`.
        log: one or several. A Log with v and a is taken as it is; a path, a Log without, arrays by name or a data
            frame is prepared. Any other iterable of logs is summed in constant memory, and has to be without contacts.
        options: fields of `information.Columns`, in the place of these choices; `columns="plain"` is viscous and
            Coulomb friction, constant torques and armature alone, and so is a friction that is given.

    Returns:
        The Information, which adds to others of the same columns.

    Raises:
        LogError: for logs that cannot be used, and contacts in logs of an iterator.
        StreamInterrupted: when an iterator of logs fails or is interrupted; `partial` is that of complete logs.
        TypeError: for an option that there is not.

    Example:
        >>> import steelyard as sy
        >>> robot = sy.library.scara()
        >>> info = sy.accumulate(robot, sy.simulate.record(robot, duration=3.0).log)
        >>> info.layout.terms
        ('viscous', 'coulomb', 'offset', 'armature')
    """
    robot, logs, options = _as_identified(robot, log, options)
    return replace(summed(robot, logs, **options), model_facts=True)


def accumulate_blocks(robot: Robot, log: Logs, *, count: int | None = None, **options) -> tuple[Information, ...]:
    """Informations of contiguous blocks of every log, in order of time; they add up to `accumulate`'s.

    Args:
        robot: as of `accumulate`.
        log: as of `accumulate`.
        count: blocks of each log, as of `information.accumulate_blocks`.
        options: as of `accumulate`.

    Returns:
        The Informations.

    Raises:
        OptionError: fewer than two blocks, and what `accumulate` raises.
    """
    robot, logs, options = _as_identified(robot, log, options)
    return tuple(replace(each, model_facts=True) for each in summed_blocks(robot, logs, count=count, **options))


def several(logs) -> tuple:
    """Logs as a tuple: of one path, Log, table of arrays or data frame, or of several."""
    return tuple(logs) if isinstance(logs, Sequence) and not isinstance(logs, str) else (logs,)


def _as_identified(robot: Robot, log: Logs, given: dict) -> tuple[Robot, Log | Iterable[Log], dict]:
    """Robot and logs ready to be summed, and all options."""
    require_type(Robot, robot=robot)
    if _is_stream(log):
        logs, first = _streamed(robot, log, given.get("coupling", ())), ()
    else:
        robot, logs = _ready(robot, several(log), given.get("coupling", ()))
        first = logs
    robot = with_motors(robot)
    options = _chosen(robot, first, given) | given
    if options.get("columns") == PLAIN:
        options.pop("columns")
    if "row_weights" not in given and first:
        options |= contact_weights(
            first, lambda: consistent(replace(summed(robot, first, **options), model_facts=True))
        )
    return robot, logs[0] if len(first) == 1 and isinstance(logs, list) else logs, options


def _is_stream(log: Logs) -> bool:
    """Whether this yields logs one after the other: an iterable that is neither a list of logs nor a log itself."""
    log_or_list = isinstance(log, Log | str | PathLike | Mapping | Sequence)
    table = hasattr(log, "columns") or hasattr(log, "column_names")
    return isinstance(log, Iterable) and not log_or_list and not table


def _chosen(robot: Robot, logs: Sequence[Log], given: dict) -> dict:
    """Options that `identify` takes for logs like these where others are given already."""
    words = {name: given[name] for name in ("friction", "armature", "coupling", "springs", "rotors") if name in given}
    if isinstance(words.get("friction"), str):
        words["friction"] = (words["friction"],)
    joints = given.get("rows", ROWS) in (ROWS, (ROWS,), [ROWS])
    plain = "friction" in given or given.get("columns") == PLAIN or not joints
    rules = (constant_torques, *((standstill,) if joints else ()), *(() if plain else (shapes,)))
    read = tuple(Prepared(log, log, log, (), None, None) for log in logs)
    return FitPlan(replace(Job("", ()), **words), robot, read).decided(rules).options


def _ready(robot: Robot, sources: Sequence, coupling=()) -> tuple[Robot, list[Log]]:
    """The robot as its logs show it, and these as a fit takes them."""
    if all(_is_ready(each) for each in sources):
        return robot, list(sources)
    robot, logs = read_logs(sources, robot)
    robot = with_motors(robot)
    return robot, [
        log if _is_ready(source) else prepare(log, robot, coupling=coupling).log
        for source, log in zip(sources, logs, strict=True)
    ]


def _is_ready(source) -> bool:
    return isinstance(source, Log) and source.v is not None and source.a is not None


def _streamed(robot: Robot, sources: Iterable, coupling) -> Iterator[Log]:
    for source in sources:
        _, (log,) = _ready(robot, [source], coupling)
        if log.contacts:
            raise LogError(
                f"log {log.name!r} has contacts: such logs are read twice, first to learn the noise of each row. Give "
                "a list of logs instead of an iterator."
            )
        yield log
