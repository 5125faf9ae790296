"""A fleet whose logs Pinocchio wrote: injected changes at the right robots and weeks, and what is written of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from lxml import html
from typer.testing import CliRunner

import steelyard as sy
from small_fleets import WEEK, Truth, individuals, write_fleet, write_run
from small_runs import motion, write_model
from steelyard.app import app
from steelyard.errors import OptionError
from steelyard.fleet.evidence import causes_of
from steelyard.fleet.fleet_models import with_population

pytestmark = pytest.mark.claim(
    "scale.changes",
    "wear and payload changes are found at their robots and weeks, at a stated rate of false alarms",
    pages=("docs/fleet.md",),
    limits="where friction varies by 3 % between runs, wear of the weaker joints goes unnoticed in most fleets",
)

ROBOTS, WEEKS = 7, 5


def injected(truths):
    """A load from week 2 at arm01, a worn elbow from week 3 at arm04, a forearm of another make on arm05."""
    truths["arm01"][2:] = [replace(each, load=0.3) for each in truths["arm01"][2:]]
    worn = lambda each: replace(each, coulomb=(each.coulomb[0], 1.5 * each.coulomb[1], each.coulomb[2]))  # noqa: E731
    truths["arm04"][3:] = [worn(each) for each in truths["arm04"][3:]]
    truths["arm05"] = [replace(each, forearm=3.0) for each in truths["arm05"]]
    return truths


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    truths = injected(individuals(ROBOTS, WEEKS))
    model, table = write_fleet(folder, truths, samples=800)
    study = sy.fleet.study(sy.fleet.accumulate(model, table))
    return folder, truths, study, sy.fleet.fits(study)


def test_changes_are_found_at_their_robots_weeks_and_places(case):
    _, _, study, _ = case
    found = {m.name: [(a.first, a.best.cause.kind, a.best.cause.place) for a in m.alarms] for m in study.members}
    assert found.pop("arm01") == [(2, "load", "rod")]
    assert found.pop("arm04") == [(3, "friction", "elbow")]
    assert not any(found.values())
    load = next(m for m in study.members if m.name == "arm01").alarms[0].best
    assert load.amount[0] == pytest.approx(0.3, abs=max(5 * load.deviation[0], 0.01))


def test_robots_unlike_the_others_are_named(case):
    _, _, study, _ = case
    found = {study.members[each.robot].name: each.best.cause.place for each in study.population.outliers}
    assert found["arm05"] == "forearm" and found["arm01"] == "rod" and set(found) <= {"arm01", "arm04", "arm05"}


def test_models_are_physical_and_predict_better_the_more_they_know(case):
    _, _, _, fits = case
    for name, fit in fits.members.items():
        assert fit.estimate.physical
        assert fit.errors["own"] < 0.02 and fit.errors["own"] < fit.errors["fleet"] < fit.errors["given"], name
    assert fits.common.physical


def test_the_population_is_a_prior_for_a_robot_that_hardly_moved(case, tmp_path):
    """Half a second of slow motion tells next to nothing; the others of its make tell the rest."""
    folder, truths, study, _ = case
    robot = study.accumulation.robot
    like = study.members[0]
    short = write_run(tmp_path / "short.csv", truths[like.name][0], seed=900, samples=80)
    info = sy.fleet.accumulate(folder / "arm.urdf", [short]).fitted
    plain = sy.fit.consistent(info)
    pooled = sy.fit.consistent(with_population(info, study.population), prior=study.accumulation.robot)
    held = like.runs[0].held.base
    error = lambda estimate: np.sqrt(held.residual_energy(estimate.base).sum() / held.energy.sum())  # noqa: E731
    assert error(pooled) < 0.5 * error(plain) and pooled.physical
    assert robot.nb == 3


def test_a_robot_that_does_not_move_a_joint_needs_a_motion(case, tmp_path):
    folder, _, _, _ = case
    others = sorted(folder.glob("arm0[0236]/*.parquet"))
    t, q, v, a = motion(samples=800, seed=77, moving=(1.0, 0.0, 0.0))
    from small_fleets import torques, write_table

    tau = torques(write_model(tmp_path / "t.urdf"), Truth(), q, v, a, np.random.default_rng(0))
    still = write_table(tmp_path / "still.parquet", t, q, tau)
    runs = [sy.fleet.Run(path.parent.name, str(path), float(path.stem), path.stem) for path in others]
    runs.append(sy.fleet.Run("still", str(still), 0.0, "0"))
    runs.append(sy.fleet.Run("silent", str(tmp_path / "absent.parquet"), 0.0, "0"))
    found = sy.fleet.study(sy.fleet.accumulate(folder / "arm.urdf", runs))
    needy = {member.name: member.unknown for member in found.members if member.needs_motion}
    assert set(needy) == {"still"} and found.silent == ("silent",)
    weakest = next(member for member in found.members if member.name == "still").weakest
    assert not any(name.startswith("shoulder") for name in weakest)


def test_summary_page_and_models(case, tmp_path):
    _, _, study, fits = case
    found = sy.fleet.write(study, fits, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "fleet.json").read_text()) | {"out": 0} == found | {"out": 0}
    assert all((tmp_path / "out" / name).exists() for name in found["files"])
    assert found["samples"]["read"] == 800 * ROBOTS * WEEKS and found["format"] == "steelyard fleet 1.0"
    model = sy.load(tmp_path / "out" / "models" / "arm01.urdf")
    np.testing.assert_allclose(model.inertias, fits.members["arm01"].estimate.theta, atol=1e-6)
    info = sy.load_information(tmp_path / "out" / "information.npz", study.accumulation.robot)
    np.testing.assert_array_equal(info.gram, study.accumulation.fitted.gram)
    (change,) = next(robot for robot in found["robots"] if robot["name"] == "arm01")["changes"]
    assert change["first"]["when"] == str(2 * WEEK) and change["words"].startswith("rod heavier by 0.")
    assert change["course"]["parameter"].startswith("rod.") and len(change["course"]["values"]) == WEEKS
    tree = html.parse(tmp_path / "out" / "fleet.html")
    text = " ".join(tree.getroot().text_content().split())
    for words in ("2 of 7 robots changed", change["words"], "friction of elbow", "5 %", "fleet.json"):
        assert words in text
    drawn = [json.loads(each.text) for each in tree.xpath("//script[starts-with(@id, 'data-course')]")]
    assert [trace["name"] for trace in drawn[0]["data"]] == ["before", "after"] and len(drawn) == 2
    before, after = drawn[0]["data"]
    assert len(after["x"]) == 3 and before["y"] + after["y"] == change["course"]["values"]
    assert after["error_y"]["array"] == pytest.approx([2 * each for each in change["course"]["deviations"][-3:]])


def test_command_line(case, tmp_path):
    folder, _, _, _ = case
    (tmp_path / "bad.parquet").write_bytes(b"not a table")
    rows = (folder / "robots.csv").read_text().replace(",arm", f",{folder}/arm")
    (tmp_path / "robots.csv").write_text(rows + "arm00,1e9,bad.parquet\n")
    words = [
        "fleet",
        str(folder / "arm.urdf"),
        str(tmp_path),
        "-o",
        str(tmp_path / "out"),
        "--keep",
        str(tmp_path / "k"),
    ]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 1 and "bad.parquet" in done.output and "rod heavier" in done.output, done.output
    many = ["identify", str(folder / "arm.urdf"), "--logs", str(folder / "arm02" / "*.parquet")]
    done = CliRunner().invoke(app, [*many, "--json", "-o", str(tmp_path / "one"), "--keep", str(tmp_path / "k")])
    found = json.loads(done.stdout)
    assert (found["work"]["computed"], found["work"]["reused"]) == (0, WEEKS)
    assert (tmp_path / "one" / "arm_identified.urdf").exists() and found["held_out"]["own"] < 0.02
    (alone,) = found["robots"]
    assert all(deviation > 0 for deviation in alone["deviation"]) and not alone["outlier"]
    for refused in ([*many, "run.csv"], many[:2], [*many[:2], "run.csv", "--workers", "2"]):
        assert CliRunner().invoke(app, refused).exit_code == 2


def test_causes_span_what_they_change(case):
    _, _, study, _ = case
    info = study.accumulation.fitted
    causes = {cause.name: cause for cause in causes_of(info.layout, info.basis)}
    assert {"load of rod", "friction of elbow", "gearbox of elbow", "something else"} <= set(causes)
    rng = np.random.default_rng(0)
    theta = np.zeros(info.layout.size)
    change = rng.normal(size=10)
    theta[info.layout.body(2)] = change
    np.testing.assert_allclose(info.basis.regroup(theta), causes["load of rod"].directions @ change, atol=1e-12)


def test_probabilities_that_are_none_are_refused(case):
    with pytest.raises(OptionError, match="false_alarm"):
        sy.fleet.study(case[2].accumulation, false_alarm=0.0)
