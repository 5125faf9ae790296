"""The command line: what it prints, what it writes, how it ends; and every mistake of a user has a readable answer."""

import json
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import numpy as np
import pytest
from typer.testing import CliRunner

from small_runs import JOINTS, motion, torques, write_case, write_log, write_model
from steelyard.app import app
from steelyard.errors import DONE, FINDINGS, REFUSED

pytestmark = pytest.mark.claim("pipeline.refusals", "bad models and logs end in a message; the output folder stays")

FILES = {"arm_identified.urdf", "summary.json", "report.html", "report.md", "curves.npz", "draws.npz", "job.toml"}


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return write_case(tmp_path_factory.mktemp("case"))


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_identify_writes_its_files_and_says_what_it_found(case, tmp_path):
    model, log = case
    before = model.read_bytes(), log.read_bytes()
    done = run("identify", model, log, "--out", tmp_path / "new" / "out")
    assert done.exit_code == DONE, done.output
    assert {path.name for path in (tmp_path / "new" / "out").iterdir()} == FILES
    assert "Better: held-out torque error" in done.stdout
    assert all(line.endswith("%") for line in done.stderr.splitlines())  # how far it is, of what takes long
    assert (model.read_bytes(), log.read_bytes()) == before
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "out"]


def test_json_is_the_summary_file_and_nothing_else(case, tmp_path):
    done = run("identify", *case, "-o", tmp_path / "out", "--json")
    assert done.exit_code == DONE and done.stderr == ""
    assert json.loads(done.stdout) == json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))


