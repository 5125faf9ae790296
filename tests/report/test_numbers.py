"""Every number of the summary against its own formula, and numbers as they are written."""

from types import SimpleNamespace

import numpy as np
import pytest

from small_runs import JOINTS
from steelyard.fit import Status, Validation
from steelyard.fit.prediction_error import Generalization, Prediction
from steelyard.fit.prior import model_parameters
from steelyard.inertia import from_com_inertia
from steelyard.log.findings import warning
from steelyard.model import library
from steelyard.model.rotor import Rotor
from steelyard.numbers import percent, plus_minus
from steelyard.pipeline.verdicts import verdict
from steelyard.report import log_health
from steelyard.report.drive_report import drive_curves
from steelyard.report.identification_report import headline
from steelyard.report.labels import sizes
from steelyard.report.links import rotor_numbers, spelled_out
from steelyard.report.model_validation import ModelValidation
from steelyard.report.parameters import UNCERTAIN, written_sum
from steelyard.report.torques import QUANTILES
from steelyard.terms import layout_of


def test_held_out_numbers_are_those_of_each_joint(small, found):
    noise = dict(zip(small.estimate.group_names, small.estimate.noise, strict=True))
    assert [each["name"] for each in found["held_out"]["joints"]] == list(JOINTS) and len(set(noise.values())) == 3
    for i, each in enumerate(found["held_out"]["joints"]):
        assert each["noise"] == pytest.approx(noise[each["name"]])
        assert each["torque_rms"] == pytest.approx(np.sqrt(np.mean(small.held_out.tau[:, i] ** 2)))
        for word, judged in (("before", small.before), ("after", small.after)):
            error = small.held_out.tau[:, i] - judged.predicted[:, i]
            assert each[f"rms_{word}"] == pytest.approx(np.sqrt(np.mean(error**2)))
            assert each[f"relative_{word}"] == pytest.approx(each[f"rms_{word}"] / each["torque_rms"])
            np.testing.assert_allclose(each[f"quantiles_{word}"], np.quantile(error, QUANTILES))


def test_base_parameters_are_combinations_of_the_models_numbers(small, found):
    estimate, base = small.estimate, small.uncertainty.base
    rows, plain = estimate.basis.regrouping, estimate.layout.in_plain
    given = rows @ model_parameters(small.prior, estimate.layout)
    size = np.abs(rows) @ sizes(small.prior, estimate)
    told = np.flatnonzero(np.isin(estimate.basis.columns, plain))  # friction of any shape and mistakes are elsewhere
    for k, each in zip(told, found["base_parameters"], strict=True):
        assert each["prior"] == pytest.approx(given[k], abs=1e-9 * size[k])
        assert each["degrees"] is None  # normal: scales of noise have the whole log
        assert each["deviation"] == pytest.approx(base.deviation[k])
        assert (each["lower"], each["upper"]) == pytest.approx((base.lower[k], base.upper[k]))
        assert each["relative_deviation"] == pytest.approx(base.deviation[k] / size[k])
        assert each["uncertain"] == (each["relative_deviation"] > UNCERTAIN)


def test_sizes_are_those_of_the_second_moments():
    """A body at its frame's origin, of second moments 1, 2 and 3 kg m^2 along x, y and z: given and found alike."""
    robot = library.scara()
    theta = np.tile(from_com_inertia(4.0, np.zeros(3), np.diag([5.0, 4.0, 3.0])), (robot.nb, 1))
    robot = robot.with_inertias(theta).with_joint_properties(armature=np.full(robot.nv, 0.5))
    layout = layout_of(robot, friction=("coulomb", "offset"), armature=True)
    values = model_parameters(robot, layout)
    size = sizes(robot, SimpleNamespace(layout=layout, parameters=values))
    root = np.sqrt([4 * 1, 4 * 2, 4 * 3]), np.sqrt([1 * 2, 1 * 3, 2 * 3])
    xy, xz, yz = root[1]
    np.testing.assert_allclose(size[layout.body(0)], [4.0, *root[0], 5.0, xy, 4.0, xz, yz, 3.0])
    np.testing.assert_allclose(size[layout.term("armature")], 0.5 + 6.0)
    np.testing.assert_allclose(size[layout.term("offset")], size[layout.term("coulomb")])


def test_bodies_are_told_about_their_centre():
    inertia = np.array([[0.03, 0.001, 0.0], [0.001, 0.02, 0.002], [0.0, 0.002, 0.04]])
    told = spelled_out(from_com_inertia(2.0, np.array([0.1, -0.2, 0.3]), inertia))
    np.testing.assert_allclose(told["com"], [0.1, -0.2, 0.3])
    np.testing.assert_allclose(told["inertia"], inertia, atol=1e-12)


