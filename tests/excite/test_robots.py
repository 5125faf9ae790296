"""Robots other than arms, and every limit looked at by something else: MuJoCo, Pinocchio, differences at 1 kHz."""

import pickle
from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial import ConvexHull

import steelyard as sy
from brief_search import search_briefly
from robots import EXAMPLE_ROBOTS, urdf
from steelyard.errors import FitError, OptionError
from steelyard.excite import Limits, design, write
from steelyard.excite.collisions import scene_of
from steelyard.excite.design_goal import goal_of
from steelyard.excite.ground_support import Support
from steelyard.excite.limits import bounds_of, random_states
from steelyard.excite.measured_axes import measured_kinds
from steelyard.excite.motion_curves import Fourier
from steelyard.excite.motion_files import earlier_information
from steelyard.excite.motion_problem import MotionProblem
from steelyard.excite.optimise import random_variables
from steelyard.information import accumulate
from steelyard.motion_options import Aim
from steelyard.simulate import PERFECT, record

FAST = {"harmonics": 2, "periods": 1}
SHELF = """<mujoco><compiler angle="radian"/><worldbody>
  <geom name="table" type="box" size=".3 .3 .05" pos="0.6 0 .1"/>
  <body name="post" pos="0.3 0.4 0.3"><geom type="cylinder" size=".05 .3"/></body>
  <body name="a" pos="0 0 .3">
    <joint name="turn" axis="0 0 1" range="-1 1"/><joint name="lift" axis="0 1 0" range="-.4 .4"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    <body name="b" pos=".3 0 0"><joint name="bend" axis="0 1 0" range="-2 2"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <body name="c" pos=".3 0 0"><joint name="ball" type="ball"/>
        <geom type="box" size=".05 .03 .02" pos=".06 0 0"/></body>
    </body></body></worldbody></mujoco>"""


def _points(path):
    """Pinocchio's vertices of all collision geometry: joint and places (n, 3) in its frame of each."""
    model = pin.buildModelFromUrdf(str(path))
    folders = [str(EXAMPLE_ROBOTS.parents[1])]
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.COLLISION, package_dirs=folders)
    found = []
    for each in geometry.geometryObjects:
        if hasattr(each.geometry, "vertices"):
            vertices = np.array(each.geometry.vertices()) * each.meshScale
            place = each.placement
            found.append((each.parentJoint, vertices @ place.rotation.T + place.translation))
    return model, found


@pytest.fixture
def brief(monkeypatch):
    search_briefly(monkeypatch)


@pytest.mark.exhaustive
def test_floor_speed_and_jerk_are_kept_by_every_vertex_of_an_arm():
    path = urdf("ur10_robot")
    robot = sy.load(path)
    limits = Limits(floor=-0.2, cartesian_speed=0.6, jerk=20.0, acceleration=5.0)
    made = design(robot, 5.0, limits=limits, **FAST)
    t = np.arange(5001) / 1000
    q = made.evaluate(t)[0]
    jerk = np.diff(q, 3, axis=0) * 1e9
    assert 0.9 * 19 < np.abs(jerk).max() < 19 * 1.001
    model, solids = _points(path)
    data, fastest, lowest = model.createData(), 0.0, np.inf
    for k in range(0, len(t), 20):
        now = []
        for each in (q[k], q[min(k + 1, len(t) - 1)]):
            pin.forwardKinematics(model, data, each)
            now.append([(data.oMi[j].rotation @ v.T + data.oMi[j].translation[:, None]) for j, v in solids])
        moving = [x for x, (j, _) in zip(now[0], solids, strict=True) if j > 0]
        lowest = min(lowest, *(x[2].min() for x in moving))
        fastest = max(fastest, *(1000 * np.linalg.norm(b - a, axis=0).max() for a, b in zip(*now, strict=True)))
    assert lowest > -0.2 + limits.clearance - 1e-3
    assert 0.3 < fastest < 0.6  # boxes are larger than what they hold
    told = [m for m in made.margins if m.limit_name == "clearance"]
    scene = _scene(robot, limits)
    room = scene.contacts(q, 0.0)
    assert not len(room.sample) and all(m.satisfied for m in told)
    nearest = {m.where: m.value for m in told if m.used > 0.8}
    found = scene.contacts(q, 0.012)
    assert nearest
    for where, value in nearest.items():
        names = [
            f"{scene.name(min(a, b))} and {scene.name(max(a, b))}"
            for a, b in zip(found.first, found.second, strict=True)
        ]
        assert value == pytest.approx(found.room[np.array(names) == where].min(), abs=1e-9)


