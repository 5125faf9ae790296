"""The command line. Subcommands are thin, and import heavy modules when they run."""

import gc
import os
from typing import Annotated

import typer

from steelyard.app.commands import Subcommands
from steelyard.app.endings import endings
from steelyard.app.terminal import examples
from steelyard.errors import DONE, FINDINGS, REFUSED

__all__ = ["DONE", "FINDINGS", "REFUSED", "app", "main"]

EXAMPLES = examples(
    "steelyard demo --out demo-out",
    "steelyard identify arm.urdf run1.csv run2.npz --out result",
    "steelyard identify quadruped.xml trot.npz --floating --cutoff 15 -o result",
)

app = typer.Typer(
    name="steelyard",
    cls=Subcommands,
    help="Find the inertial parameters of robots, from a model and recorded motion.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main():
    """Entry point of `steelyard` and `python -m steelyard`."""
    # BLAS is asked for small matrices only: its threads wait for each other, at three times the processor time
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(20_000)  # modules that load make objects in plenty, none of them garbage
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
