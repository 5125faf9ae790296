"""Groups of options are one option a field, and arrive whole."""

from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from steelyard.app.commands.identify_commands import fleet
from steelyard.app.commands.motion_commands import LimitOptions
from steelyard.app.options import WorkOptions, grouped, options_for
from steelyard.corrections import Corrections
from steelyard.errors import OptionError
from steelyard.excite import Limits, design
from steelyard.motion_options import Aim, Course, Search
from steelyard.pipeline import Job


@dataclass(frozen=True)
class Tuning:
    gain: Annotated[float, typer.Option(metavar="K", help="Amplification.")] = 2.0
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def run(words):
    app, seen = typer.Typer(rich_markup_mode=None), []

    @app.command()
    @grouped
    def command(path: Annotated[str, typer.Argument()], *, tuning: Tuning, loud: bool = False):
        """Do it."""
        seen.append((path, tuning, loud))

    result = CliRunner().invoke(app, words)
    return result, seen


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a"], ("a", Tuning(), False)),
        (["a", "--gain", "3", "--loud"], ("a", Tuning(gain=3.0), True)),
        (["--name", "x", "a", "--name", "y"], ("a", Tuning(names=["x", "y"]), False)),
    ],
)
def test_fields_are_options(words, expected):
    result, seen = run(words)
    assert result.exit_code == 0 and seen == [expected]


def test_help_and_mistakes_speak_of_the_fields():
    text = run(["--help"])[0].output
    assert "--gain K" in text and "Amplification." in text and "Do it." in text and "tuning" not in text.lower()
    result, seen = run(["a", "--gain", "much"])
    assert result.exit_code == 2 and "--gain" in result.output and seen == []


def test_groups_hold_every_default_of_a_job():
    for command in ("identify", "fleet", "inspect", "excite"):
        assert options_for(command)().job("m") == Job(model="m", logs=())


def test_words_of_a_channel_file_and_of_options_are_joined():
    table = '{"tau": ["i1"], "corrections": {"unit": "q=deg", "even_stamps": true}}'
    job = options_for("identify")(channels=table, unit=["tau=mNm"], saturation=True).job("m")
    channels, corrections = job.channels, job.corrections
    assert channels == {"tau": ["i1"]}
    assert corrections == Corrections(unit=("q=deg", "tau=mNm"), even_stamps=True, saturation=True)
    table = '{"corrections": {"gravity_model": "a.urdf"}}'
    both = options_for("excite")(channels=table, gravity_model="b.urdf").job().corrections
    assert both.gravity_model == "b.urdf"
    assert options_for("excite")(channels=table).job().corrections.gravity_model == "a.urdf"
    with pytest.raises(OptionError, match="no correction 'units'"):
        options_for("excite")(channels='{"corrections": {"units": "q=deg"}}').job()


def test_a_fleet_is_told_what_its_logs_have_wrong(monkeypatch):
    jobs = []
    module = "steelyard.app.commands.identify_commands"
    monkeypatch.setattr(f"{module}.ask", lambda job, runs, out, work, **more: jobs.append((job, work)) or {})
    monkeypatch.setattr(f"{module}.show_fleet", lambda found, **how: None)
    monkeypatch.setattr("steelyard.fleet.runs_of", lambda source: ())
    app = typer.Typer()
    app.command()(fleet)
    words = ["arm.urdf", "logs", "--unit", "q=deg", "--scale", "tau:joint3=-1", "--workers", "2", "--no-armature"]
    assert CliRunner().invoke(app, words).exit_code == 0
    ((job, work),) = jobs
    assert job.corrections == Corrections(unit=("q=deg",), scale=("tau:joint3=-1",))
    assert work == WorkOptions(workers=2) and job.armature is False and job.channels is None


def test_defaults_of_excite_are_those_of_design():
    told = {
        name: each
        for record in (Course, Aim, Search)
        for name, each in options_for("excite", record)().of_job().items()
    }
    defaults = {name: each.default for name, each in signature(design).parameters.items()}
    assert {name: defaults[name] for name in told} == told
    assert vars(Limits(**LimitOptions().of_limits())) == vars(Limits())
    assert Aim(**options_for("excite", Aim)(focus="payload").of_job()).of_payload
    assert options_for("excite", Aim)(focus="friction, link2").of_job()["focus"] == ("friction", "link2")
    assert options_for("excite", Aim)(noise="0.2").of_job()["noise"] == 0.2
    with pytest.raises(OptionError, match=r"--noise 'loud': expected a number of N m\."):
        options_for("excite", Aim)(noise="loud").of_job()
