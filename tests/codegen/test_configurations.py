"""Configurations, read back by the programs they are for, hold what was identified and nothing that logs leave open.

Isaac Lab's dataclasses are stood in for by their public fields; mjlab runs where `STEELYARD_MJLAB` names a Python that
has it, Newton where `STEELYARD_ENGINES` does.
"""

import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

import steelyard as sy
from robots import urdf
from steelyard.app import app
from steelyard.codegen.configurations import DESTINATIONS
from steelyard.codegen.joint_numbers import UNDETERMINED
from steelyard.errors import OptionError
from steelyard.model.drive import Drive

# Fields of ActuatorBaseCfg, of IsaacLab's source/isaaclab/isaaclab/actuators/actuator_base_cfg.py (Isaac Lab 3)
REQUIRED = {"joint_names_expr", "stiffness", "damping"}
OPTIONAL = {
    "class_type", "actuator_effort_limit", "actuator_velocity_limit", "joint_effort_limit", "joint_velocity_limit",
    "armature", "friction", "dynamic_friction", "viscous_friction",
}  # fmt: skip
ENGINES, MJLAB = os.environ.get("STEELYARD_ENGINES"), os.environ.get("STEELYARD_MJLAB")


class IsaacActuator:
    """As a configclass: keyword arguments are its fields, and what must be given has to be."""

    further: frozenset = frozenset()

    def __init__(self, **fields):
        assert fields.keys() >= REQUIRED and fields.keys() <= REQUIRED | OPTIONAL | self.further
        vars(self).update(fields)

    def value(self, field: str, joint: str):
        """Of a joint, as `resolve_matching_names_values` finds it; a dictionary names every joint of the group."""
        assert any(re.fullmatch(each, joint) for each in self.joint_names_expr)
        value = getattr(self, field)
        if not isinstance(value, dict):
            return value
        (found,) = [own for name, own in value.items() if re.fullmatch(name, joint)]
        return found


class Delayed(IsaacActuator):
    further = frozenset({"min_delay", "max_delay"})


@pytest.fixture
def isaaclab(monkeypatch):
    module = ModuleType("isaaclab.actuators")
    module.ImplicitActuatorCfg, module.DelayedPDActuatorCfg = IsaacActuator, Delayed
    monkeypatch.setitem(sys.modules, "isaaclab", ModuleType("isaaclab"))
    monkeypatch.setitem(sys.modules, "isaaclab.actuators", module)


def driven(name, floating, seed=0):
    """A robot with servos of random numbers, some late, some limited."""
    robot, rng = sy.load(urdf(name), floating=floating), np.random.default_rng(seed)
    drives = {
        robot.dof_names[j]: Drive(
            "position",
            kp=float(rng.uniform(20, 60)),
            kd=float(rng.uniform(0.5, 2)),
            limit=float(rng.uniform(10, 40)) if k % 2 else None,
            delay=0.01 if k % 3 == 0 else None,
        )
        for k, j in enumerate(robot.driven_dofs)
    }
    values = {key: rng.uniform(0.01, 0.5, robot.nv) for key in ("damping", "frictionloss", "armature")}
    for value in values.values():
        value[: robot.nv - len(drives)] = 0.0
    return replace(robot.with_joint_properties(**values), drives=drives)


def written(robot, destination, folder, source="model.urdf"):
    path = folder / f"{destination}{DESTINATIONS[destination].suffix}"
    sy.configuration(robot, folder / source, destination, path)
    return path


ROBOTS = pytest.mark.parametrize("robot", [driven("panda", False), driven("go2", True)], ids=["arm", "quadruped"])


def expected(robot):
    """By joint: number by name."""
    return {
        name: {key: getattr(robot, key)[j] for key in ("damping", "frictionloss", "armature")}
        | {
            key: value
            for key in ("kp", "kd", "limit", "delay")
            if (value := getattr(robot.drives[name], key)) is not None
        }
        for j, name in enumerate(robot.dof_names)
        if name in robot.drives
    }


