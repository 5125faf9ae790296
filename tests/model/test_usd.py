"""USD read: masses as OpenUSD itself computes them, joints where it places them, and every unit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from properties import tried
from random_bodies import rotations
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.inertia import to_com_inertia
from steelyard.model import load
from steelyard.model.formats import opened, read_sketch
from steelyard.model.joint import joint_pose
from usd_stages import body, collider, joint, material, pendulum, quaternion, tetrahedron, text

SINGLE = 2e-6


def read(stage, tmp_path, name="robot.usda", **options):
    path = tmp_path / name
    path.write_text(text(stage))
    return load(path, **options)


def by_openusd(stage, path: str, known: dict):
    """Mass, centre and tensor about it by OpenUSD's own rules, from volumes and tensors of colliders."""

    def asked(prim):
        found = known[str(prim.GetPath())]
        R = np.array(Gf.Matrix4d(UsdGeom.XformCache().ComputeRelativeTransform(prim, stage.GetPrimAtPath(path))[0]))
        told = UsdPhysics.RigidBodyAPI.MassInformation()
        told.volume, told.inertia = found.volume, Gf.Matrix3f(*map(float, found.inertia.ravel()))
        told.centerOfMass, told.localPos = Gf.Vec3f(0), Gf.Vec3f(*map(float, R[3, :3]))
        turned = R[:3, :3].T / np.linalg.norm(R[:3, :3].T, axis=0)
        told.localRot = quaternion(turned)
        return told

    api = UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath(path))
    mass, moments, com, axes = api.ComputeMassProperties(asked)
    q = np.array([axes.real, *axes.imaginary])
    w, x, y, z = q / np.linalg.norm(q)
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return mass, np.array(com), R @ np.diag(np.array(moments)) @ R.T


@tried(40)
@given(st.integers(0, 2**32 - 1))
def test_masses_are_those_that_openusd_computes(tmp_path_factory, seed):
    """Any mixture of what is stated and what colliders weigh, in the order in which it counts."""
    rng = np.random.default_rng(seed)
    stage, known = pendulum(), {}
    prim = stage.GetPrimAtPath("/arm/link")
    api = UsdPhysics.MassAPI(prim)
    for name in ("mass", "centerOfMass", "diagonalInertia"):
        if rng.uniform() < 0.5:
            prim.RemoveProperty(f"physics:{name}")
    if api.GetDiagonalInertiaAttr().HasAuthoredValue():
        api.CreatePrincipalAxesAttr(quaternion(rotations(seed % 1000)))
    if rng.uniform() < 0.4:
        api.CreateDensityAttr(float(rng.uniform(100, 5000)))
    for k in range(int(rng.integers(1, 4))):
        path = f"/arm/link/c{k}"
        known[path] = collider(stage, path, rng)
        own = stage.GetPrimAtPath(path)
        if rng.uniform() < 0.3:
            UsdPhysics.MassAPI.Apply(own).CreateMassAttr(float(rng.uniform(0.1, 3)))
        if rng.uniform() < 0.3:
            UsdPhysics.MassAPI.Apply(own).CreateDensityAttr(float(rng.uniform(100, 5000)))
        if rng.uniform() < 0.3:
            material(stage, f"/arm/m{k}", own, rng.uniform(100, 5000))
    mass, com, tensor = by_openusd(stage, "/arm/link", known)
    found = read(stage, tmp_path_factory.mktemp("masses"))
    m, c, I = to_com_inertia(found.inertias[0])
    assert m == pytest.approx(mass, rel=SINGLE)
    assert c == pytest.approx(com, abs=SINGLE)
    assert pytest.approx(tensor, abs=5e-5 * np.abs(tensor).max() + 1e-6 * mass) == I


def test_values_that_stand_for_none_are_none(tmp_path):
    stage = pendulum()
    api = UsdPhysics.MassAPI(stage.GetPrimAtPath("/arm/link"))
    api.CreateMassAttr(0.0)
    api.CreateCenterOfMassAttr(Gf.Vec3f(float("-inf")))
    api.CreateDiagonalInertiaAttr(Gf.Vec3f(0))
    api.CreatePrincipalAxesAttr(Gf.Quatf(0))
    assert not read(stage, tmp_path).inertias.any()
    UsdPhysics.CollisionAPI.Apply(tetrahedron(stage, "/arm/link/mesh"))
    robot = read(stage, tmp_path)
    assert robot.inertias[0, :4] == pytest.approx([1000 / 6, *[1000 / 24] * 3], rel=SINGLE)
    assert any("colliders" in note for note in robot.notes)