def test_quiet_prints_nothing(case, tmp_path):
    done = run("identify", *case, "-o", tmp_path / "out", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (DONE, "", "")


def test_without_out_nothing_is_written(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("identify", *case)
    assert done.exit_code == DONE and "Written to" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_options_reach_the_job(case, tmp_path):
    channels = tmp_path / "channels.toml"
    columns = {key: [f"{key}_{joint}" for joint in JOINTS] for key in ("q", "tau")}
    channels.write_text("\n".join(f"{key} = {names}" for key, names in columns.items()))
    options = "--no-armature --friction viscous --gravity 0 0 -9.7 --cutoff 8 --validation 0.4 --fixed "
    options += "--within geometry"
    done = run("identify", *case, *options.split(), "--channels", channels, "--json")
    found = json.loads(done.stdout)
    expected = {
        "armature": False,
        "friction": ["viscous"],
        "gravity": [0, 0, -9.7],
        "cutoff": 8,
        "validation": 0.4,
        "within": "geometry",
        "floating": False,
        "channels": columns,
    }
    assert expected.items() <= found["job"].items()
    assert set(found["joints"][0]) == {"name", "viscous"}


def test_an_earlier_result_is_replaced_and_other_files_stay(case, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / "summary.json").write_text("old")
    assert run("identify", *case, "-o", out, "-q").exit_code == DONE
    assert {path.name for path in out.iterdir()} == FILES | {"notes.txt"}
    assert (out / "notes.txt").read_text() == "mine" and json.loads((out / "summary.json").read_text("utf-8"))


def test_a_joint_that_never_moves_is_a_finding(tmp_path):
    model, log = write_case(tmp_path, moving=(1.0, 1.0, 0.0))
    done = run("identify", model, log, "-o", tmp_path / "out", "--strict")
    assert done.exit_code == FINDINGS
    assert run("identify", model, log).exit_code == DONE
    assert "slide never moves" in " ".join(done.stdout.split()) and (tmp_path / "out" / "report.html").exists()


def test_links_of_an_exact_model_stay(tmp_path):
    truth = write_model(tmp_path / "arm.urdf")
    t, q, v, a = motion()
    tau = torques(truth, q, v, a, noise=0.001)
    # an exact model: friction of the same file, and nothing left to find
    text = truth.read_text()
    for joint, damping, friction in zip(JOINTS, (0.6, 0.4, 3.0), (0.3, 0.2, 1.0), strict=True):
        head, tail = text.split(f'<joint name="{joint}"')
        text = head + f'<joint name="{joint}"' + tail.replace("/></joint>", f'/><dynamics damping="{damping}" '
                                                             f'friction="{friction}"/></joint>', 1)  # fmt: skip
    truth.write_text(text)
    log = tmp_path / "run.npz"
    np.savez(log, t=t, q=q, v=v, a=a, tau=tau, joint_names=np.array(JOINTS))
    done = run("identify", truth, log, "--cutoff", "0", "--no-armature", "--json")
    found = json.loads(done.stdout)
    judged = found["verdict"]
    assert judged["level"] == "good" and judged["headline"].startswith("No better than the given model")
    assert judged["expected_error"]["written"]["value"] < 0.001  # what the noise of 0.001 N m leaves
    masses = np.array([[each[of]["mass"] for of in ("identified", "prior")] for each in found["bodies"]])
    np.testing.assert_allclose(masses[:, 0], masses[:, 1], rtol=1e-3)
    scales = [each for each in found["randomisation"] if each["group"] == "mass_scale"]
    assert len(scales) == len(found["bodies"])  # links that hardly change are not thereby known
    assert all(each["source"] != "given" and each["lower"] < 1 < each["upper"] for each in scales)


def spoiled(**channels):
    """A change of t, q, tau by function of each."""

    def change(t, q, tau):
        return tuple(channels.get(key, np.copy)(value.copy()) for key, value in zip(["t", "q", "tau"], (t, q, tau)))  # noqa: B905

    return change


def put(index, value):
    def change(x):
        x[index] = value
        return x

    return change


LOG_FAULTS = {
    "nan": (spoiled(q=put((7, 1), np.nan)), {}, "elbow is nan at sample 7"),
    "duplicate time": (spoiled(t=put(5, 0.04)), {}, "stands still"),
    "unsorted time": (spoiled(t=put(5, 0.01)), {}, "Sort the samples"),
    "too few samples": (None, {"samples": 15}, "15 samples"),
    "fewer samples than parameters": (None, {"samples": 20, "rate": 10.0}, "Record a longer log"),
    "unmatched joints": (None, {"joints": ("a", "b", "c")}, "shoulder"),
    "degrees": (spoiled(q=np.degrees), {}, 'units={"q": "deg"}'),
    "no torque": (spoiled(tau=np.zeros_like), {}, "zero in every sample"),
}


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("fault", LOG_FAULTS)
@pytest.mark.parametrize("existing", [False, True])
def test_log_faults_are_refused_and_nothing_is_written(fault, existing, tmp_path):
    change, options, message = LOG_FAULTS[fault]
    model, log = write_case(tmp_path / "in", change=change, **options)
    out = tmp_path / "out"
    if existing:
        out.mkdir()
        (out / "summary.json").write_text("earlier")
    before = contents(tmp_path)
    done = run("identify", model, log, "-o", out)
    assert done.exit_code == REFUSED, done.output
    assert message in done.stderr and done.stdout == "" and "Traceback" not in done.stderr
    assert contents(tmp_path) == before and out.exists() == existing


MODEL_FAULTS = {
    "missing": (None, "missing"),
    "malformed": ("<robot><link", "not well-formed XML"),
    "empty": ("  ", "is empty"),
    "not a robot": ("<html/>", "<html>"),
    "no movable joint": ('<robot name="r"><link name="a"/></robot>', "no movable joint"),
    "unsupported joint": (
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="j" type="ball"><parent link="a"/><child link="b"/></joint></robot>',
        "'ball'",
    ),
}


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_model_faults_are_refused_and_nothing_is_written(fault, case, tmp_path):
    text, message = MODEL_FAULTS[fault]
    model = tmp_path / "broken.urdf"
    if text is not None:
        model.write_text(text)
    before = contents(tmp_path)
    done = run("identify", model, case[1], "-o", tmp_path / "out")
    assert done.exit_code == REFUSED and done.stdout == ""
    assert message in done.stderr and "broken.urdf" in done.stderr
    assert contents(tmp_path) == before and not (tmp_path / "out").exists()


OPTION_FAULTS = {
    "friction": (("--friction", "sticky"), "viscous, coulomb, offset"),
    "validation": (("--validation", "2"), "between 0 and 1"),
    "volume": (("--within", "air"), "consistent, geometry"),
    "cutoff": (("--cutoff", "300"), "cutoff 300 Hz"),
    "cutoff word": (("--cutoff", "fast"), "expected a number of Hz, or auto"),
    "smoother": (("--smoother", "median"), "Choose from butterworth, kalman, savgol"),
    "channel file": (("--channels", "nowhere.toml"), "nowhere.toml"),
    "channel text": (("--channels", "{oops"), "--channels {oops"),
    "suffix of the log": (("run.docx",), "no log at run.docx"),
}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("fault", OPTION_FAULTS)
def test_option_faults_are_refused(fault, case, tmp_path):
    words, message = OPTION_FAULTS[fault]
    done = run("identify", *case, *words, "-o", tmp_path / "out")
    assert done.exit_code == REFUSED, done.output
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_argument_is_explained():
    done = run("identify")
    assert done.exit_code == REFUSED and "MODEL" in done.stderr


def test_output_folder_that_is_a_file(case, tmp_path):
    (tmp_path / "out").write_text("a file")
    done = run("identify", *case, "-o", tmp_path / "out")
    assert done.exit_code == REFUSED and "is a file" in done.stderr
    assert (tmp_path / "out").read_text() == "a file"


def test_an_input_in_the_output_folder_is_never_overwritten(tmp_path):
    model, log = write_case(tmp_path)
    shutil.move(model, tmp_path / "x.urdf")
    assert run("identify", tmp_path / "x.urdf", log, "-o", tmp_path, "-q").exit_code == DONE
    # the result of the first run as the model of the next, its own output would be its input's name twice suffixed
    second = tmp_path / "x_identified.urdf"
    before = second.read_bytes()
    assert run("identify", second, log, "-o", tmp_path, "-q").exit_code in (DONE, FINDINGS)
    assert second.read_bytes() == before and (tmp_path / "x_identified_identified.urdf").exists()


def test_unexpected_exceptions_are_not_hidden(case, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(import_module("steelyard.app.identification"), "carry_out", broken)
    with pytest.raises(ZeroDivisionError):
        run("identify", *case)


def test_help_has_examples_and_version_is_the_packages():
    for words in (["--help"], ["identify", "--help"], ["demo", "-h"]):
        assert run(*words).exit_code == 0
    assert "steelyard identify arm.urdf run.csv -o result" in run("identify", "--help").stdout
    assert "steelyard demo --out demo-out" in run("--help").stdout
    assert run("--version").stdout.split() == ["steelyard", version("steelyard")]
    assert "--install-completion" in run("--help").stdout


def test_python_dash_m_and_no_heavy_import_for_help():
    command = [sys.executable, "-X", "importtime", "-m", "steelyard", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "Usage" in done.stdout and "steelyard.app" in imported
    assert not imported & {"mujoco", "trimesh", "plotly", "clarabel", "jax", "jinja2"}


def test_progress_is_on_standard_error_only(case, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes Rich take the captured stream for a terminal
    done = run("identify", *case)
    assert "done" in done.stderr and "Better" in done.stdout and "Better" not in done.stderr
    assert run("identify", *case, "--json").stderr == run("identify", *case, "--quiet").stderr == ""


def test_a_log_that_names_more_joints_says_so(tmp_path):
    model = write_model(tmp_path / "arm.urdf", mass=5.5)
    log = write_log(tmp_path / "run.csv", write_model(tmp_path / "truth.urdf"))
    lines = log.read_text().splitlines()
    log.write_text("\n".join(["q_gripper," + lines[0], *("0.5," + line for line in lines[1:])]))
    done = run("identify", model, log)
    assert "gripper" in done.stdout


def test_model_and_log_the_wrong_way_round(case, tmp_path):
    model, log = case
    done = run("identify", log, model, "-o", tmp_path / "out")
    assert done.exit_code == REFUSED and f"{log} is a log and {model} a model: the model comes first" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_robot_that_never_moves_is_refused_but_poses_are_not(case, tmp_path):
    """One torque a joint is met by any model: a held-out error of nothing would be no merit."""
    model, _ = case

    def at_rest(k):
        def change(t, q, tau):
            noise = 0.05 * np.random.default_rng(k).normal(size=tau.shape)
            return t, np.tile(q[k], (len(t), 1)), tau[k] + noise

        return change

    logs = [write_log(tmp_path / f"pose{k}.csv", model, change=at_rest(k)) for k in (0, 100)]
    done = run("identify", model, logs[0], "-o", tmp_path / "out")
    assert done.exit_code == REFUSED and "No joint moves in pose0.csv" in done.stderr
    assert not (tmp_path / "out").exists()
    assert "No joint moves" not in run("identify", model, *logs).stderr


@pytest.mark.parametrize(("name", "words"), [("arm.mjcf", "Name MJCF files .xml")])
def test_files_of_robots_that_are_no_models_yet(case, tmp_path, name, words):
    shutil.copy(case[0], tmp_path / name)
    done = run("identify", tmp_path / name, case[1])
    assert done.exit_code == REFUSED and words in done.stderr


def test_help_says_of_each_command_what_it_does_in_whole_words():
    shown = run("--help").stdout.split("Commands:")[1]
    assert "..." not in shown and "validate" in shown and "Identify a robot from a model and logs." in shown
