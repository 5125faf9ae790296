"""Files of a motion, read by parsers of their own and played in MuJoCo at 1 kHz from the home pose.

Positions, velocities, accelerations and jerks come from differences of what the file says, as a controller interpolates
it; collisions are MuJoCo's contacts. A file that asks for a tenth more must fail.
"""

import json
import re
import warnings

import mujoco
import numpy as np
import pytest
from ruamel.yaml import YAML

import steelyard as sy
from brief_search import search_briefly
from robots import EXAMPLE_ROBOTS, urdf
from steelyard.excite import Limits, design, profile_for
from steelyard.excite.motion_formats import write_all

BENCH = """<mujoco model="bench"><compiler angle="radian"/><worldbody>
  <geom name="table" type="box" size=".6 .6 .02" pos="0 0 -.02"/>
  <body name="post" pos="0 0 0"><geom type="cylinder" fromto="0 0 0 0 0 .3" size=".05"/>
    <body name="a" pos="0 0 .34"><joint name="turn" axis="0 0 1" range="-2 2"/>
      <geom type="capsule" fromto="0 0 .02 .3 0 .02" size=".03"/>
      <body name="b" pos=".3 0 .02"><joint name="lift" axis="0 1 0" range="-1.5 1.5"/>
        <geom type="capsule" fromto=".07 0 0 .3 0 0" size=".03"/>
        <body name="c" pos=".3 0 0"><joint name="bend" axis="0 1 0" range="-2 2"/>
          <geom type="box" size=".05 .03 .02" pos=".12 0 0"/></body>
      </body></body></body></worldbody>
  <keyframe><key name="stow" qpos="1 1 1"/><key name="home" qpos="0.3 -0.5 0.4"/></keyframe></mujoco>"""
PANDA = {  # libfranka, rate_limiting.h
    "velocity": [2.175] * 4 + [2.61] * 3,
    "acceleration": [15, 7.5, 10, 12.5, 15, 20, 20],
    "jerk": [7500, 3750, 5000, 6250, 7500, 10000, 10000],
}
UR10 = {"velocity": np.radians([120, 120, 180, 180, 180, 180]), "acceleration": [5.0] * 6, "jerk": [150.0] * 6}
RATE = 1000.0


def quintic(t, q, v, a, at):
    """Positions at times `at`: between knots the polynomial of degree 5 that has both ends' position, velocity and
    acceleration, as joint_trajectory_controller interpolates."""
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    h, s = (t[k + 1] - t[k])[:, None], (at - t[k])[:, None]
    powers = np.arange(6)
    ends = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0]]
    ends += [[1] * 6, list(powers), list(powers * (powers - 1))]
    known = np.stack([q[k], h * v[k], h**2 * a[k], q[k + 1], h * v[k + 1], h**2 * a[k + 1]])
    c = np.einsum("ij,jnk->ink", np.linalg.inv(np.array(ends, dtype=float)), known)
    return np.einsum("ink,ni->nk", c, (s / h) ** powers)


def played(path):
    """Positions (n, k) at 1 kHz and the joints' names, from the file alone."""
    if path.name.endswith(".libfranka.csv"):
        names = re.findall(r"(\S+) \[rad\]", path.read_text().splitlines()[1])
        return np.loadtxt(path, delimiter=","), names
    if path.suffix == ".csv":
        head = next(line for line in path.read_text().splitlines() if not line.startswith("#")).split(",")
        table = np.loadtxt(path, delimiter=",", skiprows=2)
        np.testing.assert_allclose(np.diff(table[:, 0]), 1 / RATE, atol=1e-9)
        own = [i for i, title in enumerate(head) if title.startswith("q_")]
        return table[:, own], [head[i].removeprefix("q_") for i in own]
    if path.suffix == ".script":
        text = path.read_text()
        h = float(re.search(r"h = (\S+)", text)[1])
        numbers = [
            [float(x) for x in re.findall(r"-?[\d.]+(?:e-?\d+)?", line)]
            for line in re.findall(r"^  play\((.*)\)$", text, re.M)
        ]
        states = np.array(numbers).reshape(-1, 3, 6)
        first = [float(x) for x in re.search(r"steelyard_q = \[(.*)\]", text)[1].split(",")]
        states = np.concatenate([[[first, np.zeros(6), np.zeros(6)]], states])
        t, (q, v, a) = h * np.arange(len(states)), np.moveaxis(states, 1, 0)
        names = re.search(r"Joints: (.*)\.$", text, re.M)[1].split(", ")
    else:
        read = (
            json.loads(path.read_text())["trajectory"]
            if path.suffix == ".json"
            else YAML(typ="safe").load(path.read_text())
        )
        points, names = read["points"], read["joint_names"]
        t = np.array([p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in points])
        q, v, a = (np.array([p[key] for p in points]) for key in ("positions", "velocities", "accelerations"))
    return quintic(t, q, v, a, np.minimum(np.arange(round(t[-1] * RATE) + 1) / RATE, t[-1])), names