def test_disabled_colliders_do_not_weigh(tmp_path):
    stage = pendulum()
    stage.GetPrimAtPath("/arm/link").RemoveProperty("physics:mass")
    for name, on in (("a", True), ("b", False)):
        prim = tetrahedron(stage, f"/arm/link/{name}")
        UsdPhysics.CollisionAPI.Apply(prim).CreateCollisionEnabledAttr(on)
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(3.0)
    assert read(stage, tmp_path).inertias[0, 0] == pytest.approx(3.0)


def test_newtons_tensor_counts_over_moments_and_axes(tmp_path):
    stage = pendulum()
    prim = stage.GetPrimAtPath("/arm/link")
    UsdPhysics.MassAPI(prim).CreatePrincipalAxesAttr(quaternion(rotations(3)))
    prim.CreateAttribute("newton:inertia", Sdf.ValueTypeNames.DoubleArray).Set([0.3, 0.4, 0.5, 0.01, 0.02, 0.03])
    tensor = to_com_inertia(read(stage, tmp_path).inertias[0])[2]
    expected = [[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]]
    assert tensor == pytest.approx(np.array(expected), abs=1e-6)


def test_principal_axes_turn_the_moments_and_not_the_other_way_round(tmp_path):
    stage, R = pendulum(), rotations(5)
    api = UsdPhysics.MassAPI(stage.GetPrimAtPath("/arm/link"))
    api.CreatePrincipalAxesAttr(quaternion(R))
    tensor = to_com_inertia(read(stage, tmp_path).inertias[0])[2]
    D = np.diag([0.1, 0.2, 0.25])
    assert tensor == pytest.approx(R @ D @ R.T, abs=1e-6)
    assert not np.allclose(tensor, R.T @ D @ R, atol=1e-3)  # as converters wrote until 0.2.0


@pytest.mark.parametrize("kind", ["RevoluteJoint", "PrismaticJoint"])
@pytest.mark.parametrize("swapped", [False, True])
def test_joints_move_bodies_as_their_frames_say(kind, swapped, tmp_path):
    """Against the definition of UsdPhysics: the frames in the two bodies differ by the joint's own motion alone."""
    frames = [(rotations(k), np.random.default_rng(k).normal(size=3)) for k in (1, 2)]
    stage = pendulum()
    stage.RemovePrim("/arm/hinge")
    ends = ("/arm/link", "/arm/base") if swapped else ("/arm/base", "/arm/link")
    joint(stage, "/arm/hinge", kind, *ends, axis="Y", frames=frames)
    robot = read(stage, tmp_path)
    q = 0.7
    seats = {"/arm/base": (np.eye(3), np.zeros(3)), "/arm/link": joint_pose(robot.joints[0], np.array([q]))}
    (R0, p0), (R1, p1) = (
        (seats[end][0] @ F, seats[end][1] + seats[end][0] @ x) for end, (F, x) in zip(ends, frames, strict=True)
    )
    if kind == "RevoluteJoint":
        c, s = np.cos(q), np.sin(q)
        assert pytest.approx(np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]), abs=1e-6) == R0.T @ R1
        assert p0 == pytest.approx(p1, abs=1e-6)
    else:
        assert pytest.approx(R1, abs=1e-6) == R0
        assert R0.T @ (p1 - p0) == pytest.approx([0, q, 0], abs=1e-6)


