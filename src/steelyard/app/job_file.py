"""A job as a TOML file: written beside every result, read by `--config`. Keys are the long options, without dashes."""

import json
import os
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from steelyard.errors import OptionError, choices
from steelyard.job import Job, is_in_memory
from steelyard.job_options import IDENTIFY, Option, flag, options_of, toml

NAME = "job.toml"
HEAD = "# Repeats this run: steelyard identify --config job.toml -o again\n"


def repeatable(job: Job) -> bool:
    """Whether a job can be told in a TOML file: its model and logs are files, with names that are Unicode."""
    if any(map(is_in_memory, (job.model, *job.logs))):
        return False
    try:
        job_text(job, Path.cwd()).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def job_text(job: Job, folder: Path) -> str:
    """A job of files as TOML, what is at its default left out. folder: where the file will be; paths are relative to
    it."""
    pairs = [("model", _path(job.model, folder)), ("logs", [_path(log, folder) for log in job.logs])]
    return HEAD + "".join(f"{key} = {toml(value)}\n" for key, value in pairs) + "".join(_lines(job, folder))


def _lines(record, folder: Path) -> Iterator[str]:
    for name, (each, how) in options_of(type(record), IDENTIFY).items():
        value = getattr(record, name)
        if is_dataclass(value):
            yield from _lines(value, folder)
        elif value != each.default:
            yield f"\n# {how.help}\n{flag(name, how).removeprefix('--')} = {toml(_stored(value, how, folder))}\n"


def _stored(value, how: Option, folder: Path):
    """A value as the option takes it: words with commas in one, tables as JSON, paths from the folder."""
    if how.joined:
        return ",".join(value) or "none"
    if isinstance(value, dict):
        return json.dumps(value)
    if how.metavar.endswith(":LOG"):
        return [f"{word.rpartition(':')[0]}:{Path(word.rpartition(':')[2]).absolute()}" for word in value]
    if how.path:
        return _path(value, folder) if isinstance(value, str) else [_path(each, folder) for each in value]
    return value


def _path(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive of Windows
        return str(Path(path).absolute())


def defaults_of(path: str, params: Sequence, paths: Collection[str]) -> dict[str, Any]:
    """Values of a command's parameters, as Typer has them, from a TOML file; keys are long options without dashes.

    paths: names of parameters that are paths; relative ones count from the folder of the file. Raises OptionError that
    names the file, and a key that is none of the command's with the nearest that is.
    """
    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise OptionError(f"--config {path} cannot be read: {error.strerror}. Give the path of a TOML file.") from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"--config {path}: {error}. Expected TOML with lines such as cutoff = 8.0.") from error
    taken = {max(each.opts, key=len).removeprefix("--"): each for each in reversed(params)}  # arguments come first
    values = {}
    for key, value in found.items():
        word = taken.get(key.replace("_", "-"))
        if word is None:
            near = get_close_matches(key, taken, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {choices(sorted(taken))}."
            raise OptionError(f"--config {path}: there is no option {key!r} here; {hint}")
        values[word.name] = _given(path, key, value, word, word.name in paths)
    return values


def _given(path: str, key: str, value: Any, word, is_path: bool):
    """A value as if it had been typed, paths from the file's folder. Raises OptionError for what no option takes."""
    is_flag, many = getattr(word, "is_flag", False), word.nargs != 1 or word.multiple
    values: list[Any] = value if isinstance(value, list) and many else [value]
    if any(isinstance(each, list | dict) or isinstance(each, bool) != is_flag for each in values):
        expected = "true or false" if is_flag else "a list of words" if many else "one value"
        raise OptionError(f"--config {path}: {key} = {value!r}; expected {expected}.")
    made = [each if is_flag else str(Path(path).parent / each if is_path else each) for each in values]
    return made if many else made[0]
