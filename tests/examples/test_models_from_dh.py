"""The example that writes URDFs from Denavit-Hartenberg rows, against kinematics and torques it did not produce."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import tried
from robots import SHARED_DATA
from steelyard.dynamics import inverse_dynamics
from steelyard.inertia import parameters, pseudo
from steelyard.model import load

SCRIPT = Path(__file__).parents[2] / "examples" / "02_models_from_dh.py"
EXAMPLE = runpy.run_path(str(SCRIPT), run_name="example")
urdf_from_dh, urdf_from_table = EXAMPLE["urdf_from_dh"], EXAMPLE["urdf_from_table"]


def _shared(name):
    path = SHARED_DATA / name
    if not path.is_file():
        pytest.skip(f"needs ../shared/data/{name}")
    return path


def _dh_frames(rows, q, convention, types):
    """World poses of the Denavit-Hartenberg frames, from the textbook matrices entry by entry."""
    T, frames = np.eye(4), []
    for (alpha, a, d, theta), x, kind in zip(rows, q, types, strict=True):
        d, theta = (d, theta + x) if kind == "R" else (d + x, theta)
        ca, sa, c, s = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        modified = [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
        standard = [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
        T = T @ (modified if convention == "modified" else standard)
        frames.append(T)
    return np.array(frames)


def _pinocchio_frames(path, q, names):
    """World poses of named frames (a continuous joint is a cosine and a sine in Pinocchio)."""
    model = pin.buildModelFromUrdf(str(path))
    q_pin = np.concatenate(
        [
            [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
            for x, joint in zip(q, [model.joints[i] for i in range(1, model.njoints)], strict=True)
        ]
    )
    data = model.createData()
    pin.framesForwardKinematics(model, data, q_pin)
    return np.array([data.oMf[model.getFrameId(name)].homogeneous for name in names])


def _compare(tmp_path, rows, q, convention, types, base=None):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf_from_dh("arm", rows, convention=convention, types=types, base_from_dh=base))
    expected = _dh_frames(rows, q, convention, types)
    if base is not None:
        expected = base @ expected
    if convention == "modified":
        names = [f"link{i + 1}" for i in range(len(rows))]
        np.testing.assert_allclose(_pinocchio_frames(path, q, names), expected, atol=1e-12)
    else:  # only the last frame of a standard table is a frame of the file
        np.testing.assert_allclose(_pinocchio_frames(path, q, ["flange"])[0], expected[-1], atol=1e-12)
    return path


row = st.tuples(
    st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi, 0.3]),
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi, -0.7]),
)


@tried(40)
@given(st.lists(row, min_size=2, max_size=6), st.sampled_from(["modified", "standard"]), st.data())
def test_kinematics_of_any_table(tmp_path_factory, rows, convention, data):
    types = data.draw(st.text("RP", min_size=len(rows), max_size=len(rows)))
    q = data.draw(st.lists(st.floats(-3, 3), min_size=len(rows), max_size=len(rows)))
    path = _compare(tmp_path_factory.mktemp("dh"), rows, q, convention, types)
    robot = load(path)
    assert robot.joint_names == tuple(f"joint{i + 1}" for i in range(len(rows)))
    assert robot.body_names == tuple(f"link{i + 1}" for i in range(len(rows)))
    assert (pseudo.smallest_eigenvalue(robot.inertias) > 0).all()


def test_conventions_are_not_interchangeable(tmp_path):
    rows = [(np.pi / 2, 0.3, 0.1, 0.0), (0.0, 0.2, 0.4, 0.0)]
    path = tmp_path / "arm.urdf"
    path.write_text(urdf_from_dh("arm", rows, convention="standard"))
    wrong = _dh_frames(rows, [0.1, 0.2], "modified", "RR")[-1]
    assert np.abs(_pinocchio_frames(path, [0.1, 0.2], ["flange"])[0] - wrong).max() > 0.1


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["tx40", "panda", "ur10", "kuka_kr300"])
def test_robots_of_the_measured_logs(tmp_path, name):
    table = json.loads(_shared("models.json").read_text())[name]
    standard = table["conv"].startswith("standard")
    base = np.diag([1.0, -1.0, -1.0, 1.0]) if "Rx(pi)" in table["conv"] else None
    rows, q = table["rows"], np.random.default_rng(5).uniform(-3, 3, len(table["rows"]))
    expected_path = _compare(tmp_path, rows, q, "standard" if standard else "modified", "R" * len(rows), base)
    # one robot of the file through the command line is the same model
    out = tmp_path / "out.urdf"
    command = [sys.executable, str(SCRIPT), str(SHARED_DATA / "models.json"), name, "-o", str(out)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"Robot('{name}', {len(rows)} bodies" in run.stdout
    first, second = load(expected_path), load(out)
    np.testing.assert_allclose(second.inertias, first.inertias)
    for a, b in zip(first.joints, second.joints, strict=True):
        np.testing.assert_allclose(np.column_stack([a.rotation, a.position]), np.column_stack([b.rotation, b.position]))


def test_a_hanging_table_stands_upright(tmp_path):
    """The KUKA's table points its first z to the floor; turned over, its arm stands above its base."""
    path = tmp_path / "kuka.urdf"
    path.write_text(urdf_from_table(_shared("models.json"), "kuka_kr300"))
    assert _pinocchio_frames(path, np.zeros(6), ["link2"])[0][2, 3] == pytest.approx(0.675)


