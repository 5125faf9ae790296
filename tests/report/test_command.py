"""The command a report prints repeats the run: the command line parses it back to the same job."""

import shlex
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from properties import tried
from steelyard import app as cli
from steelyard.log.smoothers import SMOOTHERS
from steelyard.pipeline import Job
from steelyard.report.identification_report import repeat_command

numbers = st.floats(0.001, 1000, allow_nan=False)
paths = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(
    lambda text: text.strip() == text and not text.endswith("/") and "/" not in text and text not in (".", "..")
)
jobs = st.builds(
    Job,
    model=paths,
    logs=st.lists(paths, min_size=1, max_size=3).map(tuple),
    floating=st.sampled_from([None, True, False]),
    gravity=st.none() | st.tuples(*[st.floats(-20, 20)] * 3),
    cutoff=st.none() | st.just(0.0) | numbers,
    smoother=st.sampled_from(list(SMOOTHERS)),
    friction=st.lists(st.sampled_from(["viscous", "coulomb", "offset"]), unique=True).map(tuple),
    armature=st.booleans(),
    coupling=st.lists(st.sampled_from(["a+b", "a-0.5*b", "-a+b"]), max_size=2).map(tuple),
    rotors=st.booleans(),
    side=st.none() | paths,
    folders=st.lists(paths, max_size=2).map(tuple),
    validation=st.floats(0.1, 0.9),
    channels=st.none() | st.dictionaries(st.sampled_from(["q", "tau"]), st.lists(st.text(max_size=5)), min_size=1),
)


def parsed(command: str, monkeypatch) -> tuple[Job, str]:
    """Job and output folder that the command line makes of a command."""
    seen = {}

    def keep(job, *, out, progress, export):
        seen.update(job=job, out=str(out))
        raise KeyboardInterrupt

    words = shlex.split(command)
    assert words[0] == "steelyard"
    monkeypatch.setattr(import_module("steelyard.app.identification"), "carry_out", keep)
    done = CliRunner().invoke(cli.app, words[1:])
    assert "job" in seen, done.stderr
    return seen["job"], seen["out"]


def plain(path: str) -> str:
    """A path as it is read back: one that starts with a dash had `./` put before it."""
    return path.removeprefix("./")


@tried(40)
@given(job=jobs, out=paths)
def test_round_trip(job, out):
    with pytest.MonkeyPatch.context() as patch:
        found, folder = parsed(repeat_command(job, out), patch)
    assert folder == out
    assert (plain(found.model), *map(plain, found.logs)) == (plain(job.model), *map(plain, job.logs))
    names = ("floating", "gravity", "cutoff", "smoother", "friction", "armature", "validation", "channels")
    assert [*map(plain, found.folders)] == [*map(plain, job.folders)]
    for name in names:
        assert getattr(found, name) == getattr(job, name), name


def test_defaults_are_not_spelled_out():
    assert repeat_command(Job("a b.urdf", ("x.csv",)), "out") == "steelyard identify 'a b.urdf' x.csv --out out"
    assert repeat_command(Job("a.urdf", ("-x.csv",))) == "steelyard identify a.urdf ./-x.csv --out OUT"
