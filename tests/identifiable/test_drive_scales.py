"""Scales that commands leave open, against the plain definition: parameters and gains that make the same torques.

The rows are Pinocchio's. With drives of unknown gains `Y phi = diag(e) g` is homogeneous in (phi, g); what its null
space has beyond that of Y alone are the scales that nothing fixes.
"""

import json

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

from pinocchio_trees import Twin
from random_trees import random_tree
from robots import urdf
from steelyard.app import app
from steelyard.errors import OptionError
from steelyard.identifiable import analyze_report, identifiability
from steelyard.model import library, load

CARRIAGE = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{at}"/><axis xyz="{axis}"/><limit lower="-1" upper="1" effort="10" velocity="9"/></joint>
<link name="{child}"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="2"/>
<inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="0.001" izz="0.04"/></inertial></link>"""


def machine(folder, *joints):
    """A URDF on one base: (joint, kind, parent, axis, place) each."""
    texts = [
        CARRIAGE.format(name=name, kind=kind, parent=parent, child=f"{name}_link", axis=axis, at=at)
        for name, kind, parent, axis, at in joints
    ]
    path = folder / "machine.urdf"
    path.write_text(f'<robot name="machine"><link name="base"/>{"".join(texts)}</robot>')
    return path


TWO_ARMS = [
    ("left1", "revolute", "base", "0 1 0", "0 0.3 0"),
    ("left2", "revolute", "left1_link", "0 1 0", "0.3 0 0"),
    ("right1", "revolute", "base", "1 0 0", "0 -0.3 0"),
    ("right2", "revolute", "right1_link", "0 1 0.2", "0.3 0 0"),
]
TURNTABLE = [*TWO_ARMS[:2], ("table", "revolute", "base", "0 0 1", "1 0 0")]
GANTRY = [
    ("x", "prismatic", "base", "1 0 0", "0 0 0"),
    ("y", "prismatic", "x_link", "0 1 0", "0 0 0"),
    ("z", "prismatic", "y_link", "0 0 1", "0 0 0"),
]


def nullity(matrix):
    """Dimension of the null space, columns scaled to one."""
    size = np.linalg.norm(matrix, axis=0)
    size[size <= 1e-11 * size.max(initial=0.0)] = 1.0
    singular = np.linalg.svd(matrix / size, compute_uv=False)
    return matrix.shape[1] - int(np.count_nonzero(singular > 1e-8 * singular.max()))


class Logs:
    """Homogeneous system of logs of commands of a robot with generic parameters; unknowns [phi, gains, payload].

    effects: whether each joint has armature, viscous and dry friction and an offset; else phi are bodies alone.
    """

    def __init__(self, robot, seed=0, *, effects=True):
        self.robot, self.rng, self.effects = robot, np.random.default_rng(seed), effects
        self.twin = Twin(robot, motors=False)
        self.phi = self.rng.normal(size=10 * robot.nb + 4 * robot.nv * effects)
        self.Y, self.gains = self.log(self.phi)

    def log(self, phi):
        """Rows of parameters (n, p), and of gains (n, nv): minus what drives were told, for true gains of one."""
        n, draw = self.robot.nv, int(self.rng.integers(2**31))
        samples = 2 * len(phi) // n + 30
        Y = self.twin.regression(np.random.default_rng(draw), samples)
        if self.effects:
            again, rows = np.random.default_rng(draw), []
            for _ in range(samples):  # the same states
                again.uniform(size=n)
                v, a = again.normal(size=n), again.normal(size=n)
                rows.append(np.hstack([np.diag(a), np.diag(v), np.diag(np.sign(v)), np.eye(n)]))
            Y = np.hstack([Y, np.concatenate(rows)])
        told = (Y @ phi).reshape(samples, n)
        return Y, -np.stack([np.diag(row) for row in told]).reshape(-1, n)

    def facts(self, masses):
        """Rows of known sums of masses."""
        rows = np.zeros((len(masses), len(self.phi)))
        for row, names in zip(rows, masses, strict=True):
            names = self.robot.body_names if names == "all" else [names]
            row[[10 * self.robot.body_names.index(name) for name in names]] = 1.0
        return rows

    def open(self, *, known=(), masses=(), still=()):
        """Dimensions of scales that are open; known: joints with a stated gain; still: joints whose share of change is
        put to zero as well, to see whether it was already."""
        F, n = self.facts(masses), self.robot.nv
        pinned = np.eye(n)[[self.robot.dof_names.index(name) for name in (*known, *still)]]
        system = np.block(
            [[self.Y, self.gains], [F, np.zeros((len(F), n))], [np.zeros((len(pinned), len(F.T))), pinned]]
        )
        return nullity(system) - nullity(np.concatenate([self.Y, F]))

    def open_joints(self, **known):
        """Joints whose scale is open."""
        before = self.open(**known)
        return {name for name in self.robot.dof_names if self.open(**known, still=(name,)) < before}

    def open_with_payload(self, body):
        """The same beside a second log with a load of known mass and nothing else known on a body."""
        at = 10 * self.robot.body_names.index(body)
        load = np.zeros_like(self.phi)
        load[at : at + 10] = self.rng.normal(size=10)
        Y, gains = self.log(self.phi + load)
        free = np.concatenate([self.Y[:, at + 1 : at + 10] * 0, Y[:, at + 1 : at + 10]])
        both = np.concatenate([self.Y, Y]), np.concatenate([self.gains, gains])
        return nullity(np.hstack([both[0], both[1], free])) - nullity(np.hstack([both[0], free]))


BODIES = {"friction": (), "armature": False}


def open_scales(idn):
    return [scale for scale in idn.scales if not scale.fixed]


ROBOTS = {
    "puma560": (library.puma560, 1),
    "panda": (lambda: load(urdf("panda")), 1),
    "so101": (lambda: load(urdf("so101"), lock={"gripper": 0.0}), 1),
    "go2 on a stand": (lambda: load(urdf("go2")), 4),
    "scara": (library.scara, 2),  # its slide is vertical, and nothing tilts it
}


@pytest.mark.parametrize("effects", [True, False])
@pytest.mark.parametrize("name", ROBOTS)
def test_as_many_scales_as_the_null_space_has(name, effects):
    make, count = ROBOTS[name]
    robot = make()
    options = {} if effects else BODIES
    idn = identifiability(robot, drive="position", **options)
    logs = Logs(robot, effects=effects)
    assert len(idn.scales) == len(open_scales(idn)) == logs.open() == count
    joints = idn.scales[0].joints
    kinds = {name: "torque" if name == joints[-1] else "current" for name in robot.dof_names}
    stated = identifiability(robot, drive=kinds, **options)
    assert stated.scales[0].fixed_by == (f"torque of {joints[-1]}",)
    assert len(open_scales(stated)) == logs.open(known=joints[-1:]) == count - 1
    assert {n for scale in open_scales(stated) for n in scale.joints} == logs.open_joints(known=joints[-1:])


@pytest.mark.parametrize(
    ("joints", "groups"),
    [
        (TWO_ARMS, [("left1", "left2"), ("right1", "right2")]),
        (TURNTABLE, [("left1", "left2"), ("table",)]),
        (GANTRY, [("x",), ("y",), ("z",)]),
    ],
    ids=["two arms", "turntable", "gantry"],
)
def test_joints_that_nothing_couples_have_scales_of_their_own(tmp_path, joints, groups):
    robot = load(machine(tmp_path, *joints))
    idn = identifiability(robot, drive="voltage")
    assert [scale.joints for scale in idn.scales] == groups
    assert Logs(robot).open() == len(groups)


def test_sharing_base_parameters_is_not_sharing_a_scale(tmp_path):
    """A known wrong rule: base parameters that enter two rows. The last mass of a gantry enters all three."""
    robot = load(machine(tmp_path, *GANTRY))
    idn, logs = identifiability(robot, drive="current", **BODIES), Logs(robot, effects=False)
    rows = np.abs(logs.Y.reshape(-1, 3, logs.Y.shape[1])).max(axis=0)[:, idn.columns] > 1e-9
    assert rows.all(axis=0).any()  # so that rule has one scale
    assert logs.open() == 3 == len(idn.scales)
    assert idn.scales[0].bodies == ("x_link", "y_link", "z_link") and idn.scales[2].bodies == ("z_link",)


@pytest.mark.parametrize("batch", range(4))
def test_any_tree_with_anything_known(batch):
    """Mixed kinds, stated gains and masses of random trees, joint by joint."""
    seen = set()
    for seed in range(batch, 40, 4):
        rng = np.random.default_rng([26, seed])
        robot = random_tree(rng, bodies=int(rng.integers(2, 6)), rotors=False)
        effects = bool(rng.uniform() < 0.5)
        logs = Logs(robot, seed, effects=effects)
        names = [robot.dof_names[dof] for dof in robot.driven_dofs]
        if len(names) < robot.nv:
            continue
        known = [name for name in names if rng.uniform() < 0.15]
        masses = [name for name in (*robot.body_names, "all") if rng.uniform() < 0.3]
        kinds = {name: str(rng.choice(["position", "velocity", "voltage", "current"])) for name in names}
        kinds |= dict.fromkeys(known, "torque")
        idn = identifiability(robot, drive=kinds, masses=masses, tolerance=0.0, **({} if effects else BODIES))
        assert {name for scale in open_scales(idn) for name in scale.joints} == logs.open_joints(
            known=known, masses=masses
        ), seed
        assert sorted(name for scale in idn.scales for name in scale.joints) == sorted(names)
        if not robot.mimic_names:
            assert len(idn.scales) == logs.open(), seed
        seen |= {scale.fixed for scale in idn.scales}
    assert seen == {True, False}


def test_a_mass_fixes_a_scale_only_where_nothing_makes_up_for_it(tmp_path):
    arm = library.puma560()
    logs = Logs(arm)
    for masses in (["link6"], ["all"], list(arm.body_names)):
        assert logs.open(masses=masses) == 1
        assert not identifiability(arm, drive="position", masses=masses).scales[0].fixed
    gantry = load(machine(tmp_path, *GANTRY))
    assert Logs(gantry).open(masses=["z_link"]) == 3  # armature and an offset make up for it
    assert not any(scale.fixed for scale in identifiability(gantry, drive="position", masses=["z_link"]).scales)
    logs = Logs(gantry, effects=False)
    found = identifiability(gantry, drive="position", masses=["z_link"], **BODIES)
    assert [scale.fixed_by for scale in found.scales] == [(), (), ("mass of z_link",)]
    assert logs.open_joints(masses=["z_link"]) == {"x", "y"}
    free = identifiability(gantry, drive="position", **BODIES)
    assert [scale.weighed for scale in free.scales] == [("all",), (), ("z_link",)]
    assert [scale.weighed for scale in found.scales] == [("all",), ("y_link",), ()]
    both = identifiability(gantry, drive="position", masses=["y_link", "z_link"], **BODIES)
    assert both.scales[1].fixed_by == ("mass of y_link", "mass of z_link") and both.scales[1].together
    assert logs.open(masses=["y_link", "z_link"]) == 1
    on_scales = identifiability(load(urdf("go2")), base="floating", drive="position", masses=["all"])
    assert [scale.fixed_by for scale in on_scales.scales] == [("mass of all",)]


@pytest.mark.parametrize("name", ["puma560", "scara", "so101"])
def test_payloads_that_would_fix_a_scale(name):
    robot = ROBOTS[name][0]()
    scales = identifiability(robot, drive="position").scales
    for body in robot.body_names:
        left = Logs(robot).open_with_payload(body)
        assert left == sum(body not in scale.loaded for scale in scales), body
    assert scales[0].loaded


def test_parts_that_stay_as_in_the_model():
    """A centre of mass off the joint's axis and a mass fix the scale, either alone does not; nor one on the axis."""
    arm = library.puma560()
    alone = [identifiability(arm, drive="position", fixed={"link2": part}).scales[0] for part in ("mass", "com")]
    assert not any(scale.fixed for scale in alone)
    found = identifiability(arm, drive="position", fixed={"link2": ("mass", "com")}).scales[0]
    assert found.fixed_by == ("mass and com of link2 as in the model",)
    assert "link2" in alone[0].balanced
    assert np.abs(arm.inertias[5, 1:3]).max() == 0  # link6 turns about its centre
    assert not identifiability(arm, drive="position", fixed={"link6": ("mass", "com")}).scales[0].fixed