def test_a_problem_with_a_scene_travels_to_other_processes():
    robot = sy.load(urdf("ur10_robot"))
    bounds = bounds_of(robot, Limits())
    goal = goal_of(robot, random_states(robot, bounds), Aim())
    problem = MotionProblem(robot, goal, Fourier(4.0, 2), bounds, _scene(robot, Limits()))
    z = random_variables(problem, np.random.default_rng(0))
    value = problem.cost(z, {}, 30.0, {})[0]
    assert value > replace(problem, colliding=False).cost(z, {}, 30.0, {})[0]  # something is near
    assert pickle.loads(pickle.dumps(problem)).cost(z, {}, 30.0, {})[0] == value


def _scene(robot, limits):
    probe = random_states(robot, bounds_of(robot, limits))
    return scene_of(robot, probe[0].T, clearance=limits.clearance, floor=limits.floor)


def test_surroundings_of_an_mjcf_file_and_a_ball_joint_that_stays(tmp_path):
    path = tmp_path / "shelf.xml"
    path.write_text(SHELF)
    robot = sy.load(path)
    with pytest.raises(OptionError, match=r"'ball' has 3 degrees.*--lock ball"):
        design(robot, 4.0, **FAST)
    rest = np.array([0, 0, 0, 0.6, 0, 0, 0.8])
    made = design(robot, 4.0, locked=["ball"], rest=rest, **FAST)
    q = made.evaluate(np.arange(4001) / 1000)[0]
    assert q.shape[1] == robot.nq == 7 and np.ptp(q[:, 3:], axis=0).max() == 0
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    m.geom_margin[:] = 0.01
    for each in q:
        d.qpos[:] = np.r_[each[:3], each[6], each[3:6]]
        mujoco.mj_kinematics(m, d)
        mujoco.mj_collision(m, d)
        assert not d.ncon
    assert max(m.used for m in made.margins if "table" in m.where) > 0.5  # it comes near
    for suffix in ("csv", "npz"):
        log = sy.read_log(write(made, tmp_path / f"shelf.{suffix}", rate=100.0), robot)
        np.testing.assert_allclose(log.q, made.evaluate(log.t)[0], atol=1e-6)
    sent = write(made, tmp_path / "shelf.yaml").read_text().splitlines()
    assert sent[0] == 'joint_names: ["turn", "lift", "bend"]' and sent[2].count(",") == 2
    again = design(robot, 4.0, locked=["ball"], rest=rest, warm=log, time_limit=1e-3, **FAST)
    assert again.condition_before == pytest.approx(made.condition, rel=1e-6)
    truth = record(robot, made, sensors=PERFECT).truth
    np.testing.assert_allclose(sy.inverse_dynamics(robot, truth.q, truth.v, truth.a), truth.tau, atol=1e-9)


CELL = """<mujoco><worldbody><body pos="{0} {1} {2}" euler="0 0 90"><geom type="box" size="{3} {4} {5}"/>
<body pos="0 0 -9"><geom type="sphere" size="0.1"/></body></body></worldbody></mujoco>"""


