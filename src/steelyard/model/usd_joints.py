"""Joints of a USD stage: between which bodies, of which kind, with which limits, friction and drive.

OpenUSD states angles in degrees and gains per degree; Newton's and PhysX's attributes follow it, MuJoCo's do not. A
joint turns its second body against its first, whichever of them is nearer to the root of the tree.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.model.drive import Drive, of_affine
from steelyard.model.joint import KINDS, Joint, bounds_of
from steelyard.model.robot import WORLD
from steelyard.model.usd_geometry import UP
from steelyard.model.usd_scene import PrimFrame, Scene, applied, names_of, rotation_of, value
from steelyard.spatial import Pose, identity

DEGREE = np.pi / 180
KIND_OF = {
    "PhysicsFixedJoint": None,
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "spherical",
}
"""Types of joints -> kinds of a `Joint`; generic ones have that of their free axes."""
CLOSES = {None: "weld", "revolute": "hinge", "prismatic": "slide", "spherical": "connect"}
AXES = ("X", "Y", "Z")
PER_DEGREE = "per degree"  # of a joint that turns
SOURCES = {
    "armature": (("newton:armature", ""), ("mjc:armature", ""), ("physxJoint:armature", ""), ("{axis}armature", "")),
    "damping": (
        ("newton:damping", PER_DEGREE),
        ("mjc:damping", ""),
        ("{axis}viscousFrictionCoefficient", PER_DEGREE),
    ),
    "frictionloss": (("newton:friction", ""), ("mjc:frictionloss", ""), ("{axis}dynamicFrictionEffort", "")),
}
"""Properties of a joint: attributes that state them, the one that counts most first."""
SPEEDS = ("newton:velocityLimit", "physxJoint:maxJointVelocity", "{axis}maxJointVelocity")


@dataclass(frozen=True, eq=False)
class Connection:
    """A joint prim."""

    prim: Any
    name: str
    kind: str | None  # of `KINDS`, None for a fixed one
    bodies: tuple[int, int]  # their numbers, or WORLD
    frames: tuple[PrimFrame, PrimFrame]  # of the joint in each
    axis: np.ndarray  # (3,) in its frame
    mobile: bool  # whether it may be part of a tree

    @property
    def turns(self) -> bool:
        return self.kind in ("revolute", "spherical")

    def pose(self, child: int) -> tuple[np.ndarray, np.ndarray]:
        """Pose of one of its two bodies (0, 1) in the other at zero: rotation (3, 3), position (3,)."""
        above, below = self.frames[1 - child], self.frames[child]
        R = above.rotation @ below.rotation.T
        return R, above.position - R @ below.position

    def subspace(self, child: int) -> np.ndarray:
        """Phi (6, nv) in the axes of that body: of the body that stands first, the motion is the other way round."""
        assert self.kind is not None
        frame = self.frames[child]
        sign = 1.0 if child == 1 or self.kind in ("spherical", "planar", "free") else -1.0
        return KINDS[self.kind].subspace(sign * frame.rotation @ self.axis, frame.position)

    @property
    def ends(self) -> tuple[Pose, Pose]:
        """Its frames in its bodies as a closure has them: with z along its axis."""
        along = UP[AXES[int(np.argmax(np.abs(self.axis)))]]
        first, second = ((each.rotation @ along, each.position) for each in self.frames)
        return first, second


def turned_to(axis) -> np.ndarray:
    """(3, 3) rotation that carries z to a unit axis; of the axes of its frame where it is one of them."""
    for column, letter in enumerate(AXES):
        if np.array_equal(axis, np.eye(3)[column]):
            return UP[letter]
    side = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    side = side / np.linalg.norm(side)
    return np.column_stack([side, np.cross(axis, side), axis])


def connections_of(scene: Scene) -> list[Connection]:
    """Enabled joints of a scene, in the order of the stage."""
    from pxr import UsdPhysics

    prims = [
        each for each in scene.prims if each.IsA(UsdPhysics.Joint) and value(each, "physics:jointEnabled") is not False
    ]
    found = []
    for prim, name in zip(prims, names_of(prims), strict=True):
        if (made := _connection(scene, prim, name)) is not None:
            found.append(made)
    return found


def _connection(scene: Scene, prim, name: str) -> Connection | None:
    ends = [_end(scene, prim, number) for number in (0, 1)]
    if None in ends:
        return None
    (one, first), (other, second) = (each for each in ends if each is not None)
    if one == other:
        scene.fault("SY505", prim, "the joint connects a body to itself, or the world to the world.", remedy="")
        return None
    kind, axis = _kind(scene, prim)
    if kind == "":
        return None
    excluded = value(prim, "physics:excludeFromArticulation") is True
    return Connection(prim, name, kind, (one, other), (first, second), axis, not excluded)


def _end(scene: Scene, prim, number: int) -> tuple[int, PrimFrame] | None:
    targets = prim.GetRelationship(f"physics:body{number}").GetTargets()
    if len(targets) > 1:
        scene.fault("SY505", prim, f"physics:body{number} names {len(targets)} prims; a joint has one.", remedy="")
        return None
    target = scene.stage.GetPrimAtPath(targets[0]) if targets else None
    if targets and not target:
        scene.fault("SY505", prim, f"physics:body{number} names <{targets[0]}>, which is no prim here.", remedy="")
        return None
    p, q = value(prim, f"physics:localPos{number}"), value(prim, f"physics:localRot{number}")
    p = np.zeros(3) if p is None else np.array(p, dtype=float)
    R = np.eye(3) if q is None else rotation_of(q)
    if not (np.isfinite(p).all() and np.isfinite(R).all()):
        scene.fault("SY506", prim, f"physics:localPos{number} is no finite vector.", remedy="Correct it.")
        p = np.zeros(3)
    length = scene.units.length
    if target is None:
        return WORLD, PrimFrame(R, p * length, np.eye(3))
    body, own = scene.body_of(target), scene.frame(target)
    local = PrimFrame(own.rotation @ R, own.position + own.rotation @ own.stretch @ p * length, np.eye(3))
    return (WORLD, local) if body is None else (body, scene.frames[body].seen(local))


def _kind(scene: Scene, prim) -> tuple[str | None, np.ndarray]:
    """Kind of a joint and its axis; "" for one that is none of those known."""
    type_name = prim.GetTypeName()
    axis = value(prim, "physics:axis") or "X"
    if axis not in AXES:
        scene.fault("SY506", prim, f"physics:axis is {str(axis)[:20]!r}; expected X, Y or Z.", remedy="Correct it.")
        axis = "X"
    if type_name in KIND_OF:
        return KIND_OF[type_name], np.eye(3)[AXES.index(axis)]
    free = _free_axes(scene, prim)
    slides, turns = ([AXES.index(each[-1]) for each in free if each.startswith(way)] for way in ("trans", "rot"))
    if type_name == "PhysicsJoint":
        match len(slides), len(turns):
            case 0, 0:
                return None, np.eye(3)[0]
            case 1, 0:
                return "prismatic", np.eye(3)[slides[0]]
            case 0, 1:
                return "revolute", np.eye(3)[turns[0]]
            case 0, 3:
                return "spherical", np.eye(3)[0]
            case 2, 1 if turns[0] not in slides:
                return "planar", np.eye(3)[turns[0]]
            case 3, 3:
                return "free", np.eye(3)[0]
    what = f"leaves {', '.join(free) or 'nothing'} free" if type_name == "PhysicsJoint" else f"is a {type_name}"
    scene.fault(
        "SY506",
        prim,
        f"the joint {what}, which is none of the joints known here.",
        remedy="Take fixed, revolute, prismatic and spherical joints, or disable it.",
    )
    return "", np.eye(3)[0]


def _free_axes(scene: Scene, prim) -> list[str]:
    """Axes of a generic joint that are not locked: a limit whose low end is above its high one locks."""
    found = []
    for axis in (f"{way}{letter}" for way in ("trans", "rot") for letter in AXES):
        low, high = (scene.number(prim, f"limit:{axis}:physics:{end}") for end in ("low", "high"))
        if not (low is not None and high is not None and low > high):
            found.append(axis)
    return found


def _instance(connection: Connection) -> str:
    """Of a multiple-apply schema: the axis of a joint of one degree."""
    if connection.prim.GetTypeName() == "PhysicsJoint":
        return f"{'rot' if connection.turns else 'trans'}{AXES[int(np.argmax(np.abs(connection.axis)))]}"
    return "angular" if connection.turns else "linear"


def drive_stem(connection: Connection) -> str:
    """How names of its attributes of `PhysicsDriveAPI` start."""
    return f"drive:{_instance(connection)}:physics:"


def source_of(connection: Connection, name: str) -> tuple[str, bool] | None:
    """The attribute that states a property of a joint and whether it is per degree; None where none does."""
    for attribute, unit in SOURCES[name]:
        attribute = attribute.format(axis=f"physxJointAxis:{_instance(connection)}:")
        if value(connection.prim, attribute) is not None:
            return attribute, unit == PER_DEGREE
    return None


def si_of(connection: Connection, name: str, units, *, per_degree: bool) -> float:
    """SI of one unit of a property of a joint."""
    scale = units.of_property(name, turns=connection.turns)
    return scale / DEGREE if per_degree and connection.turns else scale


def _properties(scene: Scene, connection: Connection) -> dict[str, float]:
    found = {}
    for name in SOURCES:
        if (source := source_of(connection, name)) is not None:
            attribute, per_degree = source
            number = scene.number(connection.prim, attribute) or 0.0
            if not np.isinf(number):
                found[name] = number * si_of(connection, name, scene.units, per_degree=per_degree)
    return found


def limits_of(scene: Scene, connection: Connection) -> dict[str, float]:
    """Limits that a joint of one degree states: "lower", "upper", "effort", "velocity", SI; infinite ones left out."""
    prim, units = connection.prim, scene.units
    unit = DEGREE if connection.turns else units.length
    generic = f"limit:{_instance(connection)}:physics:"
    pair = (
        (generic + "low", generic + "high")
        if prim.GetTypeName() == "PhysicsJoint"
        else ("physics:lowerLimit", "physics:upperLimit")
    )
    found = {}
    for name, attribute in zip(("lower", "upper"), pair, strict=True):
        if (number := scene.number(prim, attribute)) is not None and abs(number) < 1e30:
            found[name] = number * unit
    torque = units.of_property("effort", turns=connection.turns)
    drive = drive_stem(connection) + "maxForce"
    efforts = (scene.number(prim, "urdf:limit:effort"), _actuator_range(scene, prim), scene.number(prim, drive))
    if (effort := next((each for each in efforts if each is not None and 0 < each < 1e30), None)) is not None:
        found["effort"] = effort * torque
    for attribute in SPEEDS:
        speed = scene.number(prim, attribute.format(axis=f"physxJointAxis:{_instance(connection)}:"))
        if speed is not None and 0 < speed < 1e30:
            found["velocity"] = speed * unit
            break
    return found


def _actuator_range(scene: Scene, prim) -> float | None:
    low, high = (scene.number(prim, f"mjc:actuatorfrcrange:{end}") or 0.0 for end in ("min", "max"))
    limited = value(prim, "mjc:actuatorfrclimited") or "auto"
    return high if limited == "true" or (limited == "auto" and low < high) else None


def reference_of(scene: Scene, connection: Connection) -> float:
    """Position of a joint where its two frames meet: `mjc:ref`, else zero. rad or m."""
    number = scene.number(connection.prim, "mjc:ref") or 0.0
    if not connection.turns:
        return number * scene.units.length
    plain = any(
        value(each, "mjc:compiler:angle") == "radian" for each in scene.prims if each.GetTypeName() == "PhysicsScene"
    )
    return number if plain else number * DEGREE


def joint_of(scene: Scene, connection: Connection, child: int, mimics: dict[str, tuple[str, float, float]]) -> Joint:
    """The joint of a tree that a connection is, not a fixed one. child: which of its bodies (0, 1) it carries; mimics:
    of `mimics_of`."""
    assert connection.kind is not None
    R, p = identity()
    placed: dict[str, Any] = {"subspace": connection.subspace(child), "rotation": R, "position": p}
    if KINDS[connection.kind].nq > 1:
        properties: dict[str, Any] = _properties(scene, connection) if connection.kind == "spherical" else {}
        return Joint(connection.name, connection.kind, **placed, **properties)
    fields: dict[str, Any] = _properties(scene, connection) | bounds_of(limits_of(scene, connection))
    fields["offset"] = -reference_of(scene, connection)
    if connection.name in mimics:
        master, ratio, offset = mimics[connection.name]
        fields |= {"mimics": master, "ratio": ratio, "offset": offset}
    return Joint(connection.name, connection.kind, **placed, **fields)


def mimics_of(scene: Scene, connections: list[Connection]) -> dict[str, tuple[str, float, float]]:
    """Joint -> the one that it follows, ratio and offset: by Newton's schema, which counts most, or by PhysX's."""
    by_path = {str(each.prim.GetPath()): each for each in connections}
    found = {}
    for connection in connections:
        for leader, ratio, offset in (*_newton_mimic(scene, connection), *_physx_mimic(scene, connection)):
            master = by_path.get(leader)
            if master is None or master is connection or {master.kind, connection.kind} - {"revolute", "prismatic"}:
                said = f"it mimics <{leader}>, which is no other joint of one degree here."
                scene.fault("SY507", connection.prim, said, remedy="Correct newton:mimicJoint, or disable it.")
                break
            unit = DEGREE if connection.turns else scene.units.length
            if master.turns != connection.turns:
                ratio *= scene.units.length ** (1 if master.turns else -1)
            start = reference_of(scene, master)
            found[connection.name] = master.name, ratio, offset * unit - ratio * start
            break
    return found


def _newton_mimic(scene: Scene, connection: Connection) -> Iterator[tuple[str, float, float]]:
    prim = connection.prim
    relation = prim.GetRelationship("newton:mimicJoint")
    targets = relation.GetTargets() if relation else []
    if targets and value(prim, "newton:mimicEnabled") is not False:
        ratio, offset = (scene.number(prim, f"newton:mimicCoef{power}") for power in (1, 0))
        yield str(targets[0]), 1.0 if ratio is None else ratio, offset or 0.0


def _physx_mimic(scene: Scene, connection: Connection) -> Iterator[tuple[str, float, float]]:
    """PhysX's `q + gearing q_leader + offset = 0`."""
    prim = connection.prim
    for relation in prim.GetRelationships():
        name = relation.GetName()
        mimic = name.startswith("physxMimicJoint:") and name.endswith(":referenceJoint")
        targets = relation.GetTargets() if mimic else []
        if targets:
            stem = name.removesuffix("referenceJoint")
            gearing, offset = (scene.number(prim, stem + each) for each in ("gearing", "offset"))
            yield str(targets[0]), -(1.0 if gearing is None else gearing), -(offset or 0.0)


