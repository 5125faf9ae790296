"""Options that subcommands share: those of a `Job` are made of its fields, and groups of options arrive whole.

Help fits one screen: common options by `--help`, all by `--help-all`; `--config` reads a file.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast, get_args

import typer
from typer.core import TyperArgument, TyperCommand

from steelyard.app.endings import refusals
from steelyard.app.job_file import defaults_of
from steelyard.corrections import Corrections, corrections_from
from steelyard.errors import OptionError
from steelyard.job import Job
from steelyard.job_options import NONE, Option, flag, options_of
from steelyard.numbers import to_float
from steelyard.terms import friction_terms


def model_in(path: Path | None) -> Path | None:
    """A model file as it is; of the folder of a result, the model that was written there."""
    if path is None or not os.path.isfile(path / SUMMARY):  # noqa: PTH113  False for names that cannot be
        return path
    with refusals():
        return path / _written_model(path)


def _written_model(folder: Path) -> str:
    """Name of the model of a result. Raises OptionError where there is none."""
    from steelyard.model.formats import MODEL_SUFFIXES

    try:
        files = json.loads((folder / SUMMARY).read_text("utf-8")).get("files", [])
        return next(name for name in files if str(name).endswith(MODEL_SUFFIXES))
    except (OSError, ValueError, AttributeError, TypeError, StopIteration) as error:
        raise OptionError(f"{folder} is no result with a model in it; give the model file itself.") from error


SUMMARY = "summary.json"
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", callback=model_in, help="Robot model of any format, or a result.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Strict = Annotated[bool, typer.Option("--strict", help="End with status 1 on anything to look at first.")]
Export = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Torques and motion for other viewers: .mcap (Foxglove, PlotJuggler) or .rrd."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output, and nothing else.")]
FRICTION_HELP = f"Any of {','.join(friction_terms())} with commas, or none."


class JobOptions:
    """The options of one subcommand that are fields of a `Job` and of its `Corrections`, or of another record; see
    `options_for`."""

    __signature__: ClassVar[Signature]
    _told: ClassVar[dict[str, tuple[Field, Option]]]
    _corrections: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, *, command: str, record: type = Job):
        cls._told = options_of(record, command)
        corrections = options_of(Corrections, command) if record is Job else {}
        cls._corrections = tuple(corrections)
        found = []
        for name, (each, how) in cls._told.items():
            group = corrections if each.type is Corrections else {name: (each, how)}
            found += [_parameter(name, each, how) for name, (each, how) in group.items()]
        cls.__signature__ = Signature(found)

    def __init__(self, **words):
        bound = self.__signature__.bind(**words)
        bound.apply_defaults()
        self.words = bound.arguments

    def of_job(self) -> dict[str, Any]:
        """The same as fields of the `Job`, or of the other record. Raises OptionError."""
        found: dict[str, Any] = {
            name: _value(name, self.words[name], each, how)
            for name, (each, how) in self._told.items()
            if each.type is not Corrections
        }
        if self._corrections:
            words = {name: self.words[name] for name in self._corrections}
            given = {name: str(value) if isinstance(value, Path) else value for name, value in words.items()}
            found["corrections"] = corrections_of(found["channels"], **given)
        return found

    def job(self, model: str | Path = "", logs: Iterable[str | Path] = ()) -> Job:
        """A Job with these options. Raises OptionError."""
        return Job(model=str(model), logs=tuple(map(str, logs)), **self.of_job())


@dataclass(frozen=True)
class WorkOptions:
    """Where the work on many logs is done."""

    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE", help="local (a Dask cluster here), processes, or the address of a Dask scheduler."
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes of a scheduler here. [default: one a core]")
    ] = None
    keep: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder or URL of finished work, to go on from there.")
    ] = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a group replaced by its options, in their order.

    Typer makes options of a signature; the one of what is returned has the options, and a call gathers them again.
    """
    whole = signature(command).parameters
    groups = {name: group for name, each in whole.items() if (group := _group(each.annotation)) is not None}
    inside = {name: tuple(signature(group).parameters.values()) for name, group in groups.items()}
    options = [option for name, each in whole.items() for option in inside.get(name, (each,))]

    @wraps(command)
    def gathered(**given):
        made = {
            name: group(**{each.name: given.pop(each.name) for each in inside[name]}) for name, group in groups.items()
        }
        return command(**given, **made)

    gathered.__signature__ = Signature(  # type: ignore[attr-defined]
        [each.replace(kind=Parameter.KEYWORD_ONLY) for each in options]
    )
    gathered.__annotations__ = {each.name: each.annotation for each in options}
    return gathered


def options_for(command: str, record: type = Job) -> type[JobOptions]:
    """The options of a subcommand by name, those of a record."""
    return type("Options", (JobOptions,), {}, command=command, record=record)