def test_rotors_spin_about_their_own_axis():
    """A rotor whose frame is turned: it spins about its x axis, which is the carrier's z."""
    turn = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]).T
    theta = from_com_inertia(0.3, np.zeros(3), np.diag([4e-5, 3e-5, 3e-5]))
    rotor = Rotor("joint", 100.0, None, turn[:, 0], turn, np.zeros(3), theta)
    assert rotor_numbers(rotor, theta)["spin_inertia"] == pytest.approx(4e-5)


def test_a_value_ends_where_its_deviation_does():
    told = {
        (0.80481, 0.00352): "0.8048 ± 0.0035",
        (-12.345, 1.26): "−12.3 ± 1.3",
        (123.4, 12.0): "123 ± 12",
        (1.0, None): "1",
        (1234.5, 320.0): "1234 ± 320",
        (2.0, float("inf")): "2 ± –",
    }
    assert {each: plus_minus(*each) for each in told} == told
    assert [percent(x) for x in (0.999, 1.0, 1.048, 12.34)] == ["100 %", "100 %", "105 %", "1234 %"]


def test_combinations_are_sums_with_their_signs():
    assert written_sum([(1.0, "a"), (-0.5, "b"), (2.0, "c")]) == "a − 0.5 b + 2 c"
    assert written_sum([(-1.0, "a"), (1.0, "b")]) == " − a + b"


def judged(before, after, names=("a", "b")):
    def of(error):
        return SimpleNamespace(relative=np.array(error), relative_error=float(np.mean(error)), joint_names=names)

    result = SimpleNamespace(
        before=of(before),
        after=of(after),
        doubted=(),
        imitated=False,
        expected=None,
        diagnosis=SimpleNamespace(faults=()),
        estimate=SimpleNamespace(weakest=(), status=Status.OK, nuisances={}),
        job=SimpleNamespace(within="consistent", drive_gains=False, loads=()),
        prior=SimpleNamespace(nb=1),
        findings=(),
        generalization=Generalization(fitted=0.0, held_out=Prediction("held-out samples", 0.1, 0.1), parts=()),
    )
    return verdict(result), headline(result, verdict(result))


def test_a_joint_that_is_worse_is_named_among_better_ones():
    found, said = judged([0.4, 0.05], [0.1, 0.08])
    assert found.level == "care" and any("at b" in each for each in found.words)
    assert "(2.5 times smaller)" in said
    assert "No better" in judged([0.1, 0.1], [0.099, 0.099])[1]  # one per cent less is nothing


def test_a_model_is_good_for_logs_that_it_meets_well():
    def judged_alone(*errors, findings=()):
        one = np.ones((3, 1))
        models = tuple((f"m{i}", Validation(one[:, 0], (1 - x) * one, one, ("a",))) for i, x in enumerate(errors))
        about = {"joint_names": (), "units": (), "notes": ()}
        return ModelValidation(logs=("log",), models=models, findings=findings, **about).good

    assert judged_alone(0.24) and not judged_alone(0.26) and not judged_alone(0.1, findings=(warning("gap", "a gap"),))
    assert judged_alone(0.1, 0.2) and not judged_alone(0.1, 0.101) and not judged_alone(0.2, 0.1)


def test_joints_that_move_more_than_half_of_the_time_are_counted():
    motion = [{"joint": name, "moving": share} for name, share in (("a", 0.9), ("b", 0.4), ("c", 0.0), ("d", 0.6))]
    told = {"motion": motion, "findings": [], "faults": [], "gaps": [], "samples": 9, "duration": 1.0, "rate": 9.0}
    answers = log_health._screen(told | {"jitter": 0.0, "cutoff": 3.0, "torque_cutoff": 10.0}).as_json()["answers"]
    assert [each["answer"] for each in answers if each["question"] == "What moves?"] == ["2 of 4 joints"]


def test_held_out_pieces_follow_each_other():
    """Those of other logs, whose time begins anew, and later ones of the same: lines break there and never go back."""
    times = np.concatenate([3.0 + 0.01 * np.arange(40), 1.0 + 0.01 * np.arange(30), 9.0 + 0.01 * np.arange(20)])
    q = np.sin(times)[:, None]
    found = drive_curves(SimpleNamespace(overlay=(times, q, q, None)))
    t, y = found["motion", 0, "measured"]
    breaks = np.flatnonzero(np.isnan(t))
    assert list(breaks) == [40, 71] and np.isnan(y[breaks]).all()
    assert (np.diff(t[~np.isnan(t)]) > 0).all() and t[-1] < 2.0
    np.testing.assert_allclose(y[~np.isnan(y)], q[:, 0], atol=1e-6)
