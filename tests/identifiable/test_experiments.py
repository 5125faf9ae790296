"""Restricted experiments: sensors, locked joints, static poses, partly free bases; against the plain definition."""

import numpy as np
import pytest

from pinocchio_trees import Twin, scaled_rank
from random_trees import random_tree
from steelyard.errors import ModelError, OptionError
from steelyard.identifiable import identifiability
from steelyard.identifiable.from_robot import mechanism_of
from steelyard.identifiable.mechanism import sensors_of
from steelyard.identifiable.numeric_rank import random_regression
from steelyard.model import Joint, Robot, library, load, revolute_subspace
from steelyard.model.joint import spherical_subspace
from steelyard.model.rotor import Rotor

pytestmark = pytest.mark.claim(
    "identifiability.refusals", "loops, missing joints and unknown names are refused by name"
)

LOWER = np.tril_indices(3)  # xx, xy, yy, xz, yz, zz
SUBALGEBRAS = ([0], [5], [0, 1, 5], [2, 5], [0, 2], [3, 4, 5], [0, 1, 2, 5])


def brute_force(robot, *, base=None, motion="dynamic", sensors="joints", motors=False, locked=(), terms=()):
    """Regression of random states by `sampled`, which knows of no spans."""
    mechanism = mechanism_of(robot, base=base, locked=locked, motors=motors, terms=terms, reduce=False)
    measured = sensors_of(mechanism, robot, sensors)
    Y = random_regression(mechanism, dynamic=motion == "dynamic", rows=measured.rows, wrenches=measured.wrenches)
    return Y / mechanism.scale


def options_of(rng, robot):
    """A random experiment."""
    base = [None, None, "fixed", "floating", "planar", np.eye(6)[:, SUBALGEBRAS[rng.integers(7)]]][rng.integers(6)]
    names = [j.name for j in robot.free_joints]
    locked = tuple(n for n in names if rng.uniform() < 0.1) if rng.uniform() < 0.5 else ()
    moving = [n for n in names if n not in locked]
    some = tuple(n for n in moving if rng.uniform() < 0.6) or ("joints",)
    wrench = f"wrench:{rng.choice(robot.body_names)}"
    sensors = ["joints", "base", some, ("joints", wrench), (wrench,), ("joints", "base"), (*some, wrench)][
        rng.integers(7)
    ]
    motion = "static" if rng.uniform() < 0.2 else "dynamic"
    motors = bool(robot.rotors) and rng.uniform() < 0.5
    terms = ("viscous", "coulomb", "offset", "armature") if rng.uniform() < 0.4 else ()
    return {"base": base, "locked": locked, "sensors": sensors, "motion": motion, "motors": motors}, terms


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("batch", range(8))
def test_any_experiment_with_any_tree(batch):
    methods = set()
    for seed in range(batch, 240, 8):
        rng = np.random.default_rng([11, seed])
        robot = random_tree(rng, bodies=int(rng.integers(2, 7)))
        options, terms = options_of(rng, robot)
        if len(options["locked"]) == len(robot.free_joints):
            continue
        friction = tuple(t for t in terms if t != "armature")
        idn = identifiability(robot, **options, friction=friction, armature=bool(terms))
        methods.add(idn.method.split(",")[0])
        Y = brute_force(robot, **options, terms=terms)
        assert idn.count == scaled_rank(Y)[0], (seed, options)
        N = idn.null_space
        N = N / np.maximum(np.abs(N).max(axis=0, initial=0.0), 1e-300)
        assert np.abs(Y @ N).max(initial=0.0) <= 1e-9 * max(np.abs(Y).max(initial=0.0), 1.0)
    assert methods == {"recursive", "numeric"}


