"""`identify` from Python: the files agree with the result, and other engines read the model."""

import hashlib
import json
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from small_runs import motion, torques, write_case, write_log, write_model
from steelyard.app.identification import carry_out, identify
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import FitError, ModelError, OptionError
from steelyard.fit import Status
from steelyard.inertia import pseudo
from steelyard.model import load
from steelyard.pipeline import Job
from steelyard.pipeline.verdicts import verdict
from steelyard.report.record import FILES

MODULE = import_module("steelyard.app.identification")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("identify")
    model, log = write_case(folder)
    return folder, identify(model, log, out=folder / "out")


def test_written_model_is_the_result(done):
    folder, result = done
    written = load(folder / "out" / "arm_identified.urdf")
    np.testing.assert_allclose(written.inertias, result.robot.inertias, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(written.damping, result.robot.damping, rtol=1e-12)
    assert (np.linalg.eigvalsh(pseudo.to_matrix(written.inertias)) > 0).all()
    assert "<!-- keep me -->" in (folder / "out" / "arm_identified.urdf").read_text()


def test_pinocchio_predicts_fresh_torques_with_the_written_model(done):
    folder, result = done
    _, q, v, a = motion(samples=200, seed=9)
    exact = torques(folder / "truth.urdf", q, v, a, noise=0.0)
    missing = result.estimate.friction["armature"] * a + result.estimate.friction["offset"]

    def error(model):
        return np.linalg.norm(torques(folder / model, q, v, a, noise=0.0) - exact) / np.linalg.norm(exact)

    found = torques(folder / "out" / "arm_identified.urdf", q, v, a, noise=0.0) + missing
    # friction of the simulated log is added by the helper in both, so that only the bodies are compared
    assert np.linalg.norm(found - exact) / np.linalg.norm(exact) < 0.02 < 0.05 < error("arm.urdf")


def test_mujoco_loads_the_written_model(done):
    import mujoco

    m = mujoco.MjModel.from_xml_path(str(done[0] / "out" / "arm_identified.urdf"))
    assert m.nv == 3


def test_held_out_samples_are_the_end_of_the_log(done):
    _, result = done
    t = motion()[0]
    assert result.held_out.t[0] > t[0] + (1 - result.job.validation) * (t[-1] - t[0])


def test_summary_names_inputs_by_hash_and_all_files(done):
    folder, _ = done
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    assert sorted(summary["files"]) == sorted(path.name for path in (folder / "out").iterdir())
    for each in summary["provenance"]["inputs"]:
        path = folder / each["path"]
        assert each["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert each["bytes"] == path.stat().st_size


def test_several_logs_of_any_spelling(tmp_path):
    model, log = write_case(tmp_path, samples=700)
    second = write_log(tmp_path / "second.csv", tmp_path / "truth.urdf", samples=700, seed=4)
    result = identify(str(model), [log, str(second)])
    assert result.log_names == ("run.csv", "second.csv")
    assert result.estimate.samples > identify(model, log).estimate.samples
    assert identify(model, log).job == identify(model, [log]).job


def test_a_load_in_one_of_two_logs_is_no_good_result(tmp_path):
    model, log = write_case(tmp_path, samples=900)
    loaded = write_log(tmp_path / "loaded.csv", write_model(tmp_path / "loaded.urdf", forearm=3.0), samples=900, seed=4)
    same = write_log(tmp_path / "same.csv", tmp_path / "truth.urdf", samples=900, seed=4)
    judged = verdict(identify(model, [log, loaded]))
    assert judged.level == "care" and any(" disagrees with the rest of the data" in each for each in judged.words)
    assert not any("disagrees" in each for each in verdict(identify(model, [log, same])).words)


def test_a_log_of_few_seconds_promises_little(tmp_path):
    """What is expected of links in other motion covers the error there, which the held-out samples of a short log
    hide."""
    model, log = write_case(tmp_path, samples=200)
    short, long = identify(model, log), identify(model, write_case(tmp_path / "long")[1])
    assert short.expected is not None and long.expected is not None
    assert short.expected[1].value > short.after.relative_error
    assert long.expected[1].value < short.expected[1].value
    truth = load(tmp_path / "truth.urdf")
    _, q, v, a = motion(samples=400, seed=9)
    exact = inverse_dynamics(truth, q, 2 * v, 4 * a)
    for each in (short, long):
        error = np.linalg.norm(inverse_dynamics(each.robot, q, 2 * v, 4 * a) - exact) / np.linalg.norm(exact)
        assert error < 2 * each.expected[1].value


def at_rest_in_the_end(truth, hold):
    """Spoils a log: motion ends in the middle of the held-out part; brakes and stiction then hold torques (3,) more."""

    def change(t, q, tau):
        path, end = CubicSpline(t, q), 0.85 * t[-1]
        rate = np.clip((end - t) / 0.5, 0.0, 1.0)  # of time along the path
        at = np.cumsum(rate) * (t[1] - t[0])
        slowing = np.where((rate > 0) & (rate < 1), -2.0, 0.0)[:, None]
        v = path(at, 1) * rate[:, None]
        a = path(at, 2) * rate[:, None] ** 2 + path(at, 1) * slowing
        held = (t > end)[:, None] * np.asarray(hold)
        return t, path(at), torques(truth, path(at), v, a, noise=0.05) + held

    return change


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("hold", "level"), [((0.0, 0.0, 0.0), "good"), ((0.35, -0.18, 0.18), "care")])
def test_held_out_samples_at_rest_count_like_others(tmp_path, hold, level):
    """Torques that joints hold at rest are excused in a fit, not in the error that a verdict is about."""
    truth = write_model(tmp_path / "truth.urdf")
    model, log = write_case(tmp_path, samples=2500, change=at_rest_in_the_end(truth, hold))
    done = identify(model, log)
    judged = verdict(done)
    assert done.generalization.held_out.met == pytest.approx(done.after.relative_error, rel=0.02)
    assert judged.level == level
    assert any("joints that stand still" in each for each in judged.words) == (level == "care")


def test_progress_runs_from_zero_to_one(done):
    stages = []
    model, log = (done[0] / name for name in ("arm.urdf", "run.csv"))
    identify(model, log, progress=lambda stage, share: stages.append((stage, share)))
    shares = [share for _, share in stages]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    assert any("run.csv" in stage for stage, _ in stages)


def test_mjcf_in_mjcf_out(tmp_path):
    import mujoco

    model, log = write_case(tmp_path)
    spec = mujoco.MjSpec.from_file(str(model))
    spec.compile()
    (tmp_path / "arm.xml").write_text(spec.to_xml())
    result = identify(tmp_path / "arm.xml", log, out=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"arm_identified.xml", "draws.npz", "job.toml", *FILES}
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "arm_identified.xml"))
    np.testing.assert_allclose(m.dof_armature, result.estimate.friction["armature"], rtol=1e-9, atol=1e-15)