def test_units_of_the_stage_scale_everything(tmp_path):
    """The same arm in centimetres and grams has the same torques."""
    metres = pendulum()
    small = pendulum()
    UsdGeom.SetStageMetersPerUnit(small, 0.01)
    UsdPhysics.SetStageKilogramsPerUnit(small, 0.001)
    for name in ("base", "link"):
        api = UsdPhysics.MassAPI(small.GetPrimAtPath(f"/arm/{name}"))
        api.CreateMassAttr(1e3 * api.GetMassAttr().Get())
        api.CreateCenterOfMassAttr(100 * api.GetCenterOfMassAttr().Get())
        api.CreateDiagonalInertiaAttr(1e7 * api.GetDiagonalInertiaAttr().Get())
    hinge = UsdPhysics.Joint(small.GetPrimAtPath("/arm/hinge"))
    for attribute in (hinge.GetLocalPos0Attr(), hinge.GetLocalPos1Attr()):
        attribute.Set(100 * attribute.Get())
    for stage, unit in ((metres, 1.0), (small, 1e7)):
        prim = stage.GetPrimAtPath("/arm/hinge")
        for name, number in (("armature", 0.3), ("friction", 0.4), ("damping", 0.5 * np.pi / 180)):
            prim.CreateAttribute(f"newton:{name}", Sdf.ValueTypeNames.Float).Set(number * unit)
        drive = UsdPhysics.DriveAPI.Apply(prim, "angular")
        drive.CreateStiffnessAttr(20 * np.pi / 180 * unit)
        drive.CreateDampingAttr(2 * np.pi / 180 * unit)
        drive.CreateMaxForceAttr(9 * unit)
    one, other = read(metres, tmp_path), read(small, tmp_path)
    x = np.array([0.3])
    assert inverse_dynamics(one, x, x, x) == pytest.approx(inverse_dynamics(other, x, x, x), rel=SINGLE)
    for robot in (one, other):
        assert robot.armature == pytest.approx(0.3)
        assert robot.frictionloss == pytest.approx(0.4)
        assert robot.damping == pytest.approx(0.5)
        drive = robot.drives["hinge"]
        assert (drive.kind, drive.kp, drive.kd, drive.limit) == ("position", *map(pytest.approx, (20.0, 2.0, 9.0)))
        assert robot.effort_limits == pytest.approx(9.0)


def test_scaled_frames_scale_joints_and_centres_and_no_tensors(tmp_path):
    """As OpenUSD does."""
    stage = pendulum()
    UsdGeom.Xformable(stage.GetPrimAtPath("/arm/link")).AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    robot = read(stage, tmp_path)
    mass, com, tensor = to_com_inertia(robot.inertias[0])
    theirs = by_openusd(stage, "/arm/link", {})
    assert (mass, com) == (pytest.approx(theirs[0]), pytest.approx(theirs[1], abs=1e-6))
    assert tensor == pytest.approx(np.diag([0.1, 0.2, 0.25]), abs=1e-6)
    assert robot.joints[0].position == pytest.approx([0, 0, 1 - 2], abs=1e-6)


def test_gravity_and_limits_and_mimics(tmp_path):
    stage = pendulum()
    scene = UsdPhysics.Scene.Define(stage, "/scene")
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0, 3, 0))
    scene.CreateGravityMagnitudeAttr(2.0)
    hinge = UsdPhysics.RevoluteJoint(stage.GetPrimAtPath("/arm/hinge"))
    hinge.CreateLowerLimitAttr(-90.0)
    hinge.CreateUpperLimitAttr(180.0)
    body(stage, "/arm/tip", mass=1.0, com=(0, 0, 0), moments=(1, 1, 1))
    tip = joint(stage, "/arm/follower", "RevoluteJoint", "/arm/link", "/arm/tip", axis="X").GetPrim()
    tip.CreateRelationship("newton:mimicJoint").SetTargets(["/arm/hinge"])
    tip.CreateAttribute("newton:mimicCoef0", Sdf.ValueTypeNames.Float).Set(90.0)
    tip.CreateAttribute("newton:mimicCoef1", Sdf.ValueTypeNames.Float).Set(-2.0)
    robot = read(stage, tmp_path)
    assert robot.gravity == pytest.approx([0, 2, 0])
    assert (robot.lower[0], robot.upper[0]) == pytest.approx((-np.pi / 2, np.pi))
    follower = robot.joints[1]
    assert (follower.mimics, follower.ratio, follower.offset) == ("hinge", -2.0, pytest.approx(np.pi / 2))


@pytest.mark.parametrize("up", ["Y", "Z"])
def test_gravity_that_is_not_stated_is_the_earths_along_the_down_axis(up, tmp_path):
    stage = pendulum()
    UsdGeom.SetStageUpAxis(stage, up)
    UsdPhysics.Scene.Define(stage, "/scene")
    assert read(stage, tmp_path).gravity == pytest.approx(-9.81 * np.eye(3)["XYZ".index(up)])