def drives_of(scene: Scene, connections: list[Connection]) -> dict[str, Drive | None]:
    """Drives of joints of one degree by name, OpenUSD's or MuJoCo's; None for one that is none of those known."""
    by_path = {str(each.prim.GetPath()): each for each in connections if each.kind in ("revolute", "prismatic")}
    found: dict[str, Drive | None] = {}
    for prim in scene.prims:
        if prim.GetTypeName() == "MjcActuator":
            relation = prim.GetRelationship("mjc:target")
            connection = by_path.get(str((relation.GetTargets() or [""])[0])) if relation else None
            if connection is not None:
                doubled = connection.name in found
                found[connection.name] = None if doubled else _actuator(scene, prim, connection)
    for connection in by_path.values():
        drive = _drive(scene, connection)
        if drive is not None:
            found.setdefault(connection.name, drive)
    scene.note(
        "drives of the type acceleration follow the inertia of what they move and are not read",
        (c.name for c in by_path.values() if value(c.prim, drive_stem(c) + "type") == "acceleration"),
    )
    scene.note(
        "physxJoint:jointFriction is a share of the load of a joint in PhysX, not a torque; it is not read",
        (c.name for c in by_path.values() if value(c.prim, "physxJoint:jointFriction")),
    )
    return found


def _drive(scene: Scene, connection: Connection) -> Drive | None:
    """As of `PhysicsDriveAPI`: torque by position and speed, per degree where the joint turns."""
    stem = drive_stem(connection)
    if value(connection.prim, stem + "type") == "acceleration":
        return None
    unit = si_of(connection, "damping", scene.units, per_degree=True)
    kp, kd = ((scene.number(connection.prim, stem + name) or 0.0) * unit for name in ("stiffness", "damping"))
    limit = scene.number(connection.prim, stem + "maxForce")
    limit = None if limit is None or not 0 < limit < 1e30 else limit
    limit = limit and limit * scene.units.of_property("effort", turns=connection.turns)
    if not (np.isfinite([kp, kd]).all() and kp >= 0 and kd >= 0) or (kp == 0 and kd == 0):
        return None
    return of_affine(kp or kd, -kp, -kd, limit=limit)