def test_brute_force_is_pinocchios():
    """The plain definition used above, where Pinocchio can state it too: all joints measured, some locked."""
    for seed in range(20):
        rng = np.random.default_rng([13, seed])
        robot = random_tree(rng, bodies=5)
        Y = brute_force(robot, motors=bool(robot.rotors))
        other = Twin(robot, motors=bool(robot.rotors)).regression(rng, 3 * Y.shape[1] // robot.nv + 30)
        both = np.concatenate([Y / np.abs(Y).max(), other / np.abs(other).max()])
        assert scaled_rank(Y)[0] == scaled_rank(other)[0] == scaled_rank(both)[0]


def test_base_wrench_alone_loses_nothing_on_a_free_base_but_rotors():
    """Theorem 3 (Ayusawa): and a fixed robot on a wrench sensor needs no joint torques either."""
    for seed in range(10):
        robot = random_tree(np.random.default_rng([17, seed]), bodies=5, rotors=False, mimic=False)
        everything = identifiability(robot, base="floating")
        outside = identifiability(robot, base="floating", sensors="base")
        assert outside.count == everything.count
        np.testing.assert_array_equal(outside.columns, everything.columns)
        wrench = identifiability(robot, sensors="base")
        assert wrench.count == identifiability(robot, sensors=("base", "joints")).count
    leg = library.cheetah3_leg()
    free = {"base": "floating", "motors": True}
    assert identifiability(leg, **free, sensors="base").count < identifiability(leg, **free).count


def test_standing_still_shows_masses_and_first_moments_only():
    idn = identifiability(library.puma560(), motion="static")
    assert not any(name.endswith(("xx", "xy", "yy", "xz", "yz", "zz")) for name in idn.base_names)
    inertias = [s.name for n, s in zip(idn.names, idn.status, strict=True) if ".I" in n]
    assert set(inertias) == {"UNIDENTIFIABLE"}


def test_payload_on_a_wrist_sensor():
    """A sensor in front of the last link of an arm: all ten of it; and nothing else when it is the only sensor."""
    robot = library.puma560()
    idn = identifiability(robot, sensors=["wrench:link6"])
    assert idn.method == "recursive" and idn.count == 10
    assert set(idn.base_names) == {n for n in idn.names if n.startswith("link6.")}
    still = identifiability(robot, sensors=["link6"], motion="static")
    assert still.base_names == ("link6.m", "link6.hx", "link6.hy", "link6.hz")


def test_total_weight_on_a_base_sensor():
    idn = identifiability(library.scara(), sensors="base", motion="static")
    assert "link1.m + link2.m + link3.m + link4.m" in idn.expressions()


def test_locked_joint_is_a_weld():
    """Locked at a given angle: the count is that of the robot whose joint is replaced by a fixed one."""
    robot = library.puma560()
    for angle in (0.0, 0.4):
        idn = identifiability(robot, locked={"joint2": angle})
        Y = brute_force(robot, locked={"joint2": angle})
        assert idn.count == scaled_rank(Y)[0]
        assert idn.count < 36
    assert identifiability(robot, locked=["joint2"]).count == identifiability(robot, locked={"joint2": 0.0}).count


def test_offset_of_a_vertical_screw_is_its_weight():
    """A constant torque on a vertical screw cannot be told from its weight; Izz + p^2 m stays known."""
    pitch = 0.25
    joint = Joint("s", "revolute", revolute_subspace([0, 0, 1.0], pitch=pitch), np.eye(3), np.zeros(3))
    none = np.zeros(1)
    robot = Robot(
        "screw", (joint,), np.array([-1]), ("b",), np.arange(1), np.zeros((1, 10)), np.array([0, 0, -9.81]), *[none] * 3
    )
    idn = identifiability(robot, friction="offset")
    assert idn.base_names == ("b.m", "b.Izz")
    regroup = dict(zip(idn.names, idn.basis.regrouping.T, strict=True))
    np.testing.assert_allclose(regroup["s.offset"], [1 / (pitch * 9.81), -pitch / 9.81], rtol=1e-12)
    armature = identifiability(robot, armature=True)
    assert armature.base_names == ("b.m", "b.Izz")
    np.testing.assert_allclose(
        dict(zip(armature.names, armature.basis.regrouping.T, strict=True))["s.armature"], [0, 1], atol=1e-12
    )


def bare(joints, parents, **options) -> Robot:
    """A robot of joints, with bodies whose inertias do not matter."""
    count, none = len(joints), np.zeros(sum(joint.nv for joint in joints))
    names = tuple(f"b{i}" for i in range(count))
    inertias, gravity = np.zeros((count, 10)), np.array([0, 0, -9.81])
    return Robot("bare", joints, np.array(parents), names, np.arange(count), inertias, gravity, *[none] * 3, **options)


@pytest.mark.parametrize("anchor", [(0, 0, 0), (0.1, 0, 0.2)])
def test_armature_of_a_ball_joint_is_an_inertia_alike_about_all_axes(anchor):
    """Both resist as `dw/dt` does; armature on two axes alone is no inertia, as that turns with the body."""
    robot = bare((Joint("s", "spherical", spherical_subspace(anchor), np.eye(3), np.zeros(3)),), [-1])
    idn = identifiability(robot, armature=True)
    Y = brute_force(robot, terms=("armature",))
    assert idn.count == scaled_rank(Y)[0]
    both = {"s[0].armature": 1, "s[1].armature": 1, "s[2].armature": 1, "b0.Ixx": -1, "b0.Iyy": -1, "b0.Izz": -1}
    change = np.array([both.get(name, 0.0) for name in idn.names])
    np.testing.assert_allclose(idn.regroup(change), 0, atol=1e-12)
    assert np.abs(idn.regroup(np.where(np.array(idn.names) == "s[2].armature", 0.0, change))).max() > 0.1


TILTED = np.array([np.sqrt(0.75), 0, 0.5])


@pytest.mark.parametrize("ratio, axis, hidden", [(1.0, [0, 0, 1], True), (2.0, [0, 0, 1], False), (2.0, TILTED, True)])
def test_a_rotor_that_turns_as_much_as_what_it_drives(ratio, axis, hidden):
    """On a carrier that turns about z by w, it spins by `ratio rate + w`: `ratio` times what the link turns about its
    own axis, `rate + w axis_z`, without a gear or with one that makes up for a tilt. Then only the sum of both moments
    of inertia is known.
    """
    first, second = (
        Joint(name, "revolute", revolute_subspace(along), np.eye(3), np.array([x, 0, 0]))
        for name, along, x in (("j0", [0, 0, 1.0], 0.0), ("j1", axis, 0.3))
    )
    place = {"axis": np.array([0, 0, 1.0]), "rotation": np.eye(3), "position": np.array([0.3, 0, 0])}
    motor = Rotor(joint="j1", gear_ratio=ratio, carrier="b0", theta=np.ones(10), symmetric=True, **place)
    robot = bare((first, second), [-1, 0], rotors=(motor,))
    idn = identifiability(robot, motors=True)
    assert idn.method == "recursive"
    assert idn.count == scaled_rank(brute_force(robot, motors=True))[0]
    exchanged = np.zeros(idn.size)
    exchanged[idn.names.index(f"{motor.name}.Im")] = 1.0
    exchanged[idn.names.index("b1.Ixx") : idn.names.index("b1.Izz") + 1] = -(ratio**2) * np.outer(axis, axis)[LOWER]
    exchanged[idn.names.index("b0.Izz")] = (ratio * axis[2]) ** 2 - 1
    assert (np.abs(idn.regroup(exchanged)).max() < 1e-12) == hidden


@pytest.mark.parametrize("gravity, expected", [((0, 0, -9.81), 1), ((0, -9.81, 0), 3), ((0, 0, 0), 1)])
def test_direction_of_gravity(gravity, expected):
    joint = Joint("r", "revolute", revolute_subspace([0, 0, 1.0]), np.eye(3), np.zeros(3))
    none = np.zeros(1)
    robot = Robot(
        "one", (joint,), np.array([-1]), ("b",), np.arange(1), np.zeros((1, 10)), np.array(gravity, float), *[none] * 3
    )
    assert identifiability(robot).count == expected
    assert identifiability(robot, base="floating").count == 10 + 7


def test_floating_base_under_a_fixed_model_is_the_floating_model():
    fixed, free = library.cheetah3_leg(), library.cheetah3_leg(floating=True)
    one, other = identifiability(fixed, base="floating", motors=True), identifiability(free, motors=True)
    assert one.names == other.names
    np.testing.assert_allclose(one.null_space, other.null_space, atol=1e-12)
    np.testing.assert_allclose(one.values, other.values, atol=1e-12)
    grounded = identifiability(free, base="fixed")
    assert grounded.count == identifiability(fixed).count
    assert identifiability(free, base="planar").count == identifiability(fixed, base="planar").count


def test_regroup_lift_project():
    robot = library.puma560()
    idn = identifiability(robot, motors=True)
    rng = np.random.default_rng(0)
    theta = idn.values * (1 + 0.1 * rng.normal(size=idn.size))
    base = idn.regroup(theta)
    np.testing.assert_allclose(idn.regroup(idn.lift(base, method="linear")), base, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(idn.lift(idn.regroup(idn.values)), idn.values, atol=1e-12)
    np.testing.assert_allclose(idn.regroup(idn.project(theta)), base, rtol=1e-9, atol=1e-12)
    hidden = theta + idn.null_space @ rng.normal(size=idn.null_space.shape[1])
    np.testing.assert_allclose(idn.regroup(hidden), base, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "options, error, says",
    [
        ({"sensors": ["elbow"]}, OptionError, "joint1"),
        ({"sensors": ["wrench:hand"]}, OptionError, "link6"),
        ({"sensors": []}, OptionError, "shows nothing"),
        ({"locked": ["elbow"]}, OptionError, "joint1"),
        ({"locked": ["joint2"], "sensors": ["joint2"]}, OptionError, "does not move"),
        ({"base": "flying"}, OptionError, "floating"),
        ({"base": np.eye(6)[:, 3:5]}, OptionError, "roll and pitch make yaw"),
        ({"base": np.eye(3)}, OptionError, "(6, k)"),
        ({"base": np.zeros((6, 1))}, ModelError, "zero"),
        ({"motion": "fast"}, OptionError, "static"),
        ({"friction": "stiction"}, OptionError, "viscous"),
    ],
)
def test_errors_list_what_is_valid(options, error, says):
    with pytest.raises(error) as caught:
        identifiability(library.puma560(), **options)
    assert says in str(caught.value)


def test_motors_need_rotors():
    robot = random_tree(np.random.default_rng(0), rotors=False)
    with pytest.raises(ModelError, match="has no rotors"):
        identifiability(robot, motors=True)


def test_robot_that_cannot_move_shows_nothing():
    robot = library.scara()
    idn = identifiability(robot, locked=robot.joint_names)
    assert idn.count == 0 and idn.null_space.shape == (40, 40) and "×" in idn.table()
    assert identifiability(robot, locked=robot.joint_names, sensors="base", motion="static").count == 3


def test_loops_and_models_without_joints_are_refused_by_the_loader(tmp_path):
    from steelyard.model import load

    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    link = '<link name="{}"><inertial><mass value="1"/>' + inertia + "</inertial></link>"
    joint = '<joint name="{0}{1}" type="continuous"><parent link="{0}"/><child link="{1}"/></joint>'
    still, loop = tmp_path / "still.urdf", tmp_path / "loop.urdf"
    still.write_text(f'<robot name="r">{link.format("a")}</robot>')
    links = "".join(link.format(x) for x in "abc")
    joints = "".join(joint.format(*pair) for pair in ("ab", "ac", "bc"))
    loop.write_text(f'<robot name="r">{links}{joints}</robot>')
    with pytest.raises(ModelError, match="no movable joint"):
        load(still)
    with pytest.raises(ModelError, match="loop"):
        load(loop)


def test_constraints_that_the_loader_leaves_out_are_named(tmp_path):
    path = tmp_path / "coupled.xml"
    body = '<body name="{0}" pos="{1} 0 0"><joint name="j{0}" axis="0 1 0"/><geom size="0.1" mass="1"/></body>'
    path.write_text(
        f"<mujoco><worldbody>{body.format('a', 0)}{body.format('b', 1)}</worldbody>"
        '<tendon><fixed name="t"><joint joint="ja" coef="1"/></fixed></tendon>'
        '<equality><tendon tendon1="t"/></equality></mujoco>'
    )
    assert "equality constraints" in identifiability(load(path)).table()
