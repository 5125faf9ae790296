"""What counts as parallel, vertical or crossing: relative to the robot's size, the same at every scale."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.identifiable import identifiability
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model import Joint, Robot, library, revolute_subspace

pytestmark = pytest.mark.claim(
    "identifiability.tolerance", "nearly degenerate geometry keeps its count on both sides of the tolerance"
)


def arm(*, bend=0.0, scale=1.0, offset=0.0):
    """Three parallel vertical axes. bend: lean of the second [rad]; offset: of the second from the first."""
    lean = Rotation.from_rotvec([bend, 0, 0]).as_matrix()
    turn = Rotation.from_rotvec([0, 0, 0.3]).as_matrix()
    z = revolute_subspace([0, 0, 1.0])
    joints = (
        Joint("1", "revolute", z, turn, np.array([0, 0, 0.3 * scale])),
        Joint("2", "revolute", z, turn @ lean, np.array([offset, 0, 0.1]) * scale),
        Joint("3", "revolute", z, turn, np.array([0.4, 0, 0]) * scale),
    )
    none = np.zeros(3)
    names = ("a", "b", "c")
    return Robot(
        "arm", joints, np.arange(3) - 1, names, np.arange(3), np.zeros((3, 10)), np.array([0, 0, -9.81]), *[none] * 3
    )


SCALES = (1e-3, 1e-2, 1.0, 1e3)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("bend", [0.0, 1e-9, 1e-7, 4e-6, 1.3e-5])
def test_axes_that_are_parallel_but_for_the_file(bend, scale):
    """Model files round pi: their axes count as parallel, at millimetres and at kilometres."""
    idn = identifiability(arm(bend=bend, scale=scale, offset=0.5))
    assert idn.count == identifiability(arm(offset=0.5)).count
    assert idn.decisions.dropped < 1e-13 < 0.01 < idn.decisions.kept
    assert idn.mechanism.rounded == pytest.approx(bend, abs=1e-13) and bend < 0.3 * THRESHOLDS.axis_rounding


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("bend", [1e-3, 8e-4, 0.02])
def test_axes_that_really_lean(bend, scale):
    """A twentieth of a degree is a design: everything it reveals is counted."""
    leaning = identifiability(arm(bend=bend, scale=scale, offset=0.5))
    assert leaning.count == identifiability(arm(bend=0.3, offset=0.5)).count
    assert leaning.count > identifiability(arm(offset=0.5)).count


@pytest.mark.parametrize("scale", SCALES)
def test_small_offsets(scale):
    """Axes on one line, and a hundredth of the arm's length apart."""
    assert identifiability(arm(scale=scale, offset=1e-7)).count == identifiability(arm()).count
    apart = identifiability(arm(scale=scale, offset=0.01)).count
    assert apart == identifiability(arm(offset=0.5)).count > identifiability(arm()).count


def test_tolerance_is_an_option():
    robot = arm(bend=5e-5, offset=0.5)
    loose, strict = identifiability(robot), identifiability(robot, tolerance=1e-6)
    assert strict.count == identifiability(arm(bend=0.3, offset=0.5)).count > loose.count
    assert identifiability(robot, tolerance=0.0).count == strict.count
    assert loose.mechanism.rounded == pytest.approx(5e-5) and strict.mechanism.rounded == 0.0


def test_geometry_that_is_not_ambiguous_stays_as_it_is():
    """Nothing is straightened where no decision hangs on it: the null space is exact for the file's geometry."""
    robot = arm(bend=0.3, offset=0.5)
    joints = list(robot.joints)
    joints[2] = replace(joints[2], rotation=Rotation.from_rotvec([2e-5, 0, 0]).as_matrix() @ joints[2].rotation)
    bent = replace(robot, joints=tuple(joints))
    free = identifiability(bent, base="floating")
    assert free.mechanism.rounded == 0.0 and free.decisions.kept > 0.1


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ["puma560", "scara", "cheetah3_leg"])
def test_size_does_not_matter(name, scale):
    robot = getattr(library, name)()
    joints = tuple(replace(joint, position=joint.position * scale) for joint in robot.joints)
    rotors = tuple(replace(rotor, position=rotor.position * scale) for rotor in robot.rotors)
    scaled = replace(robot, joints=joints, rotors=rotors)
    for options in ({"motors": name != "scara"}, {"base": "floating"}, {"motion": "static"}):
        one, other = identifiability(robot, **options), identifiability(scaled, **options)
        np.testing.assert_array_equal(one.columns, other.columns)
        assert [s.name for s in one.status] == [s.name for s in other.status]


def test_units_of_length_go_through_to_the_null_space():
    """The null space of a robot a thousand times as large is the same one in its own units."""
    robot = library.puma560()
    joints = tuple(replace(joint, position=joint.position * 1e3) for joint in robot.joints)
    one, other = identifiability(robot), identifiability(replace(robot, joints=joints))
    powers = np.tile(1e3 ** np.array([0.0, 1, 1, 1, *[2.0] * 6]), 6)
    dependent = np.setdiff1d(np.arange(60), one.columns)
    np.testing.assert_allclose(
        other.null_space, powers[:, None] * one.null_space / powers[dependent], rtol=1e-9, atol=1e-9
    )
