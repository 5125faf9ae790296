"""Help fits a terminal of 80 columns, and its examples can be copied from there."""

import shlex

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from steelyard import app as cli
from steelyard.app.terminal import examples

COMMANDS = get_command(cli.app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_examples_are_whole_commands(name):
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(cli.app, [*([name] if name else []), "--help"]).output
    assert max(map(len, shown.splitlines())) <= 80
    if name == "demo":
        return
    text, _, status = shown.partition("Examples:")[2].partition("Exit status:")
    assert bool(status) == (name in ("fleet", "inspect", "payload", "check", "validate", "rehearse"))
    text = text.replace("\\\n", " ")
    commands = [line.split() for line in text.splitlines() if line.strip()]
    assert commands and all(words[:1] == ["steelyard"] for words in commands)
    known = {name, "identify", "demo"} if not name else {name}
    assert {words[1] for words in commands} <= known
    told = (cli.app.info.epilog if not name else COMMANDS[name].epilog) or ""
    below = told.partition("Examples:\n")[2].partition("Exit status:")[0].replace("\\\n", " ")
    assert commands == [line.split() for line in below.splitlines() if line.strip()]


def test_commands_break_before_options():
    long = """steelyard identify arm.urdf run.csv --channels '{"tau": ["i1", "i2"]}' --mass all=18 -o result"""
    text = examples("steelyard demo", long)
    assert text.startswith("\b\nExamples:\nsteelyard demo\nsteelyard identify")
    assert max(map(len, text.splitlines())) <= 76
    assert shlex.split(text.partition("demo\n")[2].replace("\\\n", " ")) == shlex.split(long)