ARMS_IN_MUJOCO = """<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody>{arms}</worldbody>
<actuator>{drives}</actuator></mujoco>"""
ARM_IN_MUJOCO = """<body pos="{at} 0 0">
<joint name="{n}1" axis="0 1 0" damping="{d}" frictionloss="{f}" armature="{a}"/>
<inertial pos="0.1 0.02 0" mass="{m}" diaginertia="{i} {i} {i}"/>
<body pos="0.3 0 0"><joint name="{n}2" axis="0.2 1 0" damping="{d}" frictionloss="{f}" armature="{a}"/>
<inertial pos="0.15 0 0.03" mass="{m}" diaginertia="{i} {i} {i}"/></body></body>"""


def moved(scales, gains):
    """Joint positions in MuJoCo of two arms that are told the same; scales: of each arm's masses, friction and
    armature; gains: of its drives."""
    arms = "".join(
        ARM_IN_MUJOCO.format(at=at, n=n, d=0.3 * s, f=0.1 * s, a=0.01 * s, m=1.5 * s, i=0.01 * s)
        for at, n, s in zip((0, 2), "lr", scales, strict=True)
    )
    drives = "".join(
        f'<position joint="{n}{k}" kp="{20 * g}"/>' for n, g in zip("lr", gains, strict=True) for k in (1, 2)
    )
    model = mujoco.MjModel.from_xml_string(ARMS_IN_MUJOCO.format(arms=arms, drives=drives))
    data, positions = mujoco.MjData(model), []
    for step in range(1500):
        data.ctrl[:] = np.sin(0.004 * step * np.arange(1, 5))
        mujoco.mj_step(model, data)
        positions.append(data.qpos.copy())
    return np.array(positions)


