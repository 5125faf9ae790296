"""What data shows of what can be known: ranks, levels and weak directions, against plain linear algebra."""

import json
from dataclasses import replace

import numpy as np
import pytest

from robots import random_state
from steelyard.dynamics import regressor
from steelyard.errors import LogError, OptionError
from steelyard.identifiable import excitation, identifiability
from steelyard.identifiable.analysis_report import analyze_report
from steelyard.information import accumulate
from steelyard.log import Log
from steelyard.model import library

ROBOT = library.puma560()


def motion(*, seed=0, samples=400, moving=None):
    q, v, a = random_state(ROBOT, np.random.default_rng(seed), (samples,))
    mask = np.ones(ROBOT.nv) if moving is None else np.isin(np.arange(ROBOT.nv), moving)
    t = np.arange(samples) * 0.01
    return Log(
        t=t, q=q * mask, v=v * mask, a=a * mask, tau=np.zeros((samples, ROBOT.nv)), joint_names=ROBOT.joint_names
    )


def test_rich_motion_shows_all_that_the_structure_allows():
    found = excitation(motion(), ROBOT, friction=(), armature=False)
    assert found.structural_rank == identifiability(ROBOT).count == found.rank == 36
    assert found.agrees and not found.weakest and found.condition < 1e3


def test_numbers_are_those_of_the_plain_regressor():
    log = motion()
    found = excitation(log, ROBOT, friction=())
    Y = regressor(ROBOT, log.q, log.v, log.a).reshape(-1, 60)[:, identifiability(ROBOT).columns]
    size = np.linalg.norm(Y, axis=0)
    np.testing.assert_allclose(found.rms, size / np.sqrt(len(log.t)), rtol=1e-9)
    singular = np.linalg.svd(Y / size, compute_uv=False)
    np.testing.assert_allclose(found.singular, singular / singular[0], rtol=1e-6)
    unit = Y / size
    left = [1 - np.linalg.norm(unit[:, k] - _without(unit, k)) for k in range(36)]  # share others do not imitate
    np.testing.assert_allclose(found.level, 1 - np.array(left), rtol=1e-6)


def _without(unit, k):
    others = np.delete(unit, k, axis=1)
    return others @ np.linalg.lstsq(others, unit[:, k], rcond=None)[0]


def test_joints_that_do_not_move_hide_combinations():
    found = excitation(motion(moving=(0,)), ROBOT, friction=())
    assert found.rank < found.structural_rank and not found.agrees
    hidden = found.structural_rank - found.rank
    assert len(found.weakest) >= hidden and all("not excited" in line for line in found.weakest[:hidden])
    Y = regressor(ROBOT, *(getattr(motion(moving=(0,)), name) for name in "qva")).reshape(-1, 60)
    assert found.rank == np.linalg.matrix_rank(Y)


def test_information_and_log_agree():
    log = motion()
    info = accumulate(ROBOT, log, friction=("viscous",), armature=True)
    one, other = excitation(info), excitation([log], ROBOT, friction=("viscous",), armature=True)
    np.testing.assert_allclose(one.singular, other.singular, rtol=1e-6)
    assert one.names == other.names
    assert "can be known" in one.summary()


def test_weak_direction_in_words():
    """Two columns that differ by a part in ten thousand: their difference is named."""
    from steelyard.information import Information

    rng = np.random.default_rng(0)
    Y = rng.normal(size=(300, 3))
    Y[:, 1] = Y[:, 0] + 1e-5 * rng.normal(size=300)
    found = excitation(Information.from_arrays(Y, np.zeros(300)))
    (sentence,) = found.weakest
    assert (
        sentence.startswith("weakly excited") and "+1 p0" in sentence and "-1 p1" in sentence and "p2" not in sentence
    )
    assert found.level[2] > 0.9 and found.level[0] < 1e-4


def test_errors():
    with pytest.raises(OptionError, match="robot"):
        excitation(motion())
    log = motion()
    with pytest.raises(LogError, match="differentiate"):
        excitation(Log(t=log.t, q=log.q, tau=log.tau), ROBOT)


