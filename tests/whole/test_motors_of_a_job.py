"""Couplings and rotors of a whole run: command line, Python, summary, page, and the command that repeats it."""

import json
import shlex

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from problems import scattered
from small_runs import motion
from steelyard.app import app
from steelyard.model.side import read_side
from steelyard.report.schema import schema

SIDE = "".join(
    f'[[rotor]]\njoint = "{joint}"\ngear_ratio = {ratio}\nmass = 0.5\ninertia = 2e-4\n'
    for joint, ratio in (("hip", 60.0), ("knee", 80.0), ("ankle", 50.0))
)
LINK = """<link name="l{i}"><inertial><origin xyz="0.15 0.02 0.01"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
<joint name="{joint}" type="revolute"><parent link="{parent}"/><child link="l{i}"/><origin xyz="0.3 0 0"/>
<axis xyz="{axis}"/><limit lower="-9" upper="9" effort="100" velocity="99"/></joint>"""


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A model with side file, and the log of a robot with other masses and rotors and a motor on knee + ankle."""
    folder = tmp_path_factory.mktemp("motors")
    joints = ("hip", "knee", "ankle")
    links = "".join(
        LINK.format(i=i, joint=joint, parent=f"l{i - 1}" if i else "base", axis=axis)
        for i, (joint, axis) in enumerate(zip(joints, ("0 1 0", "0 0 1", "1 0 0"), strict=True))
    )
    (folder / "leg.urdf").write_text(f'<robot name="leg"><link name="base"/>{links}</robot>')
    (folder / "leg.steelyard.toml").write_text(SIDE)
    model = read_side(folder / "leg.steelyard.toml", sy.load(folder / "leg.urdf"))
    rng = np.random.default_rng(0)
    truth = model.with_inertias(scattered(model.inertias, rng, 0.2))
    truth = truth.with_rotor_inertias([1.5 * rotor.theta for rotor in truth.rotors])

    t, q, v, a = motion(moving=(1.0, 1.0, 6.0))
    tau = sy.inverse_dynamics(truth, q, v, a, rotors=True) + 0.5 * v
    tau[:, 1:] += (0.4 * (a[:, 1] + a[:, 2]) + 0.3 * (v[:, 1] + v[:, 2]))[:, None]
    tau += 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    np.savez(folder / "run.npz", t=t, q=q, v=v, a=a, tau=tau, joint_names=joints)
    return folder, truth


def run_cli(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def test_identify_with_both(case):
    folder, truth = case
    out = folder / "out"
    options = ("--cutoff", 0, "--no-armature", "--coupling", "knee+ankle", "--rotors")
    run_cli("identify", folder / "leg.urdf", folder / "run.npz", "-o", out, *options)
    found = json.loads((out / "summary.json").read_text())
    assert found["job"]["coupling"] == ["knee+ankle"] and found["job"]["rotors"] is True
    assert found["held_out"]["relative_error_after"] < 0.02
    values = {each["name"]: each for each in found["couplings"]}
    assert values["knee+ankle.armature"]["identified"] == pytest.approx(0.4, rel=0.1)
    assert values["knee+ankle.viscous"]["identified"] == pytest.approx(0.3, rel=0.1)
    assert values["knee+ankle.armature"]["ratios"] == {"knee": 1.0, "ankle": 1.0}
    assert [rotor["name"] for rotor in found["rotors"]] == ["rotor(hip)", "rotor(knee)", "rotor(ankle)"]
    ankle = found["rotors"][2]
    assert (ankle["carrier"], ankle["gear_ratio"], ankle["prior"]["spin_inertia"]) == ("l1", 50.0, pytest.approx(2e-4))
    assert ankle["identified"]["spin_inertia"] == pytest.approx(truth.rotors[2].theta[9], rel=0.1)
    identified = read_side(out / "leg_identified.steelyard.toml", sy.load(out / "leg_identified.urdf"))
    assert identified.rotors[2].theta[9] == pytest.approx(ankle["identified"]["theta"][9], rel=1e-12)
    assert "leg_identified.steelyard.toml" in found["files"]
    assert "side file" in [each["role"] for each in found["provenance"]["inputs"]]
    page = (out / "report.html").read_text()
    assert "knee+ankle.viscous" in page and "<b>Rotors.</b>" in page
    jsonschema.validate(found, schema("identification"))
    words = shlex.split(found["command"])
    assert words[words.index("--coupling") + 1] == "knee+ankle" and "--rotors" in words
    again = json.loads(run_cli(*words[1 : words.index("--out")], *words[words.index("--out") + 2 :], "--json").output)
    assert again["couplings"] == found["couplings"] and again["rotors"] == found["rotors"]
    python = sy.identify(
        folder / "leg.urdf", folder / "run.npz", cutoff=0, armature=False, coupling=(("knee", "ankle"),), rotors=True
    )
    assert python.job.coupling == ("knee+ankle",)
    assert python.estimate.rotors[2, 9] == ankle["identified"]["theta"][9]


def test_without_them_the_same_log_is_predicted_worse(case):
    folder, _ = case
    options = ("--cutoff", 0, "--no-armature", "--json")
    found = [
        json.loads(run_cli("identify", folder / "leg.urdf", folder / "run.npz", *options, *more, code=code).output)
        for code, more in ((1, ()), (0, ("--rotors", "--coupling", "knee+ankle")))
    ]
    plain, whole = (each["held_out"]["relative_error_after"] for each in found)
    assert plain > 3 * whole
    assert found[0]["rotors"] == []
    (made,) = [each for each in found[0]["decided"] if each["code"] == "coupling"]
    assert "knee+ankle" in made["what"] and "Tried:" in made["reason"]
    assert "coupled_joints" not in [each["code"] for each in found[0]["findings"]]


def test_mistakes_name_what_there_is(case, tmp_path):
    folder, _ = case
    model, log = folder / "leg.urdf", folder / "run.npz"
    refused = run_cli("identify", model, log, "--coupling", "knee+elbow", code=2)
    assert "hip, knee, ankle" in refused.stderr and "knee+elbow" in refused.stderr
    refused = run_cli("identify", model, log, "--rotors", "--side", tmp_path / "none.steelyard.toml", code=2)
    assert "none.steelyard.toml is missing" in refused.stderr
    (tmp_path / "empty.steelyard.toml").write_text("version = 1\n")
    refused = run_cli("identify", model, log, "--rotors", "--side", tmp_path / "empty.steelyard.toml", code=2)
    assert "has none" in refused.stderr


def test_analyze_says_what_a_shared_motor_shows(case):
    folder, _ = case
    shown = run_cli("analyze", folder / "leg.urdf", "--motors", "--coupling", "knee+ankle", "--coupling", "hip-knee")
    assert "knee+ankle.armature: identifiable beside everything else" in shown.output
    assert "hip-knee.viscous: identifiable beside everything else" in shown.output
    twice = run_cli("analyze", folder / "leg.urdf", "--coupling", "knee+ankle", "--coupling", "knee+ankle")
    assert "knee+ankle.armature: not to be told from knee+ankle.armature" in twice.output
    refused = run_cli("analyze", folder / "leg.urdf", "--static", "--coupling", "knee+ankle", code=2)
    assert "static poses" in refused.stderr
