"""The command line: one file a subcommand, each thin. Heavy modules are imported when a subcommand runs."""

from typing import Annotated

import typer

from steelyard.cli import analyze, check, demo, excite, fleet, identify, inspect, mesh, payload, report, view
from steelyard.cli.endings import endings
from steelyard.cli.terminal import DONE, FINDINGS, REFUSED, examples

__all__ = ["DONE", "FINDINGS", "REFUSED", "app", "main"]

EXAMPLES = examples(
    "steelyard demo --out demo-out",
    "steelyard identify arm.urdf run1.csv run2.npz --out result",
    "steelyard identify quadruped.xml trot.npz --floating --cutoff 15 -o result",
)

app = typer.Typer(
    name="steelyard",
    help="Find the inertial parameters of robots, from a model and recorded motion.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main():
    """Entry point of `steelyard` and `python -m steelyard`."""
    with endings():
        app()


def show_version(wanted: bool):
    if wanted:
        from importlib.metadata import version

        typer.echo(f"steelyard {version('steelyard')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
):
    """Find the inertial parameters of robots, from a model and recorded motion."""


app.command(epilog=identify.EXAMPLES)(identify.identify)
app.command(epilog=fleet.EXAMPLES)(fleet.fleet)
app.command()(demo.demo)
app.command(epilog=analyze.EXAMPLES)(analyze.analyze)
app.command(epilog=inspect.EXAMPLES)(inspect.inspect)
app.command(epilog=mesh.EXAMPLES)(mesh.mesh)
app.command(epilog=payload.EXAMPLES)(payload.payload)
app.command(epilog=excite.EXAMPLES)(excite.excite)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=check.EXAMPLES)(check.check)
app.command(epilog=view.EXAMPLES)(view.view)
