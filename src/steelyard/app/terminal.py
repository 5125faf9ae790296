"""What every subcommand does with the terminal: help, progress, tables."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, NoReturn

import typer

from steelyard.cards import FEW
from steelyard.errors import DONE, FINDINGS
from steelyard.sheets import broken
from steelyard.storage import SCHEMA_VERSION

SPOKEN = 5.0  # s between lines of progress


def examples(*commands: str, status: str = "") -> str:
    """The text below a help: commands as they can be copied, those too long for a line broken before an option, and
    what the exit status says."""
    copied = "\n".join(map(broken, commands))
    return "\n\n".join([f"\b\nExamples:\n{copied}", *([f"Exit status: {status}"] if status else [])])


def subcommand(*examples_of_use: str, status: str = "", common: str = ""):
    """Mark a function as a subcommand of its own name, and make its groups of options one option each.

    examples_of_use, status: what stands below its help. common: the
    options that `--help` shows, where they are not all; `--help-all` shows the others and all examples.
    """

    from steelyard.app.options import Subcommand, configurable, grouped  # the list of subcommands needs no options

    def mark(function: Callable[..., None]) -> Callable[..., None]:
        command = configurable(grouped(function)) if common else grouped(function)
        few = examples_of_use[:FEW] if common else examples_of_use
        below = tuple(examples(*some, status=status) if some else "" for some in (few, examples_of_use))
        about = {"common": tuple(common.split()), "below": below}
        kind = type("Command", (Subcommand,), about)
        command.told = {"name": function.__name__, "cls": kind}  # type: ignore[attr-defined]
        return command

    return mark


@contextmanager
def progress_bar(*, silent: bool):
    """A progress callback: a bar on a terminal; elsewhere, such as in a log file, a line every few seconds."""
    if silent:
        yield None
        return
    if not (sys.stderr.isatty() or os.environ.get("FORCE_COLOR")):
        with _progress_lines() as told:
            yield told
        return
    if sys.stderr.isatty():  # at once: loading what draws the bar takes a while
        sys.stderr.write("starting ...\r")
        sys.stderr.flush()
    from rich.console import Console

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    shown = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Progress(*shown, console=screen, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)


@contextmanager
def _progress_lines():
    """Lines on standard error from the first seconds on, also while a stage says nothing."""
    now, ended = ["starting", 0.0], Event()

    def speak():
        wait = 1.5  # with what was loaded before, two seconds
        while not ended.wait(wait):
            typer.echo(f"{now[0]}: {now[1]:.0%}", err=True)
            wait = SPOKEN

    def told(stage: str, share: float) -> None:
        now[:] = stage, share

    speaker = Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield told
    finally:
        ended.set()
        speaker.join()


def show_json(found: dict) -> None:
    """JSON on standard output; characters that it cannot take become the escapes of JSON."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        text = json.dumps(found, indent=1)
    typer.echo(text)


def finish(
    found: dict, shown: Callable[[], Any], *, as_json: bool = False, quiet: bool = False, findings: object = False
) -> NoReturn:
    """Print what a subcommand found, and end with the exit status it deserves.

    found: of which the JSON is made; version and verdict are added where it has none of its own. shown: called for what
    people read: text, or what Rich prints. quiet: print nothing but JSON. findings: true for status 1."""
    if as_json:
        level = "care" if findings else "good"
        show_json({"schema_version": SCHEMA_VERSION, "verdict": {"level": level}, **found})
    elif not quiet:
        text = shown()
        if not isinstance(text, str):
            from rich.console import Console

            Console().print(text)
        else:
            typer.echo(text)
    raise typer.Exit(FINDINGS if findings else DONE)
