"""Points, rods, discs and plates, the limits of what bodies can be: in every file that can hold them, to rounding."""

import mujoco
import numpy as np
import pinocchio
import pytest
from scipy.spatial.transform import Rotation

import steelyard as sy
from steelyard.errors import ModelError
from steelyard.inertia import from_com_inertia

SHAPES = {
    "disc": (0.01, 0.01, 0.02),
    "plate": (0.01, 0.02, 0.03),
    "ring of a watch": (3e-9, 3e-9, 6e-9),
    "rod": (0.01, 0.01, 0.0),
    "point": (0.0, 0.0, 0.0),
}
URDF = """<robot name="one"><link name="base"/><link name="b"/>
<joint name="j" type="continuous"><parent link="base"/><child link="b"/><axis xyz="0 1 0"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="b"><joint name="j" axis="0 1 0"/>
<inertial pos="0 0 0.1" mass="1" {}="0.1 0.1 0.1{}"/></body></worldbody></mujoco>"""
SOURCES = {
    "urdf": URDF,
    "diagonal.xml": MJCF.format("diaginertia", ""),
    "full.xml": MJCF.format("fullinertia", " 0 0 0"),
}


def theta_of(shape, turn, com):
    R = Rotation.from_rotvec(turn * np.array([1.0, 0.5, 0.2])).as_matrix()
    return from_com_inertia(np.asarray(1.3), np.array(com), R @ np.diag(SHAPES[shape]) @ R.T)[None]


def source(folder, name):
    path = folder / f"source.{name}"
    path.write_text(SOURCES[name])
    return sy.load(path)


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("com", [(0, 0, 0), (0.1, 0, 0), (0.1, -0.2, 0.3)], ids=str)
@pytest.mark.parametrize("turn", [0.0, 0.7])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_limit_is_written(tmp_path, shape, turn, com):
    theta = theta_of(shape, turn, com)
    for name in SOURCES:
        robot = source(tmp_path, name).with_inertias(theta)
        for target in ("out.urdf", "out.xml"):
            path = tmp_path / target
            if path.suffix == ".xml" and shape == "point":
                with pytest.raises(ModelError, match=r"is a point|mjMINVAL|positive eigenvalues"):
                    sy.save(robot, path)
                assert not path.exists()
                continue
            sy.save(robot, path)
            np.testing.assert_allclose(sy.load(path).inertias, theta, atol=1e-14)
            if path.suffix == ".xml":
                assert mujoco.MjModel.from_xml_path(str(path)).body("b").mass == pytest.approx(1.3)
            else:
                assert pinocchio.buildModelFromUrdf(str(path)).inertias[1].mass == pytest.approx(1.3)
            path.unlink()


@pytest.mark.parametrize("seed", range(12))
def test_thin_bodies_far_from_their_joint(tmp_path, seed):
    """A shift of moments from far away leaves rounding, which is no thickness below nothing."""
    rng = np.random.default_rng(seed)
    size, R = 10 ** rng.uniform(-4, 0), Rotation.random(random_state=seed).as_matrix()
    moments = np.array([[0.25, 0.25, 0.5], [0.1, 0.1, 0.0], [0.1, 0.03, 0.13]][seed % 3]) * size**2
    theta = from_com_inertia(np.asarray(1.3), np.array([0.7, -0.4, 1.1]), R @ np.diag(moments) @ R.T)[None]
    robot = source(tmp_path, "urdf").with_inertias(theta)
    for target in ("out.xml", "out.urdf"):
        robot = sy.load(sy.save(robot, tmp_path / target).path)
        np.testing.assert_allclose(robot.inertias, theta, rtol=1e-9)


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_a_plate_that_carries_fixed_parts(tmp_path, suffix):
    """One in its plane keeps its inertial; one with a thickness of its own has to give way."""
    parts = {
        ".urdf": '<link name="p"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="2e-4" izz="{}"/>'
        "</inertial></link>"
        '<joint name="f" type="fixed"><parent link="b"/><child link="p"/></joint></robot>',
        ".xml": '<body name="p"><inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 2e-4 {}"/></body>'
        "</body></worldbody>",
    }
    heavy = '<link name="b"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>'
    text, end = (
        (URDF.replace('<link name="b"/>', heavy), "</robot>")
        if suffix == ".urdf"
        else (SOURCES["diagonal.xml"], "</body></worldbody>")
    )
    theta = theta_of("plate", 0.0, (0, 0, 0))
    for izz, keeps in ((3e-4, True), (2.9e-4, False)):
        path = tmp_path / f"in{suffix}"
        path.write_text(text.replace(end, parts[suffix].format(izz)))
        report = sy.save(sy.load(path).with_inertias(theta), tmp_path / f"out{suffix}")
        np.testing.assert_allclose(sy.load(report.path).inertias, theta, atol=1e-14)
        assert bool(report.notes) != keeps


def test_a_moving_body_without_mass(tmp_path):
    """URDF has such links, MuJoCo does not: files say what to do, simulations take a milligram."""
    robot = source(tmp_path, "urdf")
    sy.save(robot, tmp_path / "out.urdf")
    with pytest.raises(ModelError, match=r"has no mass.*--lock"):
        sy.save(robot, tmp_path / "out.xml")
    m = mujoco.MjModel.from_xml_string(sy.model.mjcf_text(robot))
    assert m.body("b").mass == pytest.approx(1e-6)
