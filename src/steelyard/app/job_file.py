"""A job as a TOML file: written beside every result, read by `--config`. Keys are the long options, without dashes."""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from steelyard.errors import OptionError, choices
from steelyard.job import Job, is_in_memory
from steelyard.job_options import IDENTIFY, Option, flag, options_of

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
    return HEAD + "".join(f"{key} = {_toml(value)}\n" for key, value in pairs) + "".join(_lines(job, folder))


def _lines(record, folder: Path) -> Iterator[str]:
    for name, (each, how) in options_of(type(record), IDENTIFY).items():
        value = getattr(record, name)
        if is_dataclass(value):
            yield from _lines(value, folder)
        elif value != each.default:
            yield f"\n# {how.help}\n{flag(name, how).removeprefix('--')} = {_toml(_stored(value, how, folder))}\n"


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


def _toml(value) -> str:
    """Flags, numbers and text as TOML has them: JSON's, but for the one character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True)
class Word:
    """What a parameter of a command takes: its key in a file, and whether it is a flag, a list, or paths."""

    parameter: str
    key: str
    is_flag: bool
    many: bool
    paths: bool


def words_taken(command: Callable) -> dict[str, Word]:
    """The words of a command by their keys: long options without dashes, and arguments, which come first."""
    found = []
    for name, each in signature(command).parameters.items():
        kind, told = get_args(each.annotation)[:2]
        decls = (getattr(told, "default", None), *(getattr(told, "param_decls", None) or ()))  # Typer's order
        long = [word.split("/")[0] for word in decls if isinstance(word, str) and word.startswith("--")]
        is_argument = type(told).__name__ == "ArgumentInfo"
        key = name if is_argument else (*long, f"--{name.replace('_', '-')}")[0].removeprefix("--")
        inner = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        many = any(get_origin(part) in (list, tuple) for part in inner)
        paths = any(part is Path or Path in get_args(part) for part in inner)
        found.append(Word(name, key, bool in inner, many, paths))
    return {word.key: word for word in reversed(found)}


def defaults_of(path: str, taken: Mapping[str, Word]) -> dict[str, Any]:
    """Values of a command's parameters from a TOML file, by name; relative paths in it count from its folder. taken: of
    `words_taken`. Raises OptionError, which names the file, and a key that is none of the command's options with the
    nearest that is."""
    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise OptionError(f"--config {path} cannot be read: {error.strerror}. Give the path of a TOML file.") from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"--config {path}: {error}. Expected TOML with lines such as cutoff = 8.0.") from error
    values = {}
    for key, value in found.items():
        word = taken.get(key.replace("_", "-"))
        if word is None:
            near = get_close_matches(key, taken, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {choices(sorted(taken))}."
            raise OptionError(f"--config {path}: there is no option {key!r} here; {hint}")
        values[word.parameter] = _given(path, key, value, word)
    return values


def _given(path: str, key: str, value: Any, word: Word):
    """A value as if it had been typed, paths from the file's folder. Raises OptionError for what no option takes."""
    values: list[Any] = value if isinstance(value, list) and word.many else [value]
    if any(isinstance(each, list | dict) or isinstance(each, bool) != word.is_flag for each in values):
        expected = "true or false" if word.is_flag else "a list of words" if word.many else "one value"
        raise OptionError(f"--config {path}: {key} = {value!r}; expected {expected}.")
    made = [each if word.is_flag else str(Path(path).parent / each if word.paths else each) for each in values]
    return made if word.many else made[0]
