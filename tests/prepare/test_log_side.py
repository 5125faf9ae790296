"""Side files of logs: found by what reads the log, written by `inspect --fix` where corrections prove themselves."""

import json
import tomllib
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from small_runs import write_case, write_log
from steelyard.app import app
from steelyard.corrections import Corrections
from steelyard.errors import REFUSED, OptionError
from steelyard.pipeline.log_repair import repair
from steelyard.prepare.reading import LogSide, log_side, log_side_path, read_undone, write_log_side
from steelyard.prepare.undo import corrected

SWAPPED = [1, 0, 2]  # columns of the spoilt log: elbow, shoulder, slide


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)


def spoilt(t, q, tau):
    """In N mm, with the elbow's torque negated and the first two joints exchanged."""
    return t, q[:, SWAPPED], 1000 * (tau * [1, -1, 1])[:, SWAPPED]


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    """A model, a log with three mistakes that hide each other, and what `inspect --fix` said of it."""
    folder = tmp_path_factory.mktemp("fixed")
    model, log = write_case(folder, change=spoilt)
    before = log.read_bytes()
    done = run("inspect", log, "--model", model, "--fix", "--json")
    assert log.read_bytes() == before
    return model, log, done


def test_three_mistakes_that_hide_each_other_are_found_and_proven(fixed):
    _, log, done = fixed
    assert "run.csv.steelyard.toml: written, unit tau=mNm" in done.stderr
    text = log_side_path(log).read_text()
    assert tomllib.loads(text) == {
        "corrections": {"unit": ["tau=mNm"], "order": ["elbow,shoulder,slide"], "scale": ["tau:elbow=-1"]}
    }
    assert text.count("# Torque error on the part held out: 0.") == 3
    assert not [each for each in json.loads(done.stdout)["faults"] if each["severity"] == "fatal"]


def _bodies(path):
    links = ElementTree.parse(path).findall("link")
    masses = [link.find("inertial/mass") for link in links]
    return [link.get("name") for link in links], [0.0 if m is None else float(m.get("value")) for m in masses]


def test_identification_finds_the_side_file_and_the_truth(fixed, tmp_path):
    model, log, _ = fixed
    done = run("identify", model, log, "--no-armature", "--json", "-o", tmp_path / "out")
    found = json.loads(done.stdout)
    assert found["held_out"]["relative_error_after"] < 0.01
    assert sum("run.csv.steelyard.toml beside the log" in note for note in found["notes"]) == 1
    assert str(log_side_path(log)) in [each["path"] for each in found["provenance"]["inputs"]]
    (model_file,) = (tmp_path / "out").glob("*.urdf")
    rod = next(body for name, body in zip(*_bodies(model_file), strict=True) if name == "rod")
    assert abs(rod - 0.7) < 0.005  # Pinocchio's robot
    stated = run("validate", tmp_path / "out", log, "--json")
    assert json.loads(stated.stdout)["models"][0]["relative_error"] < 0.01


def test_nothing_is_written_for_a_log_without_mistakes_or_without_proof(tmp_path):
    model, log = write_case(tmp_path)
    done = run("inspect", log, "--model", model, "--fix")
    assert "nothing more to undo, not written" in done.stderr and not log_side_path(log).exists()
    rng = np.random.default_rng(0)
    noise = write_log(tmp_path / "noise.csv", model, change=lambda t, q, tau: (t, q, rng.normal(size=tau.shape)))
    done = run("inspect", noise, "--model", model, "--fix")
    assert "not written" in done.stderr and not log_side_path(noise).exists()


def test_a_correction_that_the_held_out_part_contradicts_is_dropped(tmp_path):
    """The sign changes halfway: what the first part asks for makes the last part worse."""

    def change(t, q, tau):
        turned = np.where(np.arange(len(t)) < len(t) // 2, -1.0, 1.0)
        return t, q, np.column_stack([tau[:, 0], turned * tau[:, 1], tau[:, 2]])

    model, path = write_case(tmp_path, change=change)
    robot = sy.load(model)
    log = sy.read_log(path, robot)
    found = repair(lambda corrections: corrected(robot, log, corrections), robot)
    assert found.corrections == Corrections() and "takes nothing off" in " ".join(found.notes)


def test_words_typed_beside_the_side_file_are_added_and_a_file_that_was_there_is_named(tmp_path):
    model, log = write_case(tmp_path, change=lambda t, q, tau: (t, np.rad2deg(q), tau * [1, -1, 1]))
    write_log_side(LogSide(log_side_path(log), {}, Corrections(unit=("q=deg",))))
    done = run("inspect", log, "--model", model, "--fix", "--scale", "tau:elbow=-1")
    assert "it replaces what undid unit q=deg" in done.stderr
    assert log_side(log).corrections == Corrections(unit=("q=deg",), scale=("tau:elbow=-1",))
    twice = read_undone(log, corrections=Corrections(scale=("tau:elbow=-1",)))  # those are the caller's to make
    assert any("unit q=deg, scale tau:elbow=-1" in note for note in twice.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[corrections]\nscal = ['tau:elbow=-1']", "no correction 'scal'"),
        ("[corrections]\nsaturation = true", "saturation belongs to a fit"),
        ("[corrections]\ndelay = ['auto']", "delay auto takes a fit"),
        ("[corrections", "Expected TOML"),
        ("torque = ['a', 'b', 'c']", "no channel torque"),
    ],
)
def test_side_files_that_cannot_be_read_are_refused_by_name(tmp_path, text, said):
    model, log = write_case(tmp_path, samples=300)
    log_side_path(log).write_text(text)
    done = run("identify", model, log)
    assert done.exit_code == REFUSED and said in done.stderr


