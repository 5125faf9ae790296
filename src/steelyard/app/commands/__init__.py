"""The subcommands, in the order of the help. A new one is a function with `subcommand` and its name in `COMMANDS`."""

from steelyard.app.commands.excite_command import excite
from steelyard.app.commands.fleet_command import fleet
from steelyard.app.commands.identify_command import demo, identify
from steelyard.app.commands.model_commands import analyze, check, convert, mesh, view
from steelyard.app.commands.payload_command import payload
from steelyard.app.commands.rehearse_command import rehearse
from steelyard.app.commands.result_commands import inspect, report, validate

__all__ = ["COMMANDS"]

COMMANDS = (
    identify,
    fleet,
    validate,
    demo,
    analyze,
    inspect,
    mesh,
    payload,
    excite,
    rehearse,
    report,
    check,
    convert,
    view,
)
