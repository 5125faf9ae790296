"""The small parts of a report: plain JSON, thinning, labels, verdicts, files all at once."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from properties import tried
from random_bodies import bodies
from steelyard.dynamics import regressor
from steelyard.errors import OptionError
from steelyard.fit import Status
from steelyard.fit.estimate import ExpectedError, Nuisance
from steelyard.fit.prediction_error import Generalization, Prediction
from steelyard.identifiable import regression_basis
from steelyard.log.findings import warning
from steelyard.model import library
from steelyard.numbers import number, percent
from steelyard.pipeline.verdicts import verdict
from steelyard.report.identification_report import _beyond
from steelyard.report.identification_report import headline as said
from steelyard.report.labels import dof_units, knowledge, sizes
from steelyard.report.outputs import staged
from steelyard.report.schema import jsonable
from steelyard.report.signal_curves import thin
from steelyard.storage import require_folder
from steelyard.terms import layout_of

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@tried(100)
@given(plain)
def test_jsonable_is_strict_json_and_changes_only_what_json_cannot_say(value):
    text = json.dumps(jsonable(value), allow_nan=False)

    def expected(x):
        if isinstance(x, dict):
            return {key: expected(each) for key, each in x.items()}
        if isinstance(x, list):
            return [expected(each) for each in x]
        return None if isinstance(x, float) and not math.isfinite(x) else x

    assert json.loads(text) == expected(value)


def test_jsonable_takes_arrays_and_paths_and_refuses_objects():
    assert jsonable({"a": np.array([[1.0, np.nan]]), "b": np.float64(2), "c": (np.int64(3), Path("x/y"))}) == {
        "a": [[1.0, None]],
        "b": 2.0,
        "c": [3, "x/y"],
    }
    assert jsonable(np.bool_(True)) is True
    with pytest.raises(TypeError, match="object"):
        jsonable({"x": object()})


@tried(60)
@given(n=st.integers(1, 5000), limit=st.integers(10, 300), seed=st.integers(0, 99))
def test_thinning_keeps_every_peak_and_the_order(n, limit, seed):
    rng = np.random.default_rng(seed)
    t, y = np.arange(n) * 0.01, rng.normal(size=n)
    tt, yy = thin(t, y, limit)
    assert len(tt) == len(yy) <= max(limit, 1) + 2
    assert yy.max() == y.max() and yy.min() == y.min()
    assert (np.diff(tt) > 0).all()
    np.testing.assert_array_equal(yy, y[np.round(tt / 0.01).astype(int)])


def test_thinning_breaks_the_line_at_a_gap():
    t = np.concatenate([np.arange(100), 500 + np.arange(100)]) * 0.1
    tt, yy = thin(t, np.ones(200), 1000)
    assert np.isnan(tt[100]) and np.isnan(yy[100]) and np.isnan(tt).sum() == 1
    tt, _ = thin(np.arange(50) * 0.1, np.ones(50))
    assert not np.isnan(tt).any()


def test_knowledge_agrees_with_the_rank_of_random_regressors():
    robot = library.puma560()
    layout = layout_of(robot)
    rng = np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, 200, robot.nv))
    Y = np.concatenate(list(regressor(robot, q, v, a)))
    rank = np.linalg.matrix_rank(Y)
    labels = knowledge(regression_basis(robot, layout))
    for column, label in enumerate(labels):
        alone = np.linalg.matrix_rank(np.delete(Y, column, axis=1)) == rank - 1
        seen = np.abs(Y[:, column]).max() > 1e-9
        assert label == ("data" if alone else "combination" if seen else "model"), layout.names[column]
    assert set(labels) == {"data", "combination", "model"}


@tried(30)
@given(seed=st.integers(0, 2**31))
def test_no_consistent_body_exceeds_its_natural_size(seed):
    robot = library.scara()
    robot = robot.with_inertias(bodies(seed, (robot.nb,)))
    layout = layout_of(robot, friction=("coulomb", "offset"), armature=True)
    given = np.concatenate([robot.inertias.ravel(), robot.frictionloss, np.zeros(robot.nv), robot.armature])
    size = sizes(robot, SimpleNamespace(layout=layout, parameters=given))
    assert (np.abs(given) <= size * (1 + 1e-9)).all() and (size >= 0).all()


def test_units_of_sliding_joints():
    units = [unit["tau"] for unit in dof_units(library.scara())]
    assert units == ["N m", "N m", "N", "N m"]


def stub(
    before,
    after,
    *,
    weakest=(),
    findings=(),
    fitted=0.0,
    held_out=(0.03, 0.03),
    parts=(),
    links=0.0,
    doubted=(),
    imitated=False,
    nuisances=None,
):
    """A result with the given predictions' errors. held_out, parts: errors met and expected; links: expected error of
    the written ones in ordinary use."""

    def errors(relative):
        relative = np.asarray(relative, dtype=float)
        return SimpleNamespace(
            relative=relative, relative_error=float(np.sqrt(np.mean(relative**2))), joint_names=("j1", "j2")
        )

    return SimpleNamespace(
        before=errors(before),
        after=errors(after),
        estimate=SimpleNamespace(weakest=weakest, status=Status.OK, nuisances=nuisances or {}),
        job=SimpleNamespace(within="consistent", drive_gains=False, loads=()),
        prior=SimpleNamespace(nb=1, gravity=np.array([0.0, 0.0, -9.81])),
        doubted=doubted,
        imitated=False,
        expected=(ExpectedError(0.3, 0.2, 0.4), ExpectedError(links, 0.5 * links, 2 * links)),
        findings=findings,
        diagnosis=SimpleNamespace(faults=()),
        generalization=Generalization(
            fitted=fitted,
            held_out=Prediction("held-out samples", *held_out),
            parts=tuple(Prediction(f"run{k}.csv", *each) for k, each in enumerate(parts)),
        ),
    )


@pytest.mark.parametrize(
    ("result", "level", "headline", "reason"),
    [
        (stub([0.3, 0.3], [0.03, 0.03]), "good", "30 % before, 3 % after (10 times smaller)", None),
        (stub([0.3, 0.3], [0.1, 0.41]), "care", "No better", "worse than before at j2"),
        (stub([0.3, 0.3], [0.1, 0.43]), "keep", "Worse", "did not fall"),
        (stub([0.3, 0.3], [0.03, 0.29], weakest=("a", "b")), "care", "Better", "2 identifiable combinations"),
        (stub([0.3, 0.3], [0.03, 0.29], weakest=("a",)), "care", "Better", "1 identifiable combination is barely"),
        (stub([0.6, 0.1], [0.03, 0.15]), "care", "Better", "worse than before at j2"),
        (stub([0.3, 0.3], [0.03, 0.03], findings=(warning("x", "odd"),)), "care", "Better", "odd"),
        (stub([0.9, 0.9], [0.5, 0.5]), "care", "Better", "still 50 % of the torque"),
        (
            stub([9.0, 9.0], [0.51, 0.51]),
            "keep",
            "Not explained: held-out torque error 900 % before",
            "Most of the torque",
        ),
        (
            stub([0.9, 0.9], [0.1, 0.1], fitted=0.51),
            "keep",
            "Not explained",
            "torque is unexplained (51 %)",
        ),
        (
            stub([158.0, 158.0], [0.39, 0.39]),
            "keep",
            "Not explained: held-out torque error 15800 % before, 39 %",
            "frame of",
        ),
        (stub([158.0, 158.0], [0.03, 0.03]), "good", "Better", None),  # a model with made-up masses
        (stub([0.3, 0.3], [0.03, 0.03], fitted=0.3), "care", "Better", "still 30 % of the torque"),
        (stub([0.3, 0.3], [0.03, 0.03], parts=[(0.02, 0.011), (0.02, 0.02)]), "good", "Better", None),
        (stub([0.3, 0.3], [0.03, 0.03], parts=[(0.05, 0.02), (0.09, 0.01)]), "care", "Better", "run1.csv disagrees"),
        (
            stub([0.3, 0.3], [0.03, 0.03], parts=[(0.09, 0.01)]),
            "care",
            "Better",
            "9 % of its torque, 9.0 times",
        ),
        (stub([0.3, 0.3], [0.03, 0.03], parts=[(0.0049, 0.001)]), "good", "Better", None),  # no drive tells so little
        (stub([0.3, 0.3], [0.03, 0.03], held_out=(0.03, 0.014)), "care", "Better", "held-out samples err by 3 %"),
        (stub([0.3, 0.3], [0.03, 0.03], links=0.029), "good", "Better", None),
        (stub([0.3, 0.3], [0.03, 0.03], links=0.031), "care", "Better", "the links may err by 3.1 %"),
        (stub([0.3, 0.3], [0.03, 0.03], links=7.0), "care", "Better", "may err by more than all"),
        (stub([0.3, 0.3], [0.001, 0.001], links=0.019), "good", "Better", None),
        (stub([0.3, 0.3], [0.03, 0.03], doubted=("hand",)), "care", "Better", "hand is another body than in the file"),
        (
            stub([0.3, 0.3], [0.03, 0.03], doubted=tuple("abcdef")),
            "care",
            "Better",
            "a, b, c, d and 2 more are other bodies",
        ),
        (stub([0.1, 0.1], [0.1, 0.1]), "good", "No better than the given model", None),
        (stub([0.1, 0.1], [0.101, 0.101]), "good", "No better than the given model", None),
        (stub([0.00226, 0.00226], [0.00234, 0.00234]), "keep", "Worse than the given model", "did not fall"),
        (stub([0.1, 0.1], [0.2, 0.2]), "keep", "Worse than the given model", "did not fall"),
    ],
)
def test_verdicts(result, level, headline, reason):
    judged = verdict(result)
    assert judged.level == level
    assert any(each in said(result, judged) for each in headline.split("|"))
    assert (reason is None) == (not judged.reasons)
    assert reason is None or any(reason in each for each in judged.words)


def test_expected_errors_of_other_motion_are_told():
    assert "to 40 %) as given, 2.9 % (1.5 % to 5.8 %)" in _beyond(stub([0.3, 0.3], [0.03, 0.03], links=0.029))


def test_what_imitates_a_mistake_is_not_to_be_used_though_no_link_is_named():
    result = stub([0.3, 0.3], [0.03, 0.03])
    result.imitated = True
    judged = verdict(result)
    assert judged.level == "keep" and said(result, judged).startswith("Not explained")
    assert [each.code for each in judged.reasons] == ["imitated"] and "not to be used" in judged.advice


def test_mistakes_of_the_logs_have_a_sentence_and_the_option_that_corrects_them():
    found = {
        "lean.x": Nuisance(0.05, 0.001, "rad"),
        "lean.y": Nuisance(0.0002, 0.001, "rad"),
        "elbow.zero": Nuisance(0.02, 0.001, "rad"),
        "wrist.zero": Nuisance(0.02, 0.01, "rad"),
        "elbow.gain": Nuisance(0.25, 0.01, "1"),
        "wrist.gain": Nuisance(0.01, 0.001, "1"),
        "hip.spring": Nuisance(9.0, 0.5, "N m/rad"),
    }
    result = stub([0.3, 0.3], [0.03, 0.03], nuisances=found)
    result.prior.dof_names, result.prior.scalar_positions = ("hip",), {0: 0}
    t = np.linspace(0.0, 1.0, 50)
    result.held_out = sy.Log(t=t, q=np.sin(9 * t)[:, None], tau=20 * np.cos(9 * t)[:, None], joint_names=("hip",))
    reasons = list(verdict(result).words)
    assert len(reasons) == 4  # what may be chance, and a gain of 1 %, are not worth a word
    lean, zero, gain, spring = reasons
    assert "by 2.9 ± 0.1 degrees" in lean and "--gravity 0.490 0.000 -9.798" in lean
    assert "--offset elbow=0.02" in zero and "20.0 ± 1.0 mrad" in zero
    assert "25 % too large" in gain and "--scale tau:elbow=0.8" in gain
    assert "--spring hip" in spring


def test_numbers_as_people_read_them():
    assert [percent(x) for x in (0.3312, 0.0042, 0.00001234, 1.048, 1e7)] == [
        "33 %",
        "0.42 %",
        "0.0012 %",
        "105 %",
        "1000000000 %",
    ]
    assert [number(x) for x in (None, 0.0, -0.0, -1.23456, 3)] == ["–", "0", "0", "−1.235", "3"]


def test_staged_files_appear_together(tmp_path):
    out = tmp_path / "a" / "out"
    with staged(out) as stage:
        (stage / "sub").mkdir()
        (stage / "sub" / "x").write_text("1")
        assert not out.exists() and stage.parent == out.parent
    assert (out / "sub" / "x").read_text() == "1" and list(out.parent.iterdir()) == [out]
    with staged(out) as stage:
        (stage / "sub").mkdir()
        (stage / "sub" / "x").write_text("2")
        (stage / "y").write_text("3")
    assert (out / "sub" / "x").read_text() == "2" and (out / "y").read_text() == "3"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_staged_files_vanish_together(tmp_path, error):
    out = tmp_path / "a" / "b" / "out"
    with pytest.raises(error), staged(out) as stage:
        (stage / "x").write_text("1")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_staging_refuses_what_it_cannot_replace(tmp_path):
    precious = tmp_path / "x"
    precious.write_text("input")
    with pytest.raises(OptionError, match="is an input"), staged(tmp_path, inputs=[precious]) as stage:
        (stage / "a").write_text("1")
        (stage / "x").write_text("2")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OptionError, match="is a folder"), staged(tmp_path) as stage:
        (stage / "a").write_text("1")
        (stage / "folder").write_text("2")
    with pytest.raises(OptionError, match="is a file"):
        require_folder(precious / "out")
    with pytest.raises(OptionError, match="cannot be made"), staged(tmp_path / ("n" * 300)):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "x"] and precious.read_text() == "input"