def test_a_fit_that_is_not_certified_writes_nothing(done, tmp_path, monkeypatch):
    result = replace(done[1], estimate=replace(done[1].estimate, status=Status.INACCURATE))
    monkeypatch.setattr(MODULE, "run", lambda job, **_: result)
    with pytest.raises(FitError, match="nothing was written"):
        carry_out(result.job, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_worse_than_none_is_refused(done, tmp_path, monkeypatch):
    after = replace(done[1].after, predicted=-0.05 * done[1].after.measured)
    monkeypatch.setattr(MODULE, "run", lambda job, **_: replace(done[1], after=after))
    with pytest.raises(FitError, match=r"nothing was written: .* errs by 105 % .* more than no model at all"):
        carry_out(done[1].job, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_the_folder_alone(done, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("earlier")

    def broken(*_, **__):
        raise ModelError("cannot be drawn")

    monkeypatch.setattr(MODULE, "write", broken)
    model, log = (done[0] / name for name in ("arm.urdf", "run.csv"))
    for target in (out, tmp_path / "a" / "b"):
        with pytest.raises(ModelError, match="cannot be drawn"):
            identify(model, log, out=target)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in out.iterdir()] == ["report.html"] and (out / "report.html").read_text() == "earlier"


def test_an_output_that_would_be_an_input_is_refused(tmp_path):
    model, log = write_case(tmp_path / "in", samples=600)
    out = tmp_path / "out"
    out.mkdir()
    clash = out / "arm_identified.urdf"
    clash.symlink_to(model)
    before = model.read_bytes()
    with pytest.raises(OptionError, match="is an input of this run"):
        identify(model, log, out=out)
    assert model.read_bytes() == before and list(out.iterdir()) == [clash]


def test_no_log_at_all(done):
    with pytest.raises(OptionError, match="At least one log"):
        identify(done[0] / "arm.urdf", [])


def test_defaults_are_those_of_the_job(done):
    model, log = (str(done[0] / name) for name in ("arm.urdf", "run.csv"))
    assert done[1].job == Job(model=model, logs=(log,))
