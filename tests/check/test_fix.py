"""`--fix` repairs errors; what may be right is repaired when it is asked for by name, and not before."""

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

from check.corpus.cases import MJCF, URDF
from steelyard import check
from steelyard.app import app

LINK = URDF[URDF.index('    <inertial>\n      <origin xyz="0 0 0.2"') : URDF.index("    <collision>")]
INERTIAL = '<inertial><origin xyz="{}"/><mass value="2"/><inertia {}/></inertial>\n'
TENSOR = 'ixx="{}" ixy="{}" ixz="0" iyy="{}" iyz="0" izz="{}"'
# right models, drawn in part: finding -> inertial of the arm, a box of 0.1 x 0.1 x 0.4 m around (0, 0, 0.2)
RIGHT = {
    # a counterweight behind the joint that is not drawn
    "SY301": INERTIAL.format("0 0 -0.15", TENSOR.format(0.0283, 0, 0.0283, 0.0033)),
    # outriggers that are not drawn
    "SY302": INERTIAL.format("0 0 0.2", TENSOR.format(0.2, 0, 0.2, 0.1)),
    # a steel ball in a cover of foil
    "SY303": INERTIAL.format("0 0 0.2", TENSOR.format(1e-5, 0, 1e-5, 1e-5)),
    # a bar of steel across the drawn cover
    "SY304": INERTIAL.format("0 0 0.2", TENSOR.format(0.0033, 0, 0.0283, 0.0283)),
}


def bias(path):
    """Torques that hold the robot in a few poses, by MuJoCo."""
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    found = []
    for q in ((0.0, 0.0), (0.7, -0.4), (-0.9, 0.8)):
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        found.append(d.qfrc_bias.copy())
    return np.array(found)


@pytest.fixture
def model(tmp_path):
    def write(text, name="arm.urdf"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("code", RIGHT)
def test_a_right_model_drawn_in_part_stays_as_it_is(model, tmp_path, code):
    path, out = model(URDF.replace(LINK, RIGHT[code])), tmp_path / "fixed.urdf"
    assert code in check.run(path).codes
    done = check.repair(path, out)
    assert done.changes == ()
    assert code in done.left
    assert out.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("fix", ["all", ("SY301",), "SY3"])
def test_warnings_are_mended_when_they_are_named(model, tmp_path, fix):
    path, out = model(URDF.replace(LINK, RIGHT["SY301"])), tmp_path / "fixed.urdf"
    (change,) = check.repair(path, out, fix=fix).changes
    assert change.codes == ("SY301",)
    change = np.linalg.norm(bias(out) - bias(path)) / np.linalg.norm(bias(path))
    assert change > 1  # why this is not done by default


def test_errors_are_mended_beside_warnings_that_stay(model, tmp_path):
    text = URDF.replace(LINK, RIGHT["SY301"]).replace('izz="0.0004"', 'izz="0.004"')
    path, out = model(text), tmp_path / "fixed.urdf"
    done = check.repair(path, out)
    assert done.names == ("hand",)
    assert done.left == ("SY301",)
    assert RIGHT["SY301"] in out.read_text()


def test_a_code_mends_itself_alone(model, tmp_path):
    path, out = model(URDF.replace(LINK, RIGHT["SY301"]).replace('izz="0.0004"', 'izz="0.004"')), tmp_path / "b.urdf"
    done = check.repair(path, out, fix="SY301")
    assert done.names == ("arm",)
    assert done.left == ("SY203",)


def test_mjcf_counterweights_stay_too(model, tmp_path):
    path, out = model(MJCF.replace('pos="0 0 0.2" mass', 'pos="0 0 -0.15" mass'), "arm.xml"), tmp_path / "fixed.xml"
    assert "SY301" in check.run(path).codes
    assert check.repair(path, out).changes == ()
    np.testing.assert_array_equal(bias(out), bias(path))


def run(*words):
    return CliRunner().invoke(app, ["check", *map(str, words)])


def test_words_on_the_command_line(model, tmp_path):
    path, out = model(URDF.replace(LINK, RIGHT["SY301"])), tmp_path / "fixed.urdf"
    done = run(path, "--fix", out)
    assert done.exit_code == 1
    assert "not repaired, because the model may be right: SY301 (--fix=all, or --fix=SY301)" in done.stdout
    assert out.read_bytes() == path.read_bytes()
    assert run(path, "--fix=errors", "--out", out).exit_code == 1
    assert out.read_bytes() == path.read_bytes()
    for what in ("all", "SY301", "SY2,SY301"):
        assert run(path, f"--fix={what}", "-o", out).exit_code == 0
        assert out.read_bytes() != path.read_bytes()


@pytest.mark.parametrize(
    "words, said",
    [
        (("--fix=all",), "--out"),
        (("--fix=SY301",), "--out"),
        (("--fix=some", "--out", "b.urdf"), "errors, all, or rule codes"),
        (("--fix=SY999", "--out", "b.urdf"), "errors, all, or rule codes"),
    ],
)
def test_a_repair_that_is_half_said_is_refused(model, words, said):
    done = run(model(URDF), *words)
    assert done.exit_code == 2
    assert said in done.stderr