def test_without_arguments_it_shows_a_built_in_table():
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True)
    assert "Robot('puma560', 6 bodies, 6 degrees of freedom, fixed base)" in run.stdout


def test_refusals(tmp_path):
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"a": {"conv": "Khalil", "rows": [[0, 0, 0]]}, "counts": {}}))
    with pytest.raises(SystemExit, match=r"has no robot 'b'\. Its robots: a"):
        urdf_from_table(path, "b")
    with pytest.raises(SystemExit, match="must have conv"):
        urdf_from_table(path, "a")
    with pytest.raises(SystemExit, match="expected modified or standard"):
        urdf_from_dh("x", [[0, 0, 0]], convention="craig")


def _with_standard_parameters(robot, dh, values):
    """The robot with inertial parameters stated in standard DH frames: (n, 10) `I of the origin, h, m` rows."""
    thetas = []
    for (alpha, a, d), (xx, xy, xz, yy, yz, zz, hx, hy, hz, m) in zip(dh, np.reshape(values, (-1, 10)), strict=True):
        c, s = np.cos(alpha), np.sin(alpha)
        theta = np.array([m, hx, hy, hz, xx, xy, yy, xz, yz, zz])
        # the DH frame sits after Tz(d) Tx(a) Rx(alpha), our link frame before
        R, p = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), np.array([a, 0, d])
        thetas.append(parameters.transform(theta, R, p))
    return robot.with_inertias(np.array(thetas))


@pytest.mark.parametrize(
    ("values", "torque", "gravity"), [("dynparm1", "tau_pcorke", "g_pcorke"), ("dynparm2", "tau_assrt2", "g_assrt2")]
)
def test_golden_puma_torques(tmp_path, values, torque, gravity):
    """Torques of two other programs for the PUMA 560 in standard rows (SymPyBotics' tests, Corke's toolbox)."""
    golden = json.loads(_shared("puma560_sympybotics_golden.json").read_text())
    path = tmp_path / "puma.urdf"
    path.write_text(urdf_from_dh("puma", golden["dh"], convention="standard"))
    robot = _with_standard_parameters(load(path), golden["dh"], golden[values])
    q, v, a = (np.array(golden[key]) for key in ("q", "dq", "ddq"))
    np.testing.assert_allclose(inverse_dynamics(robot, q, v, a), np.ravel(golden[torque]), rtol=1e-9, atol=1e-9)
    still = np.zeros(6)
    np.testing.assert_allclose(
        inverse_dynamics(robot, q, still, still), np.ravel(golden[gravity]), rtol=1e-9, atol=1e-9
    )


def test_golden_puma_mass_matrix(tmp_path):
    golden = json.loads(_shared("puma560_sympybotics_golden.json").read_text())
    path = tmp_path / "puma.urdf"
    path.write_text(urdf_from_dh("puma", golden["dh"], convention="standard"))
    robot = _with_standard_parameters(load(path, gravity=np.zeros(3)), golden["dh"], golden["dynparm1"])
    q = np.broadcast_to(golden["q"], (6, 6))
    columns = inverse_dynamics(robot, q, np.zeros((6, 6)), np.eye(6))
    np.testing.assert_allclose(columns.T, golden["M_pcorke"], rtol=1e-9, atol=1e-12)