def test_excluded_joints_and_later_ones_close_loops(tmp_path):
    stage = pendulum()
    body(stage, "/arm/rod", mass=1.0, com=(0, 0, 0), moments=(1, 1, 1))
    joint(stage, "/arm/a", "RevoluteJoint", "/arm/link", "/arm/rod", axis="X")
    joint(stage, "/arm/b", "RevoluteJoint", "/arm/rod", "/arm/base", axis="Z")
    joint(stage, "/arm/c", "SphericalJoint", None, "/arm/rod").CreateExcludeFromArticulationAttr(True)
    robot = read(stage, tmp_path)
    assert robot.joint_names == ("hinge", "a")
    assert [(each.name, each.kind, each.bodies) for each in robot.loops] == [
        ("b", "hinge", ("rod", None)),
        ("c", "connect", (None, "rod")),
    ]


def test_a_generic_joint_is_what_its_free_axes_make_it(tmp_path):
    stage = pendulum()
    stage.RemovePrim("/arm/hinge")
    prim = joint(stage, "/arm/generic", "Joint", "/arm/base", "/arm/link").GetPrim()
    for axis in ("transX", "transY", "transZ", "rotX", "rotZ"):
        limit = UsdPhysics.LimitAPI.Apply(prim, axis)
        limit.CreateLowAttr(1.0)
        limit.CreateHighAttr(-1.0)
    robot = read(stage, tmp_path)
    assert robot.joints[0].subspace[:, 0] == pytest.approx([0, 0, 0, 0, 1, 0])
    prim.RemoveAPI(UsdPhysics.LimitAPI, "rotX")
    prim.RemoveProperty("limit:rotX:physics:low")
    with pytest.raises(ModelError, match="rotX, rotY free"):
        read(stage, tmp_path)
    assert {fault.code for fault in read_sketch(tmp_path / "robot.usda").faults} == {"SY506"}


def test_a_body_that_nothing_holds_floats(tmp_path):
    stage = pendulum()
    stage.RemovePrim("/arm/root")
    robot = read(stage, tmp_path)
    assert robot.floating and robot.body_names == ("base", "link")
    assert not read(stage, tmp_path, floating=False).floating


def test_layers_and_variants_are_composed_and_missing_ones_named(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.usda").write_text(text(pendulum()))
    stage = Usd.Stage.CreateInMemory()
    prim = stage.DefinePrim("/robot")
    prim.GetPayloads().AddPayload("./parts/arm.usda")
    heavy = prim.GetVariantSets().AddVariantSet("load")
    heavy.AddVariant("full")
    heavy.SetVariantSelection("full")
    with heavy.GetVariantEditContext():
        stage.OverridePrim("/robot/link").CreateAttribute("physics:mass", Sdf.ValueTypeNames.Float).Set(7.0)
    stage.DefinePrim("/other").GetReferences().AddReference("./gone.usda")
    robot = read(stage, tmp_path)
    assert robot.inertias[0, 0] == 7.0
    assert any("gone.usda" in note for note in robot.notes)
    assert [each.name for each in opened(tmp_path / "robot.usda").referenced()] == ["arm.usda"]


def test_pieces_are_what_the_stage_shows(tmp_path):
    stage = pendulum()
    mesh = UsdGeom.Mesh(tetrahedron(stage, "/arm/link/mesh"))
    mesh.CreateDisplayColorAttr([(1, 0, 0)])
    cylinder = UsdGeom.Cylinder.Define(stage, "/arm/link/pin")
    cylinder.CreateAxisAttr("X")
    cylinder.CreateRadiusAttr(0.1)
    cylinder.CreateHeightAttr(0.6)
    cylinder.CreatePurposeAttr("guide")
    UsdPhysics.CollisionAPI.Apply(cylinder.GetPrim())
    read(stage, tmp_path)
    shown, touched = opened(tmp_path / "robot.usda").pieces()
    assert (shown.link, shown.role, shown.color) == ("link", "visual", (1, 0, 0, 1))
    assert (touched.role, touched.solid) == ("collision", ("cylinder", (0.1, 0.6)))
    assert touched.rotation[:, 2] == pytest.approx([1, 0, 0])