def _group(kind) -> type | None:
    """The group that a parameter is: a dataclass, or `Annotated[JobOptions, command, record]`; None for one option."""
    if get_args(kind)[:1] == (JobOptions,):
        return options_for(*get_args(kind)[1:])
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def _parameter(name: str, each: Field, how: Option) -> Parameter:
    kind, default = _typed(each, how)
    many = isinstance(each.default, tuple) and not how.joined
    text = how.help.removesuffix(".") + ("; repeatable." if many else ".")
    text += f" [default: {how.unset}]" if how.unset else ""
    shown = default is not None
    decl = f"{flag(name, how)}/{how.off}" if how.off else flag(name, how)
    told = typer.Option(decl, metavar=how.metavar or None, help=text, show_default=shown)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def _typed(each: Field, how: Option) -> tuple[Any, Any]:
    """Type and default of a field's words on the command line."""
    if how.auto:
        return str, how.auto
    if how.joined and each.default is None:
        return str | None, None
    if how.joined:
        return str, ",".join(cast("tuple[str, ...]", each.default)) or NONE
    if isinstance(each.default, tuple):
        return (list[Path] if how.path else list[str]) | None, None
    if dict in get_args(each.type) or each.type is Any:  # the latter of arrays, in words a number
        return str | None, None
    return (Path | None if how.path else each.type), each.default


def _value(name: str, text, each: Field, how: Option):
    if how.auto:
        return number_or_auto(text, flag(name, how), how)
    if how.joined:
        return None if text is None else friction_of(text)
    if each.type is Any:
        return None if text is None else number_or_auto(text, flag(name, how), how)
    if isinstance(each.default, tuple):
        return tuple(map(str, text or ()))
    if dict in get_args(each.type):
        return channels_of(text)
    return str(text) if how.path and text is not None else text


def number_or_auto(text: str, option: str, how: Option) -> float | None:
    """A number, None for the word auto. Raises OptionError."""
    if text == how.auto:
        return None
    try:
        return to_float(text)
    except ValueError as error:
        auto = f", or {how.auto}" if how.auto else ""
        raise OptionError(f"{option} {text!r}: expected a number of {how.unit}{auto}.") from error


def words(text: str) -> tuple[str, ...]:
    """Words between commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def friction_of(text: str) -> tuple[str, ...]:
    """Terms of friction; none for that word."""
    return () if text == NONE else words(text)


def corrections_of(channels: dict | None, **given) -> Corrections:
    """Corrections from options, and from the table `corrections` of a channel file, which is taken out of it.

    Words of both are joined.
    """
    table = corrections_from((channels or {}).pop("corrections", {}))
    return table.joined(corrections_from({name: value for name, value in given.items() if value is not None}))


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


CLOSING = ("--config", "--help-all", "--help")


class Subcommand(TyperCommand):
    """A command that knows its common options, in the order of the help, and what stands below; a subclass says it."""

    common: ClassVar[tuple[str, ...]] = ()
    below: ClassVar[tuple[str, str]] = ("", "")  # the short help, the whole one

    def __init__(self, *words, **about):
        super().__init__(*words, **about)
        self.epilog, self.whole = self.below[0] or None, not self.common

    def parse_args(self, ctx, args):
        """As usual; arguments that may be many and are none come from the file of `--config`, too."""
        rest = super().parse_args(ctx, args)
        for param in self.params:
            stored = ctx.lookup_default(param.name)
            if isinstance(param, TyperArgument) and stored and not ctx.params[param.name]:
                ctx.params[param.name] = param.process_value(ctx, stored)
        return rest

    def format_options(self, ctx, formatter):
        """Arguments, then options: the common ones, and the rest where all are asked for."""
        told = [(param, param.get_help_record(ctx)) for param in self.get_params(ctx)]
        arguments = [record for param, record in told if record and isinstance(param, TyperArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        records = {_long(param): record for param, record in told if record and not isinstance(param, TyperArgument)}
        first = [*(self.common or (name for name in records if name not in CLOSING)), *CLOSING]
        with formatter.section("Options"):
            formatter.write_dl([records[name] for name in first if name in records])
        rest = [record for name, record in records.items() if name not in first]
        if self.whole and rest:
            with formatter.section("Further options"):
                formatter.write_dl(rest)


def _long(param) -> str:
    return next(name for name in param.opts if name.startswith("--"))


def configurable(command: Callable[..., None]) -> Callable[..., None]:
    """The command with `--config` and `--help-all`, which act before its other parameters are read."""

    @wraps(command)
    def told(config=None, help_all=False, **given):
        return command(**given)

    paths = {
        name for name, each in signature(command).parameters.items() if "Path" in str(get_args(each.annotation)[0])
    }

    def read(ctx: typer.Context, value: str | None):
        if value is not None:
            with refusals():
                ctx.default_map = defaults_of(value, ctx.command.params, paths)
        return value

    config_kind = Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="FILE.toml",
            callback=read,
            is_eager=True,
            help="Options from a file, such as job.toml of a result; those given here count more.",
        ),
    ]
    own = [
        Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=config_kind),
        Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll),
    ]
    told.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=[*signature(command).parameters.values(), *own]
    )
    told.__annotations__ = {**command.__annotations__, "config": config_kind, "help_all": HelpAll}
    return told


def _show(ctx: typer.Context, value: bool):
    if value:
        command = ctx.command
        assert isinstance(command, Subcommand)
        command.whole, command.epilog = True, command.below[1] or None
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[bool, typer.Option("--help-all", callback=_show, is_eager=True, help="Show every option.")]