def test_what_shares_a_scale_moves_alike_in_simulation(tmp_path):
    """Each arm times a number of its own moves as before, and not where its drives are left out."""
    truth = moved((1, 1), (1, 1))
    np.testing.assert_allclose(moved((3, 0.5), (3, 0.5)), truth, atol=1e-6)
    assert np.abs(moved((3, 0.5), (3, 1)) - truth)[:, 2:].max() > 0.05
    path = tmp_path / "arms.xml"
    arms = "".join(
        ARM_IN_MUJOCO.format(at=at, n=n, d=0.3, f=0.1, a=0.01, m=1.5, i=0.01) for at, n in ((0, "l"), (2, "r"))
    )
    drives = '<position joint="l1" kp="20"/><position joint="l2" kp="20"/>'
    path.write_text(ARMS_IN_MUJOCO.format(arms=arms, drives=drives))
    found = identifiability(load(path), drive="position")
    assert [(scale.joints, scale.fixed_by) for scale in found.scales] == [
        (("l1", "l2"), ("kp of l1", "kp of l2")),
        (("r1", "r2"), ()),
    ]
    assert {name for name in found.scales[1].parameters if name.startswith(("r1.", "r2."))} == {
        f"{joint}.{term}" for joint in ("r1", "r2") for term in ("armature", "coulomb", "offset", "viscous")
    } & set(found.base_names)