@ROBOTS
def test_isaac_lab_takes_every_number(robot, tmp_path, isaaclab):
    found = runpy.run_path(str(written(robot, "isaaclab", tmp_path)))
    groups, step = found["ACTUATORS"].values(), found["PHYSICS_STEP"]
    for joint, own in expected(robot).items():
        (group,) = [each for each in groups if any(re.fullmatch(name, joint) for name in each.joint_names_expr)]
        late = "delay" in own
        assert isinstance(group, Delayed) == late
        pairs = {"stiffness": "kp", "damping": "kd", "armature": "armature", "friction": "frictionloss"}
        pairs |= {"dynamic_friction": "frictionloss", "viscous_friction": "damping"}
        pairs |= {"actuator_effort_limit" if late else "joint_effort_limit": "limit"} if "limit" in own else {}
        for field, key in pairs.items():
            assert group.value(field, joint) == pytest.approx(own[key], rel=1e-8)
        assert not late or group.min_delay == group.max_delay == round(own["delay"] / step)
        assert "limit" in own or not {"actuator_effort_limit", "joint_effort_limit"} & vars(group).keys()


def test_what_no_destination_takes_is_told(tmp_path):
    robot = sy.library.scara()
    robot = replace(robot, drives={"joint1": Drive("position", kp=40.0, slope_limit=5.5, delay=0.02)})
    text = written(robot, "newton", tmp_path).read_text()
    assert "# joint1: let its commands change by at most 5.5 rad/s." in text
    assert "# joint1: delay its commands by 0.02 s yourself." in text


def test_back_emf_brakes_where_efforts_are_commanded(tmp_path, isaaclab):
    robot = sy.library.scara().with_joint_properties(damping=np.full(4, 0.25))
    robot = replace(robot, drives={"joint1": Drive("voltage", gain=0.8, kd=0.5)})
    text = written(robot, "newton", tmp_path)
    assert runpy.run_path(str(text))["JOINTS"]["joint1"]["joint_damping"] == 0.75
    assert "# joint1: its effort is 0.8 times its voltage." in text.read_text()
    groups = runpy.run_path(str(written(robot, "isaaclab", tmp_path)))["ACTUATORS"].values()
    (group,) = [each for each in groups if "joint1" in each.joint_names_expr]
    assert (group.viscous_friction, group.stiffness, group.damping) == (0.75, 0.0, 0.0)