@pytest.mark.parametrize("format", ["text", "markdown", "html", "latex"])
def test_report(format):
    text = analyze_report(ROBOT, format=format, explain="link2", log=motion(), motors=True)
    for word in ("40", "Base parameters", "link2", "Excitation", "Condition number"):
        assert word in text
    if format == "html":
        from lxml import html

        assert html.fromstring(f"<div>{text}</div>").findall(".//table")
    with pytest.raises(OptionError, match="latex"):
        analyze_report(ROBOT, format="pdf")


def test_report_for_programs():
    found = json.loads(analyze_report(ROBOT, format="json", explain="all", log=motion(), motors=True))
    result = identifiability(ROBOT, motors=True)
    assert (found["count"], found["size"], found["robot"]) == (result.count, result.size, ROBOT.name)
    assert [each["name"] for each in found["parameters"]] == list(result.names)
    assert [each["status"] for each in found["parameters"]] == [each.name for each in result.status]
    assert [each["expression"] for each in found["base_parameters"]] == list(result.expressions())
    theta = np.random.default_rng(0).normal(size=result.size)
    place = {name: i for i, name in enumerate(result.names)}
    summed = [sum(x * theta[place[name]] for x, name in each["regroups"]) for each in found["base_parameters"]]
    np.testing.assert_allclose(summed, result.regroup(theta), rtol=1e-7, atol=1e-7)
    assert found["dimensions"][0]["transfers"] == result.dimensions[0].transfers
    assert found["explained"]["link2"] == result.explain("link2")
    assert found["excitation"]["condition"] == pytest.approx(excitation(motion(), ROBOT, friction=()).condition)


def test_names_below_the_table_fit_the_terminal():
    robot = replace(ROBOT, body_names=tuple(f"{name}_of_the_first_arm" for name in ROBOT.body_names))
    lines = analyze_report(robot, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.count("_of_the_first_arm") for line in lines[: lines.index("Base parameters")]) >= robot.nb
    assert not any(
        line.endswith(f" {k}") for line in lines[16:20] for k in range(1, 7)
    )  # number and name stay together


def test_long_lines_of_the_report_go_on_indented():
    whole, narrow = (analyze_report(ROBOT, explain="link2", width=width) for width in (None, 80))
    lines = narrow.partition("Base parameters")[2].splitlines()
    assert max(map(len, whole.splitlines())) > 120 > 80 >= max(map(len, lines))
    assert "".join(whole.split()) == "".join(narrow.split())
    sums = [line for line in lines[: lines.index("link2")] if line.startswith("    ")]
    assert sums and all(line[4] in "+-" for line in sums)  # broken before the sign of a term


def test_report_escapes_names():
    robot = replace(ROBOT, name="a<b>|_c", body_names=("<x>", *ROBOT.body_names[1:]))
    assert "<x>" not in analyze_report(robot, format="html")
    assert r"a\<b\>\|\_c" in analyze_report(robot, format="markdown")
    assert r"a<b>|\_c" in analyze_report(robot, format="latex")


def test_a_report_opens_with_what_there_is_what_shows_and_what_would_show_more():
    """The gain that is promised is the one that the changed experiment has; other promises fail here."""
    robot = library.puma560()
    first, second, third = analyze_report(robot, expressions=False).splitlines()[:3]
    assert "60 parameters" in first and "6 moving links" in first
    assert "36 independent values: 19 parameters are identifiable, 32 more only in combination" in second
    assert third.startswith("9 have no effect") and "(of link1)" in third
    more = identifiability(robot, base="floating").count - identifiability(robot).count
    assert f"letting the base move freely with its wrench measured would show most: {more} more values" in third
    assert identifiability(robot, sensors=("joints", "base")).count - 36 <= more
    third = analyze_report(robot, motion="static").splitlines()[2]
    assert "moving instead of standing still would show most: 26 more values" in third
    assert "would show more." in analyze_report(robot, base="floating").splitlines()[2]
    document = json.loads(analyze_report(robot, format="json"))
    assert document["opening"][:2] == [first, second]


def test_the_command_keeps_expressions_for_who_asks_and_locks_joints(tmp_path):
    from typer.testing import CliRunner

    from robots import urdf
    from steelyard.app import app

    def told(*words):
        done = CliRunner().invoke(app, ["analyze", str(urdf("panda")), *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    short, whole = (told("--lock", "panda_finger_joint1=0.02", *more) for more in ([], ["--expressions"]))
    assert "Base parameters" not in short and whole.startswith(short.rstrip())
    assert "7 moving links" in short and "9 moving links" in told()
