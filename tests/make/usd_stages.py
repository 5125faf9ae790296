"""Stages of USD made with OpenUSD itself, for tests of the reader: random trees whose truth is known."""

from dataclasses import dataclass

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from random_bodies import rotations
from steelyard.spatial import quaternion_of

I3 = np.eye(3)
HERE = (I3, (0, 0, 0))


def quaternion(R) -> Gf.Quatf:
    return Gf.Quatf(*map(float, np.roll(quaternion_of(R), 1)))


def text(stage) -> str:
    return stage.GetRootLayer().ExportToString()


def posed(prim, R, p, scale=None):
    """Give a prim its pose in its parent."""
    prim.AddTranslateOp().Set(Gf.Vec3d(*map(float, p)))
    prim.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*map(float, np.roll(quaternion_of(R), 1))))
    if scale is not None:
        prim.AddScaleOp().Set(Gf.Vec3f(*map(float, scale)))
    return prim


def body(stage, path: str, *, mass=None, com=None, moments=None, axes=None, R=I3, p=(0, 0, 0), scale=None):
    """A rigid body with what is stated of its mass."""
    prim = posed(UsdGeom.Xform.Define(stage, path), R, p, scale).GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(prim)
    if any(each is not None for each in (mass, com, moments)):
        api = UsdPhysics.MassAPI.Apply(prim)
        if mass is not None:
            api.CreateMassAttr(float(mass))
        if com is not None:
            api.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, com)))
        if moments is not None:
            api.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, moments)))
        if axes is not None:
            api.CreatePrincipalAxesAttr(quaternion(axes))
    return prim


def joint(stage, path: str, kind: str, one, other, *, axis=None, frames=(HERE, HERE)):
    """A joint of that type between two paths, None for the world."""
    made = getattr(UsdPhysics, kind).Define(stage, path)
    for number, (target, (R, p)) in enumerate(zip((one, other), frames, strict=True)):
        if target is not None:
            getattr(made, f"CreateBody{number}Rel")().SetTargets([target])
        getattr(made, f"CreateLocalPos{number}Attr")(Gf.Vec3f(*map(float, p)))
        getattr(made, f"CreateLocalRot{number}Attr")(quaternion(R))
    if axis is not None:
        made.CreateAxisAttr(axis)
    return made


def pendulum(stage=None, *, mass=2.0):
    """A stage with a base on the ground and one link on a hinge."""
    stage = stage or Usd.Stage.CreateInMemory()
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/arm").GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetDefaultPrim())
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    body(stage, "/arm/base", mass=1.0, com=(0, 0, 0), moments=(1, 1, 1))
    body(stage, "/arm/link", mass=mass, com=(0.1, 0.2, 0.3), moments=(0.1, 0.2, 0.25))
    joint(stage, "/arm/root", "FixedJoint", None, "/arm/base")
    joint(
        stage, "/arm/hinge", "RevoluteJoint", "/arm/base", "/arm/link", axis="Y", frames=((np.eye(3), (0, 0, 1)),) * 2
    )
    return stage


@dataclass(frozen=True)
class Collider:
    """volume: of a gprim in the body's frame; inertia (3, 3) at unit density about its centre, axes of the prim."""

    volume: float
    inertia: np.ndarray


def collider(stage, path: str, rng) -> Collider:
    """A random box, sphere or cylinder with what a simulator would compute of it."""
    R, p = rotations(int(rng.integers(1 << 30))), rng.normal(size=3) * 0.3
    kind = rng.choice(["Cube", "Sphere", "Cylinder"])
    prim = getattr(UsdGeom, kind).Define(stage, path)
    a, b, c = rng.uniform(0.1, 0.5, size=3)
    if kind == "Cube":
        prim.CreateSizeAttr(1.0)
        posed(prim, R, p, (a, b, c))
        a, b, c = (float(np.float32(each)) for each in (a, b, c))
        found = Collider(a * b * c, a * b * c / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b]))
    elif kind == "Sphere":
        prim.CreateRadiusAttr(float(a))
        posed(prim, R, p)
        found = Collider(4 / 3 * np.pi * a**3, 4 / 3 * np.pi * a**3 * 0.4 * a * a * np.eye(3))
    else:
        prim.CreateRadiusAttr(float(a))
        prim.CreateHeightAttr(float(b))
        prim.CreateAxisAttr("X")
        posed(prim, R, p)
        volume = np.pi * a * a * b
        side = volume * (3 * a * a + b * b) / 12
        found = Collider(volume, np.diag([volume * a * a / 2, side, side]))
    UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
    return found


def material(stage, path: str, prim, density: float):
    """Bind a physical material of that density."""
    made = UsdShade.Material.Define(stage, path)
    UsdPhysics.MaterialAPI.Apply(made.GetPrim()).CreateDensityAttr(float(density))
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(made, materialPurpose="physics")


def tetrahedron(stage, path: str):
    """A closed mesh."""
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]))
    mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    mesh.CreateFaceVertexCountsAttr([3, 3, 3, 3])
    return mesh.GetPrim()