def arrays_of(python, script, *words):
    done = subprocess.run([python, "-c", script, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


READ_MJLAB = """
import json, runpy, sys, mujoco
found = runpy.run_path(sys.argv[1])
spec = mujoco.MjSpec.from_file(sys.argv[2])
for actuator in list(spec.actuators):
    spec.delete(actuator)
import re
joints = [j.name for j in spec.joints if j.type != mujoco.mjtJoint.mjJNT_FREE]
lags = {}
for cfg in found["ACTUATORS"]:
    own = [j for j in joints if any(re.fullmatch(e, j) for e in cfg.target_names_expr)]
    cfg.build(None, list(range(len(own))), own).edit_spec(spec, own)
    lags |= dict.fromkeys(own, [cfg.delay_min_lag, cfg.delay_max_lag])
m = spec.compile()
out = {}
for i in range(m.nu):
    j = m.actuator_trnid[i, 0]
    v = m.jnt_dofadr[j]
    limit = m.actuator_forcerange[i, 1] if m.actuator_forcelimited[i] else None
    out[m.joint(j).name] = dict(kp=m.actuator_gainprm[i, 0], kd=-m.actuator_biasprm[i, 2], limit=limit,
        damping=m.dof_damping[v].item(), frictionloss=m.dof_frictionloss[v].item(), armature=m.dof_armature[v].item(),
        lag=lags[m.joint(j).name], step=found.get("PHYSICS_STEP"))
print(json.dumps(out))
"""


@pytest.mark.skipif(MJLAB is None, reason="needs a Python with mjlab: STEELYARD_MJLAB")
@ROBOTS
def test_mjlab_builds_actuators_of_every_number(robot, tmp_path):
    sy.save(replace(robot, drives={}, source=None), tmp_path / "model.xml")
    found = arrays_of(MJLAB, READ_MJLAB, written(robot, "mjlab", tmp_path), tmp_path / "model.xml")
    for joint, own in expected(robot).items():
        for key, value in own.items():
            if key != "delay":
                assert found[joint][key] == pytest.approx(value, rel=1e-6), key
        assert found[joint]["limit"] is None or "limit" in own
        steps = round(own.get("delay", 0.0) / (found[joint]["step"] or 1.0))
        assert found[joint]["lag"] == [steps, steps]


READ_NEWTON = """
import json, runpy, sys, newton
b = newton.ModelBuilder()
b.add_mjcf(sys.argv[2]) if sys.argv[2].endswith("xml") else b.add_urdf(sys.argv[2])
runpy.run_path(sys.argv[1])["configure"](b)
m = b.finalize()
names = ["joint_" + n for n in ("armature", "friction", "damping", "target_ke", "target_kd", "effort_limit")]
arrays = {n: getattr(m, n).numpy() for n in names}
out = {}
for i, label in enumerate(m.joint_label):
    out[label.rsplit("/", 1)[-1]] = {n: float(a[b.joint_qd_start[i]]) if b.joint_qd_start[i] < len(a) else None
                                     for n, a in arrays.items()}
print(json.dumps(out))
"""


@pytest.mark.skipif(ENGINES is None, reason="needs a Python with newton: STEELYARD_ENGINES")
@ROBOTS
def test_newton_models_have_every_number(robot, tmp_path):
    sy.save(replace(robot, drives={}, source=None), tmp_path / "model.xml")
    found = arrays_of(ENGINES, READ_NEWTON, written(robot, "newton", tmp_path), tmp_path / "model.xml")
    keys = {"armature": "armature", "friction": "frictionloss", "damping": "damping", "target_ke": "kp"}
    keys |= {"target_kd": "kd", "effort_limit": "limit"}
    for joint, own in expected(robot).items():
        for array, key in keys.items():
            if key in own:
                assert found[joint][f"joint_{array}"] == pytest.approx(own[key], rel=1e-5), array


STAGE = """#usda 1.0
def Xform "robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }
    def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }
    def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }
    def PhysicsFixedJoint "root"
    {
        rel physics:body1 = </robot/base>
    }
    def PhysicsRevoluteJoint "turn"
    {
        uniform token physics:axis = "Z"
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
    }
    def PhysicsPrismaticJoint "slide"
    {
        uniform token physics:axis = "X"
        rel physics:body0 = </robot/arm>
        rel physics:body1 = </robot/rod>
    }
}
"""
SLIDER = """<mujoco><worldbody><body name="arm"><joint name="turn" damping="0.3" armature="0.02" frictionloss="0.4"/>
  <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><body name="rod">
  <joint name="slide" type="slide" damping="3" armature="0.2" frictionloss="4"/>
  <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body></body></worldbody><actuator>
  <position joint="turn" kp="50" kv="2" forcerange="-9 9"/>
  <position joint="slide" kp="500" kv="20" forcerange="-90 90"/></actuator></mujoco>"""
READ_USD = """
import json, sys, newton
b = newton.ModelBuilder()
b.add_usd(sys.argv[1])
m = b.finalize()
names = ["joint_" + n for n in ("armature", "friction", "damping", "target_ke", "target_kd", "effort_limit")]
out = {label.rsplit("/", 1)[-1]: {n: float(getattr(m, n).numpy()[b.joint_qd_start[i]]) for n in names}
       for i, label in enumerate(m.joint_label) if label.endswith(("turn", "slide"))}
print(json.dumps(out))
"""


def test_usd_has_numbers_of_turning_joints_per_degree(tmp_path):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdPhysics

    (tmp_path / "model.xml").write_text(SLIDER)
    (tmp_path / "stage.usda").write_text(STAGE)
    robot = sy.load(tmp_path / "model.xml")
    stage = Usd.Stage.Open(str(tmp_path / "stage.usda"))
    runpy.run_path(str(written(robot, "usd", tmp_path, "model.xml")))["configure"](stage)
    for name, kind, per in (("turn", "angular", np.pi / 180), ("slide", "linear", 1.0)):
        prim = stage.GetPrimAtPath(f"/robot/{name}")
        own, drive = expected(robot)[name], UsdPhysics.DriveAPI(prim, kind)
        assert drive.GetStiffnessAttr().Get() == pytest.approx(per * own["kp"])
        assert drive.GetDampingAttr().Get() == pytest.approx(per * own["kd"])
        assert drive.GetMaxForceAttr().Get() == pytest.approx(own["limit"])
        assert prim.GetAttribute("newton:damping").Get() == pytest.approx(per * own["damping"])
    if ENGINES is not None:  # the whole path: Newton's own units again
        stage.Export(str(tmp_path / "configured.usda"))
        found = arrays_of(ENGINES, READ_USD, tmp_path / "configured.usda")
        keys = {"armature": "armature", "friction": "frictionloss", "damping": "damping", "target_ke": "kp"}
        for name, own in expected(robot).items():
            for array, key in (keys | {"target_kd": "kd", "effort_limit": "limit"}).items():
                assert found[name][f"joint_{array}"] == pytest.approx(own[key], rel=1e-5), (name, array)


def test_dc_motors_push_as_the_drive_says(tmp_path):
    model = '<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody></mujoco>'
    (tmp_path / "model.xml").write_text(model)
    drive = Drive("voltage", gain=0.8, kd=0.3, limit=4.0)
    robot = replace(sy.load(tmp_path / "model.xml"), drives={"j": drive})
    path = written(robot, "dcmotor", tmp_path, "model.xml")
    (tmp_path / "whole.xml").write_text(model.replace("</mujoco>", f'<include file="{path.name}"/></mujoco>'))
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "whole.xml"))
    d = mujoco.MjData(m)
    for volts, speed in ((1.0, 0.0), (-2.0, 3.0), (12.0, -1.0)):
        d.ctrl[0], d.qvel[0] = volts, speed
        mujoco.mj_forward(m, d)
        assert d.actuator_force[0] == pytest.approx(np.clip(0.8 * volts - 0.3 * speed, -4, 4), rel=1e-6)
    with pytest.raises(OptionError, match="back-EMF"):
        written(replace(robot, drives={"j": Drive("voltage", gain=0.8)}), "dcmotor", tmp_path, "model.xml")


