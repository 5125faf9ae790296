"""A `Job` from what Python gives: paths, names alone instead of lists, and tables instead of words."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.arguments import require_type, unknown_option
from steelyard.corrections import Corrections, corrections_from
from steelyard.errors import OptionError
from steelyard.fit import fixed_words, mass_words, tied_words
from steelyard.job import Job, in_memory, is_in_memory
from steelyard.job_options import options_of
from steelyard.log import Log
from steelyard.model import Robot
from steelyard.terms import text_of


def job_of(model, logs=(), **options) -> Job:
    """A Job of options as `identify` takes them.

    Args:
        model: path of the robot model, or a Robot.
        logs: a log or several, each a path or what `read_log` takes; what is in memory has a name in `<>`.
        options: fields of a `Job`; words may be given alone, in lists, or as the tables that `identify` describes.

    Raises:
        OptionError: for an option that a Job does not have, or corrections that cannot be read.
    """
    if isinstance(model, Log):
        raise OptionError("The first argument is a Log: the model comes first, then the logs.")
    require_type(Robot | str | PathLike, model=model)
    known = options_of(Job)
    if unknown := sorted(set(options) - set(known)):
        raise OptionError(unknown_option("A job", unknown, known))
    told: dict[str, Any] = {
        name: _READ[name](value) if name in _READ else _plain(name, value) for name, value in options.items()
    }
    return Job(model=_model_word(model), logs=_log_words(several(logs)), **told)


def several(logs) -> tuple:
    """Logs as a tuple: of one path, Log, table of arrays or data frame, or of several."""
    return tuple(logs) if isinstance(logs, Sequence) and not isinstance(logs, str) else (logs,)


def _model_word(model) -> str:
    """The file of a robot, or its name in <> where it has none."""
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
    """A value as the field of its name holds it."""
    each, how = options_of(Job)[name]
    if isinstance(each.default, tuple):
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


_READ = {
    "drive": _drive,
    "coupling": _coupling,
    "masses": mass_words,
    "fixed": fixed_words,
    "tied": tied_words,
    "channels": lambda value: None if value is None else dict(value),
    "corrections": lambda value: value if isinstance(value, Corrections) else corrections_from(value),
}