def test_gravity_is_added_once(tmp_path):
    _, log = write_case(tmp_path, samples=300)
    log_side_path(log).write_text("[corrections]\ngravity_compensated = true")
    with pytest.raises(OptionError, match="adds gravity to the torques already"):
        read_undone(log, corrections=Corrections(gravity_compensated=True))


@pytest.fixture
def foreign(tmp_path):
    """A log in a folder of its own with a model in it, one beside that folder, and a function that names a model."""
    model, log = write_case(tmp_path / "project" / "logs")
    (tmp_path / "secret.urdf").write_bytes(model.read_bytes())

    def named(text):
        log_side_path(log).write_text(f"[corrections]\ngravity_model = {json.dumps(text)}")
        return log

    return model, named


@pytest.mark.parametrize(
    "text",
    ["{}/secret.urdf", "../../secret.urdf", "models/../../../secret.urdf", "file://{}/secret.urdf", "link.urdf"],
)
def test_a_side_file_opens_no_model_outside_of_its_folder(foreign, tmp_path, text):
    model, named = foreign
    (model.parent / "models").mkdir()
    (model.parent / "link.urdf").symlink_to(tmp_path / "secret.urdf")
    log = named(text.format(tmp_path))
    with pytest.raises(OptionError, match=r"run\.csv\.steelyard\.toml: gravity_model: .* the file was not opened"):
        read_undone(log, sy.load(model))
    done = run("inspect", log, "--model", model)
    assert done.exit_code == REFUSED and "--gravity-model MODEL on the command line" in " ".join(done.stderr.split())


@pytest.mark.parametrize("text", ["/etc/passwd", "absent.urdf", "https://example.org/a.urdf", ".", "a\x00b", ""])
def test_a_side_file_with_a_model_that_is_none_is_refused(foreign, text):
    model, named = foreign
    with pytest.raises(OptionError, match="gravity_model"):
        read_undone(named(text), sy.load(model))


def test_a_side_file_names_models_of_its_folder_wherever_it_is_read(foreign, tmp_path, monkeypatch):
    model, named = foreign
    monkeypatch.chdir(tmp_path)
    log = named(model.name)
    robot = sy.load(model)
    there = read_undone(log, robot)
    log_side_path(log).unlink()
    typed = read_undone(log, robot)
    outside = corrected(robot, typed, Corrections(gravity_model=str(tmp_path / "secret.urdf")))  # typed: free
    np.testing.assert_allclose(there.require("tau")[0], outside.require("tau")[0])
    assert np.abs(np.subtract(*there.require("tau"), *typed.require("tau"))).max() > 1
    side = LogSide(log_side_path(log), {}, Corrections(gravity_model=str(model.relative_to(tmp_path))))
    write_log_side(side)
    assert tomllib.loads(side.path.read_text())["corrections"] == {"gravity_model": model.name}
    with pytest.raises(OptionError, match="absolute path outside"):
        write_log_side(LogSide(side.path, {}, Corrections(gravity_model="secret.urdf")))


def test_channels_and_corrections_are_read_back_as_written(tmp_path):
    words = Corrections(unit=("q=deg",), offset=("elbow=0.1",), even_stamps=True, base="wxyz,world,body")
    side = LogSide(tmp_path / "a.csv.steelyard.toml", {"t": "stamp", "tau": ['a "b"', "c"]}, words)
    write_log_side(side, {"elbow=0.1": "Proven."})
    assert log_side(tmp_path / "a.csv") == side and "# Proven.\noffset" in side.path.read_text()


def test_fixing_takes_a_model(tmp_path):
    _, log = write_case(tmp_path, samples=300)
    done = run("inspect", log, "--fix")
    assert done.exit_code == REFUSED and "--model MODEL" in done.stderr


def test_analyze_locks_joints_at_a_position(tmp_path):
    model, _ = write_case(tmp_path, samples=300)
    free, held = (run("analyze", model, *words, "--format", "json").stdout for words in ((), ("--lock", "slide=0.1")))
    assert (json.loads(free)["size"], json.loads(held)["size"]) == (30, 20)


def test_the_folder_one_stands_in_has_its_side_file_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert log_side_path(".") == tmp_path.parent / f"{tmp_path.name}.steelyard.toml"