# Parameters that gravity_compensation_pd_controller of ros2_controllers declares
PD = {
    "joints", "joint_space_reference_controller", "p_gains", "d_gains", "compensate_gravity", "dynamics_solver", "type",
    "state_interfaces_names_override", "command_interfaces_names_override",
}  # fmt: skip


def test_ros2_control_reads_its_parameters(tmp_path):
    yaml = pytest.importorskip("yaml")
    robot = driven("ur5_robot", False)
    found = yaml.safe_load(written(robot, "ros2_control", tmp_path).read_text())
    own = found["gravity_compensation_pd_controller"]["ros__parameters"]
    assert own.keys() <= PD and own["dynamics_solver"].keys() == {"dynamics_solver_plugin", "root", "tip"}
    assert own["joints"] == list(robot.dof_names)
    assert own["p_gains"] == pytest.approx([each["kp"] for each in expected(robot).values()])
    assert {own["dynamics_solver"]["root"], own["dynamics_solver"]["tip"]} <= {link.name for link in robot.links}
    with pytest.raises(OptionError, match="branches or floats"):
        written(driven("go2", True), "ros2_control", tmp_path)


def test_what_logs_left_open_is_left_out(tmp_path, isaaclab):
    """The summary of a result decides, and a comment says what is missing and why."""
    robot = driven("ur5_robot", False).with_joint_properties(armature=np.zeros(6))
    joints = list(robot.dof_names)
    path = tmp_path / "ur5_identified.urdf"
    sy.save(robot, path)
    state = {"value": 0.0625, "lower": 0.9, "upper": 1.1, "unit": "", "state": "found", "scaled": False}
    drives = {
        name: {"kind": "position", "armature": state | {"state": "undetermined" if k == 2 else "found"}}
        for k, name in enumerate(joints)
    }
    summary = json.loads(json.dumps(BARE | {"drives": drives, "files": [path.name]}))
    summary["robot"] = {"name": "ur5", "joints": joints, "bodies": list(robot.body_names)}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    _, left_out = sy.configuration(robot, path, "isaaclab", tmp_path / "out.py")
    assert left_out == (f"Left out: armature of {joints[2]} ({UNDETERMINED}).",)
    assert f"# {left_out[0]}" in (tmp_path / "out.py").read_text()
    for group in runpy.run_path(str(tmp_path / "out.py"))["ACTUATORS"].values():
        named = any(re.fullmatch(each, joints[2]) for each in group.joint_names_expr)
        assert named != hasattr(group, "armature")
        for joint in joints:  # numbers of the summary, for which a URDF has no place
            if hasattr(group, "armature") and any(re.fullmatch(each, joint) for each in group.joint_names_expr):
                assert group.value("armature", joint) == 0.0625