def excess(q, limits, lower, upper):
    """Largest share of any limit that positions (n, k) at 1 kHz use, and of what; at rest before and after."""
    q = np.concatenate([np.repeat(q[:1], 3, axis=0), q, np.repeat(q[-1:], 3, axis=0)])
    used = {"position": np.abs((q - (lower + upper) / 2) / ((upper - lower) / 2)).max()}
    for order, name in enumerate(("velocity", "acceleration", "jerk"), start=1):
        used[name] = np.abs(np.diff(q, order, axis=0) * RATE**order / np.asarray(limits[name])).max()
    worst = max(used, key=used.get)
    return used[worst], worst


def contacts(m, names, q):
    """Pairs of bodies that MuJoCo finds in contact while the joints go through q (n, k)."""
    d, found = mujoco.MjData(m), set()
    at = [m.joint(name).qposadr[0] for name in names]
    for each in q:
        d.qpos[at] = each
        mujoco.mj_kinematics(m, d)
        mujoco.mj_collision(m, d)
        found |= {tuple(sorted(m.geom_bodyid[c.geom].tolist())) for c in d.contact}
    return {tuple(m.body(b).name for b in pair) for pair in found}


def urdf_in_mujoco(path):
    """MuJoCo's model of an example URDF with its collision meshes."""
    text = path.read_text().replace("package://example-robot-data/robots/", f"{EXAMPLE_ROBOTS}/")
    compiler = '<mujoco><compiler strippath="false" discardvisual="true" fusestatic="false"/></mujoco>'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mujoco.MjModel.from_xml_string(re.sub(r"(<robot[^>]*>)", rf"\1{compiler}", text, count=1))


@pytest.fixture(scope="module")
def brief():
    with pytest.MonkeyPatch.context() as patch:
        search_briefly(patch)
        yield


@pytest.fixture(scope="module", params=["panda", "ur10_robot", "bench"])
def recorded(request, brief, tmp_path_factory):
    """Files of a motion from home, MuJoCo's model, the robot's own limits, and the home pose."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "bench":
        path = folder / "bench.xml"
        path.write_text(BENCH)
        robot, m = sy.load(path), mujoco.MjModel.from_xml_string(BENCH)
        limits, home = {"velocity": [2.0] * 3, "acceleration": [8.0] * 3, "jerk": [100.0] * 3}, [0.3, -0.5, 0.4]
        made = design(
            robot, 4.0, harmonics=2, periods=1, start="home", limits=Limits(velocity=2.0, acceleration=8.0, jerk=100.0)
        )
    else:
        robot, m = sy.load(urdf(request.param)), urdf_in_mujoco(urdf(request.param))
        limits = PANDA if request.param == "panda" else UR10
        home = (
            np.pi / 4 * np.array([0, -1, 0, -3, 0, 2, 1])
            if request.param == "panda"
            else np.pi / 2 * np.array([0, -1, 0, -1, 0, 0])
        )
        own = Limits() if request.param == "panda" else Limits(jerk=150.0)
        made = design(robot, 4.0, harmonics=2, periods=1, start="home", profile=profile_for(robot), limits=own)
    return made, write_all(made, folder / "out"), m, limits, np.array(home)


def ends(robot, names):
    order = [robot.dof_names.index(name) for name in names]
    at = [robot.scalar_positions[i] for i in order]
    return robot.lower[at], robot.upper[at]


@pytest.mark.exhaustive(keep=1)
def test_every_file_is_played_from_home_within_all_limits(recorded):
    made, paths, _, limits, home = recorded
    seen = set()
    for path in paths:
        if path.suffix in (".npz", ".xml"):
            continue
        q, names = played(path)
        q, names = q[:, : len(home)], list(names)[: len(home)]
        seen.add(path.name)
        np.testing.assert_allclose(q[[0, -1]], [home, home], atol=1e-6)
        used, what = excess(q, limits, *ends(made.robot, names))
        assert 0.85 < used < 1, (path.name, what, used)
        more, _ = excess(home + 1.1 * (q - home), limits, *ends(made.robot, names))
        assert more > 1, path.name
    endings = {"motion.csv", "motion.yaml", "motion.json"}
    fit = {"panda": {"motion.libfranka.csv"}, "ur10e": {"motion.script"}, None: set()}
    assert seen == endings | fit[made.make]


@pytest.mark.exhaustive(keep=1)
def test_no_body_touches_another_in_mujoco(recorded):
    _, paths, m, _, _ = recorded
    q, names = played(next(path for path in paths if path.name == "motion.json"))
    closed = {("panda_leftfinger", "panda_rightfinger")}  # fingers touch each other, as they do at rest
    assert not contacts(m, names, q[::4]) - closed


@pytest.mark.exhaustive(keep=1)
def test_a_motion_that_does_not_look_at_collisions_touches_in_mujoco(recorded):
    made, _, m, _, _ = recorded
    rng = np.random.default_rng(0)
    names = [made.robot.dof_names[i] for i in made.moving]
    q = rng.uniform(*ends(made.robot, names), size=(300, len(names)))
    assert contacts(m, names, q) - {("panda_leftfinger", "panda_rightfinger")}
