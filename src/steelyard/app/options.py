"""Options that several subcommands share, and what their words mean."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard import defaults
from steelyard.errors import OptionError
from steelyard.terms import friction_terms

if TYPE_CHECKING:
    from steelyard.prepare import Corrections

AUTO = "auto"
FRICTION = ",".join(defaults.FRICTION)
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Robot model: .urdf or MJCF .xml.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Side = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Side file with rotors, loops and known facts. [default: beside the model]",
        show_default=False,
    ),
]
Folders = Annotated[
    list[Path] | None,
    typer.Option("--folder", metavar="DIR", help="Folder outside the model's own whose files it may name; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output, and nothing else.")]
Gravity = Annotated[
    tuple[float, float, float] | None,
    typer.Option(metavar="X Y Z", help="In the world, m/s^2. [default: the model's, or 0 0 -9.81]"),
]
Coupling = Annotated[
    list[str] | None,
    typer.Option(metavar="JOINTS", help="Joints that share a motor, such as joint5+joint6; may be repeated."),
]
Friction = Annotated[
    str, typer.Option(metavar="TERMS", help=f"Any of {','.join(friction_terms())} with commas, or none.")
]
Channels = Annotated[
    str | None,
    typer.Option(metavar="FILE.toml", help="Which column is which signal: a TOML file, or JSON text in braces."),
]


def cutoff_of(text: str) -> float | None:
    """A cutoff in Hz, None for the word auto. Raises OptionError."""
    if text == AUTO:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise OptionError(f"--cutoff {text!r}: expected a number of Hz, or {AUTO}.") from error


def friction_of(text: str) -> tuple[str, ...]:
    return () if text == "none" else words(text)


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def corrections_of(channels: dict | None, **given) -> "Corrections":
    """Corrections from options, and from the table `corrections` of a channel file, which is taken out of it.

    Words of both are joined.
    """
    from steelyard.prepare import corrections_from

    table = corrections_from((channels or {}).pop("corrections", {}))
    return replace(table, **{name: _both(getattr(table, name), value) for name, value in given.items()})


def _both(stated, given):
    """What a file and the command line say of one correction: words of both, of a path the command line's."""
    return stated + tuple(given or ()) if isinstance(stated, tuple) else given or stated


def channels_of(text: str | None) -> dict | None:
    """A channel map from a TOML file, or from JSON text. Raises OptionError."""
    if text is None:
        return None
    try:
        if text.lstrip().startswith("{"):
            return json.loads(text)
        return tomllib.loads(Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(
            f"Channel file {text} cannot be read: {error.strerror}. Give the path of a TOML file."
        ) from error
    except (ValueError, RecursionError) as error:  # the latter from lists in lists
        raise OptionError(
            f'--channels {text}: {error}. Expected a TOML file with lines such as tau = ["a", "b"].'
        ) from error
