"""The subcommands, in the order of the help. A new one is a function with `subcommand`, its module and line here.

Modules are loaded when their subcommand is asked for: the list of all needs none of them.
"""

from collections.abc import Mapping
from importlib import import_module

import typer
from typer.core import TyperGroup
from typer.main import get_command

__all__ = ["COMMANDS", "Subcommands"]

COMMANDS = {
    "identify": ("identify_commands", "Identify a robot from a model and logs."),
    "fleet": ("identify_commands", "Compare the robots of a fleet."),
    "validate": ("result_commands", "Validate a model on other logs."),
    "demo": ("identify_commands", "Identify a simulated PUMA 560."),
    "analyze": ("model_commands", "List identifiable parameters."),
    "inspect": ("result_commands", "Check a log."),
    "mesh": ("model_commands", "Inertia of a mesh."),
    "payload": ("result_commands", "Identify what a robot holds."),
    "excite": ("motion_commands", "Design an exciting motion."),
    "rehearse": ("motion_commands", "Rehearse a motion in simulation."),
    "report": ("result_commands", "Draw a report again, or compare results."),
    "check": ("model_commands", "Check and repair models."),
    "convert": ("model_commands", "Write other formats, code, configurations, variants."),
    "view": ("model_commands", "Show a robot in 3D."),
}


def _loaded(name: str):
    """The command of a subcommand, anew each time: its help remembers what was asked of it."""
    function = getattr(import_module(f"steelyard.app.commands.{COMMANDS[name][0]}"), name)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(**function.told)(function)
    return get_command(alone)


class _Loading(Mapping):
    """Subcommands by name; each is loaded when it is asked for."""

    def __getitem__(self, name):
        return _loaded(name) if name in COMMANDS else {}[name]

    def __iter__(self):
        return iter(COMMANDS)

    def __len__(self):
        return len(COMMANDS)


class Subcommands(TyperGroup):
    """All of them; the help that lists them loads none."""

    def __init__(self, **about):
        about["commands"] = _Loading()
        super().__init__(**about)

    def format_commands(self, ctx, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])