def _actuator(scene: Scene, prim, connection: Connection) -> Drive | None:
    kinds = [
        value(prim, f"mjc:{each}Type") or fallback
        for each, fallback in (("gain", "fixed"), ("bias", "none"), ("dyn", "none"))
    ]
    gear = np.array(value(prim, "mjc:gear") or [1.0], dtype=float)
    gain, bias = (
        np.array(value(prim, f"mjc:{each}Prm") or fallback, dtype=float)
        for each, fallback in (("gain", [1.0]), ("bias", [0.0] * 3))
    )
    bias = bias[:3] if kinds[1] == "affine" else np.zeros(3)
    usable = kinds[0] == "fixed" and kinds[1] in ("none", "affine") and kinds[2] == "none"
    if not usable or len(bias) < 3 or bias[0] or gear[1:].any() or not gear[0] or not gain[0]:
        return None
    low, high = (scene.number(prim, f"mjc:forceRange:{end}") or 0.0 for end in ("min", "max"))
    limited = value(prim, "mjc:forceLimited") or "auto"
    limited = (limited == "true" or (limited == "auto" and low < high)) and high > 0 and np.isclose(-low, high)
    limit = float(abs(gear[0]) * high) if limited else None
    return of_affine(float(gain[0]), float(bias[1]), float(bias[2]), float(gear[0]), limit=limit)


def is_stacked(connection: Connection, roots: list) -> bool:
    """Whether joints between the same two bodies add up to one, instead of both holding them."""
    return applied(connection.prim, "MjcJointAPI") or any(
        value(each, "newton:jointsAddMobility") is True for each in roots
    )