def test_marks_of_tables_and_sentences():
    arm = library.puma560()
    plain = analyze_report(arm)
    assert "†" not in plain and "Scale" not in plain
    text = analyze_report(arm, drive="position", explain="link3", **BODIES)
    assert "all 36 values are known only up to a common factor" in text
    table = text.split("\n\n")[2].splitlines()
    assert sum(line.count("†") for line in table) == sum(
        s.name != "UNIDENTIFIABLE" for s in identifiability(arm).status
    )
    assert "--load link6=KG:LOG" in text and "The mass of a link alone does not" in text
    assert "m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz and Izz: known only up to a common factor" in text
    fixed = analyze_report(arm, drive=["position", "joint2=torque"])
    assert "Their scale is fixed by torque of joint2." in fixed and "†" not in fixed
    for format in ("markdown", "html"):
        assert "★†" in analyze_report(arm, format=format, drive="current")
    assert r"$\bigstar$$^\dagger$" in analyze_report(arm, format="latex", drive="current")


def test_parameters_of_a_fixed_group_have_no_mark():
    idn = identifiability(load(urdf("go2")), drive=["position", "FL_calf_joint=torque"])
    marked = {name.split(".")[0] for name, scaled in zip(idn.names, idn.scaled, strict=True) if scaled}
    assert marked == {name for name in (*idn.robot.body_names, *idn.robot.dof_names) if not name.startswith("FL")}
    assert [scale.fixed for scale in idn.scales] == [True, False, False, False]


def test_command_line(tmp_path):
    path = machine(tmp_path, *GANTRY)
    side = path.with_suffix(".steelyard.toml")
    side.write_text('[known.masses]\nz_link = 2.0\n[drives.x]\nkind = "position"\nkp = 30.0\n')
    words = ["analyze", str(path), "--drive", "position", "--drive", "y=voltage", "--friction", "none", "--no-armature"]
    done = CliRunner().invoke(app, [*words, "--format", "json"])
    found = json.loads(done.stdout)
    assert [(s["joints"], s["fixed_by"]) for s in found["scales"]] == [
        (["x"], ["kp of x"]),
        (["y"], []),
        (["z"], ["mass of z_link"]),
    ]
    assert found["scales"][1]["gains"] == {"y": "gain"} and found["scales"][1]["weighed"] == ["y_link"]  # x weighs all
    assert {p["name"] for p in found["base_parameters"] if p["scaled"]} == set(found["scales"][1]["parameters"])
    text = CliRunner().invoke(app, [*words, "--mass", "y_link=2"]).stdout
    assert "Their scale is fixed by" in text


def test_closed_loops_and_wrench_sensors():
    leg = identifiability(library.four_bar_leg(), drive="position")
    assert [scale.joints for scale in leg.scales] == [("hip", "crank")]
    weighed = identifiability(load(urdf("go2")), drive="position", sensors=("joints", "base"))
    assert [scale.fixed_by for scale in weighed.scales] == [("a wrench sensor",)]


def test_terms_are_those_of_a_fit_of_commands():
    arm = library.puma560()
    assert identifiability(arm).size == 60 and identifiability(arm, drive="position").size == 60 + 4 * 6


def test_refusals():
    arm = library.puma560()
    with pytest.raises(OptionError, match="no body 'tool'"):
        identifiability(arm, drive="position", masses=["tool"])
    with pytest.raises(OptionError, match="give drive"):
        identifiability(arm, masses=["link6"])
    with pytest.raises(OptionError, match="lists mass, com"):
        identifiability(arm, drive="position", fixed={"link6": "weight"})
    assert identifiability(arm).scales == ()
