"""Subcommands whose help fits one screen: common options by `--help`, all by `--help-all`; `--config` reads a file."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, ClassVar

import typer
from typer.core import TyperArgument, TyperCommand

from steelyard.app.endings import refusals
from steelyard.app.job_file import defaults_of, words_taken

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

    taken = words_taken(command)

    def read(ctx: typer.Context, value: str | None):
        if value is not None:
            with refusals():
                ctx.default_map = defaults_of(value, taken)
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