BARE = {
    "schema_version": 1,
    "kind": "drives",
    "verdict": {"level": "good", "headline": "", "advice": "", "reasons": [], "answers": []},
    "scale": {"lines": ["stated"], "open": []},
    "motion": [{"name": "identified", "windows": 0.1, "whole": 0.1, "joints": []}],
    "proven": {"beyond": True, "joints": [], "motion": [{"name": "identified", "windows": 0.1, "whole": 0.1}]},
    "bodies": [],
    "held_out": {"samples": 1, "window": 0.5, "step": 0.002},
    "findings": [],
    "notes": [],
    "job": {"model": "m", "logs": ["l"], "floating": None, "gravity": None, "side": None, "rotors": False},
    "command": "",
    "out": None,
    "provenance": {"created": "", "python": "", "platform": "", "packages": {}, "folder": "", "inputs": []},
}


def test_names_cannot_end_comments_or_strings(tmp_path, isaaclab):
    """A joint may have any name: nothing of it runs."""
    name = "j'\"]\nimport os; os.abort()\n#"
    robot = sy.library.scara()
    first = replace(robot.joints[0], name=name)
    robot = replace(robot, name="a\nb", joints=(first, *robot.joints[1:]), drives={name: Drive("position", kp=1.0)})
    for destination in ("isaaclab", "newton", "usd"):
        found = runpy.run_path(str(written(robot, destination, tmp_path)))
        named = found["JOINTS"] if "JOINTS" in found else str(found["ACTUATORS"].keys())
        assert name in named or repr(name) in named


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("out.py", "--as", "gazebo"), "There is no destination 'gazebo'"),
        (("out.yaml", "--as", "mjlab"), "is a .py file"),
        (("mine.py", "--as", "mjlab"), "not written by Steelyard"),
        (("out.xml", "--as", "dcmotor"), "back-EMF"),
        (("out.py", "--as", "newton", "--draws", "3"), "give one of them"),
    ],
)
def test_refusals_write_nothing(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("print()")
    done = CliRunner().invoke(app, ["convert", str(urdf("ur5_robot")), *words])
    assert done.exit_code == 2 and message in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]


def test_the_command_writes_and_tells(tmp_path):
    done = CliRunner().invoke(
        app, ["convert", str(urdf("ur5_robot")), str(tmp_path / "a.py"), "--as", "newton", "--json"]
    )
    found = json.loads(done.output)
    assert done.exit_code == 0 and found["files"] == [str(tmp_path / "a.py")]
    assert len(found["left_out"]) == 1 and found["left_out"][0].startswith("Left out: armature of shoulder_pan_joint")
    assert "armature" not in (tmp_path / "a.py").read_text().split("JOINTS = ")[1].split("def ")[0]
    assert "shoulder_pan_joint" in (tmp_path / "a.py").read_text()
