"""What an option of a job says about itself, and the words that it becomes on a command line."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any

IDENTIFY, FLEET, VALIDATE, INSPECT, EXCITE = "identify", "fleet", "validate", "inspect", "excite"
FITS = (IDENTIFY, FLEET)
READS = (IDENTIFY, FLEET, VALIDATE, INSPECT, EXCITE)  # subcommands that read logs of joints
ANALYZE, CONVERT, CHECK, PAYLOAD, VIEW = "analyze", "convert", "check", "payload", "view"
LOG, FIT, OUTPUT = "log", "fit", "output"
AUTO, NONE = "auto", "none"


@dataclass(frozen=True)
class Option:
    """How the field of a record is told from outside.

    scope: what the option decides: "log" the sums of a log, "fit" what is fitted to them, "output" neither: which files
    are read and where.
    """

    help: str  # one sentence or two
    more: str = ""  # what the page of the command line adds, in Markdown
    metavar: str = ""  # on the command line; `name` where it is not the field's
    name: str = ""
    off: str = ""  # the name that says no to a field that is true or None
    unit: str = ""  # of a number
    choices: tuple[str, ...] = ()  # words that are allowed
    scope: str = FIT
    commands: tuple[str, ...] = (IDENTIFY,)  # subcommands that take it
    unset: str = ""  # what None means, in words
    auto: str = ""  # the word for None where it is a choice of its own
    path: bool = False  # whether the text names a file or folder
    joined: bool = False  # whether words stand in one argument with commas
    accepts: str = ""  # the type that Python takes where it is wider than the field's


def option(default: Any, help: str, **about) -> Any:
    """A dataclass field with its `Option`."""
    return field(default=default, metadata={"option": Option(help, **about)})


def options_of(record: type, command: str = "") -> dict[str, tuple[Field, Option]]:
    """Fields of a record with their options, by name; those of one subcommand if it is named."""
    told = {each.name: (each, each.metadata["option"]) for each in fields(record) if "option" in each.metadata}
    return {name: (each, how) for name, (each, how) in told.items() if not command or command in how.commands}


def flag(name: str, how: Option) -> str:
    """The option's name on the command line: `--cutoff`."""
    return f"--{how.name or name.replace('_', '-')}"


def words_of(record, command: str = IDENTIFY) -> Iterator[str]:
    """Arguments of a subcommand that make the same record again: what is not at its default."""
    for name, (each, how) in options_of(type(record), command).items():
        value, option = getattr(record, name), flag(name, how)
        if is_dataclass(value):
            yield from words_of(value, command)
        elif value != each.default:
            yield from _words(option, value, how)


def _words(option: str, value, how: Option) -> Iterator[str]:
    if isinstance(value, bool):
        yield option if value else how.off
    elif isinstance(value, dict):
        yield from (option, json.dumps(value))
    elif how.joined:
        yield from (option, ",".join(value) or NONE)
    elif isinstance(value, int | float):
        yield from (option, repr(float(value)))
    elif isinstance(value, str):
        yield from (option, path_word(value) if how.path else value)
    elif all(isinstance(each, str) for each in value):
        yield from (word for each in value for word in _words(option, each, how))
    else:
        yield from (option, *(repr(float(number)) for number in value))


def path_word(path) -> str:
    """A path as an argument: one that starts with a dash would be read as an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def toml(value) -> str:
    """Flags, numbers, text, lists and tables as TOML has them: JSON's, but for the one character it wants escaped."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