def _contacts(path, q, box) -> int:
    """Poses in which MuJoCo finds a box, added to the file's own model, in contact."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.worldbody.add_geom(name="box", type=mujoco.mjtGeom.mjGEOM_BOX, pos=box[:3], size=np.array(box[3:]) / 2)
    m = spec.compile()
    d, box, found = mujoco.MjData(m), m.geom("box").id, 0
    for each in q:
        d.qpos[:] = np.r_[each[:3], each[6], each[3:6]]
        mujoco.mj_kinematics(m, d)
        mujoco.mj_collision(m, d)
        found += any(box in pair for pair in d.contact.geom[: d.ncon])
    return found


def test_boxes_and_scenes_stand_in_the_way(tmp_path, brief):
    path, cell = tmp_path / "shelf.xml", tmp_path / "cell.xml"
    path.write_text(SHELF)
    robot, t = sy.load(path), np.arange(4001) / 1000
    rest = np.array([0, 0, 0, 0.6, 0, 0, 0.8])
    free = design(robot, 4.0, locked=["ball"], rest=rest, **FAST)
    m = mujoco.MjModel.from_xml_path(str(path))
    d, reached = mujoco.MjData(m), []
    for each in free.evaluate(t)[0][::20]:
        d.qpos[:] = np.r_[each[:3], each[6], each[3:6]]
        mujoco.mj_kinematics(m, d)
        reached.append(d.geom_xpos[m.ngeom - 1].copy())
    far = np.array(reached)[np.argmax(np.linalg.norm(np.array(reached) - reached[0], axis=1))]
    box = (*far, 0.1, 0.06, 0.1)  # where the tip gets to
    assert _contacts(path, free.evaluate(t)[0], box) > 0
    cell.write_text(CELL.format(*far, 0.03, 0.05, 0.05))
    for obstacles in ({"boxes": (box,)}, {"scene": cell}):
        made = design(robot, 4.0, locked=["ball"], rest=rest, limits=Limits(**obstacles), **FAST)
        assert _contacts(path, made.evaluate(t)[0], box) == 0
    with pytest.raises(OptionError, match="six numbers"):
        design(robot, 4.0, locked=["ball"], limits=Limits(boxes=((1.0, 2.0),)), **FAST)
    with pytest.raises(OptionError, match="nothing stands"):
        cell.write_text("<mujoco/>")
        design(robot, 4.0, locked=["ball"], limits=Limits(scene=cell), **FAST)
    with pytest.raises(OptionError, match="--no-collisions"):
        Limits(boxes=(box,), collisions=False)


@pytest.mark.exhaustive
def test_a_quadruped_on_a_stand_keeps_its_limits_in_mujoco():
    path = urdf("go2")
    robot = sy.load(path, floating=False)
    made = design(robot, 4.0, moved=("F*", "RL_*"), **FAST)
    truth = record(robot, made, sensors=PERFECT).truth
    still = [i for i, name in enumerate(robot.joint_names) if name.startswith("RR")]
    assert np.abs(truth.v[:, still]).max() < 1e-9
    assert (truth.q > robot.lower - 1e-3).all() and (truth.q < robot.upper + 1e-3).all()
    assert (np.abs(truth.v) < robot.velocity_limits).all() and (np.abs(truth.tau) < robot.effort_limits).all()
    model = pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(
        model, str(path), pin.GeometryType.COLLISION, package_dirs=[str(EXAMPLE_ROBOTS.parents[1])]
    )
    shapes = geometry.geometryObjects
    for i, one in enumerate(shapes):
        for j, other in enumerate(shapes[:i]):
            legs = [model.names[x.parentJoint][:2] for x in (one, other)]
            if legs[0] != legs[1] and "un" not in legs:  # between legs; hulls of trunk and thighs always touch
                geometry.addCollisionPair(pin.CollisionPair(j, i))
    assert len(geometry.collisionPairs) > 20
    data, scene = model.createData(), geometry.createData()
    for q in truth.q[::40]:
        assert not pin.computeCollisions(model, data, geometry, scene, q, True)


@pytest.mark.exhaustive
def test_a_standing_humanoid_keeps_its_balance_by_pinocchio():
    path = urdf("g1_29dof_rev_1_0")
    robot = sy.load(path, floating=False)
    feet = ("left_ankle_roll_link", "right_ankle_roll_link")
    limits = Limits(feet=feet, balance=0.03, acceleration=60.0, collisions=False)
    moved = ("waist_pitch_joint", "*shoulder_pitch*", "*elbow*")
    made = design(robot, 3.0, limits=limits, moved=moved, harmonics=1, periods=1)
    told = max(m.used for m in made.margins if m.limit_name == "balance")
    assert 0.9 < told <= 1
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = model.createData()
    t = np.arange(0, 3.0, 0.004)
    q, v, a = made.evaluate(t)
    base = np.r_[np.zeros(6), 1.0]
    points = []
    for each in zip(q, v, a, strict=True):
        wrench = pin.rnea(model, data, np.r_[base, each[0]], *(np.r_[np.zeros(6), x] for x in each[1:]))[:6]
        points.append((wrench[:3], wrench[3:]))
    force, moment = (np.array(x) for x in zip(*points, strict=True))
    height, corners = _soles(path, feet)
    zmp = np.stack([height * force[:, 0] - moment[:, 1], height * force[:, 1] + moment[:, 0]], axis=1) / force[:, 2:]
    edges = ConvexHull(corners).equations
    outside = (zmp @ edges[:, :2].T + edges[:, 2]).max()
    assert outside < -0.03 + 1e-4
    assert outside > -0.06  # and the room is used
    with pytest.raises(OptionError, match=r"'left_ankle_roll_link' moves with joint 'left_hip"):
        design(robot, 4.0, limits=limits, **FAST)


def _soles(path, feet):
    """Height and corners (k, 2) of what touches the ground at zero."""
    model = pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(
        model, str(path), pin.GeometryType.COLLISION, package_dirs=[str(EXAMPLE_ROBOTS.parents[1])]
    )
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    spheres = []
    for each in geometry.geometryObjects:
        if each.name.rsplit("_", 1)[0] in feet:
            center = (data.oMi[each.parentJoint] * each.placement).translation
            spheres.append(np.r_[center, each.geometry.radius])
    spheres = np.array(spheres)
    turn = np.linspace(0, 2 * np.pi, 200)
    bottom = (spheres[:, 2] - spheres[:, 3]).min()
    reach = np.sqrt(np.maximum(spheres[:, 3] ** 2 - (bottom + 0.002 - spheres[:, 2]) ** 2, 0))
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return bottom, (spheres[:, None, :2] + reach[:, None, None] * ring).reshape(-1, 2)


def test_fingers_that_mimic_follow_and_are_counted(brief):
    robot = sy.load(urdf("panda"))
    made = design(robot, 3.0, moved=("panda_finger_joint1", "panda_joint7"), **FAST)
    assert made.notes[0] == "Mimic joints move along: panda_finger_joint2 follows panda_finger_joint1."
    truth = record(robot, made, sensors=PERFECT).truth
    np.testing.assert_allclose(truth.q, made.evaluate(truth.t)[0], atol=1e-4)
    model = sy.inverse_dynamics(robot, truth.q, truth.v, truth.a)
    friction = robot.damping * truth.v + robot.frictionloss * np.tanh(truth.v / 0.05)
    np.testing.assert_allclose(truth.tau, model + friction, atol=1e-6)
    with pytest.raises(OptionError, match="'panda_finger_joint2' follows 'panda_finger_joint1'; name that one"):
        design(robot, locked=["panda_finger_joint2"])


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("kinds", [("joints", "base"), ("wrench:link3",)])
def test_errors_with_wrench_sensors_are_as_predicted(kinds, brief):
    robot = sy.library.puma560()
    made = design(robot, 4.0, rows=kinds, rate=250.0, limits=Limits(collisions=False), **FAST)
    assert made.goal.basis.count == sy.identifiability(robot, sensors=kinds, friction=made.goal.layout.terms).count
    t = np.arange(1000) / 250.0
    q, v, a = made.evaluate(t)
    theta = robot.inertias.ravel()
    exact = {"base": sy.base_wrench_regressor(robot, q, v, a) @ theta}
    exact["link3"] = sy.wrench_regressor(robot, q, v, a, "link3") @ theta
    tau = sy.inverse_dynamics(robot, q, v, a) + robot.damping * v + robot.frictionloss * np.tanh(v / 0.05)
    log = sy.Log(t=t, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names, wrenches=exact)
    rng, noise = np.random.default_rng(0), made.goal.noise
    measured = noise[0 if "joints" in kinds else robot.nv :]
    expected = made.goal.basis.regroup(_parameters(robot, made.goal.layout))
    found = []
    for _ in range(20):
        noisy = {
            name: value + noise[robot.nv :] * rng.normal(size=value.shape)
            for name, value in exact.items()
            if name == "base" or "base" not in kinds
        }
        one = replace(log, tau=tau + noise[: robot.nv] * rng.normal(size=tau.shape), wrenches=noisy)
        info = accumulate(robot, one, rows=kinds).weighted(1 / measured**2)
        error = sy.fit.least_squares(info).base - expected
        found.append(error @ np.linalg.solve(made.data_covariance, error) / len(error))
    assert np.mean(found) == pytest.approx(1.0, rel=0.2)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("criterion", ["D", "A", "prediction", "condition"])
@pytest.mark.parametrize("kinds", [("joints",), ("joints", "base"), ("wrench:link3",)])
def test_the_gradient_is_that_of_differences_for_every_kind_of_row_and_for_balance(kinds, criterion):
    robot = sy.library.puma560()
    bounds = bounds_of(robot, Limits())
    goal = goal_of(
        robot, random_states(robot, bounds), Aim(criterion=criterion, rows=kinds, noise=0.2, noise_share=0.05)
    )
    around = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    weight = float(robot.inertias[:, 0].sum() * 9.81)
    support = Support(np.zeros(2), around, np.full(4, 0.05), 0.0, np.array([0, 0, 0.2 * weight, 0, 0, 0]), weight)
    problem = MotionProblem(robot, goal, Fourier(5.0, 3), bounds, support=support)
    rng = np.random.default_rng(0)
    z = 0.15 * rng.normal(size=problem.curve.size * robot.nv)
    way, step = rng.normal(size=z.shape), 1e-6
    assert problem.cost(z, {}, 30.0, {})[2]["balance"].max() > 0  # it counts
    ends = [problem.cost(z + s * step * way, {}, 30.0, {})[0] for s in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(problem.cost(z, {}, 30.0, {})[1] @ way, rel=2e-3)
    assert problem.noise(problem.coefficients(z)).shape == (6 * len(kinds),)


@pytest.mark.exhaustive
def test_several_earlier_informations_count_together_with_the_same_rows(tmp_path):
    robot, kinds = sy.library.scara(), ("base", "joints")
    options = {"rows": kinds, "limits": Limits(collisions=False), **FAST}
    made = design(robot, 4.0, **options)
    t = np.arange(400) / 100.0
    q, v, a = made.evaluate(t)
    theta = robot.inertias.ravel()
    base = sy.base_wrench_regressor(robot, q, v, a) @ theta
    log = sy.Log(t=t, q=q, v=v, a=a, tau=sy.inverse_dynamics(robot, q, v, a), joint_names=robot.joint_names)
    log = replace(log, wrenches={"base": base})
    terms = {"rows": measured_kinds(robot, kinds)}
    saved = [sy.save_information(accumulate(robot, log, **terms), tmp_path / f"{k}.npz") for k in range(2)]
    one, both = (earlier_information(robot, paths, terms) for paths in (saved[:1], saved))
    goals = [design(robot, 4.0, after=after, noise=made.noise, **options).goal for after in (one, both)]
    np.testing.assert_allclose(goals[1].earlier, 2 * goals[0].earlier)
    with pytest.raises(FitError, match="other rows than this design"):
        design(robot, 4.0, after=both, friction=made.goal.layout.terms, limits=Limits(collisions=False))
    with pytest.raises(FitError, match=r"different (rows|columns)"):
        earlier_information(
            robot, [saved[0], sy.save_information(accumulate(robot, log), tmp_path / "other.npz")], terms
        )


def _parameters(robot, layout):
    values = {"viscous": robot.damping, "coulomb": robot.frictionloss, "offset": np.zeros(robot.nv)}
    return np.concatenate([robot.inertias.ravel(), *(values[term] for term in layout.terms)])


def test_what_an_experiment_cannot_measure_is_refused():
    with pytest.raises(OptionError, match="'energy' follows from torques"):
        design(sy.library.scara(), rows=("joints", "energy"))
    with pytest.raises(OptionError, match=r"free base.*--held.*--gravity"):
        design(sy.load(urdf("go2"), floating=True))
