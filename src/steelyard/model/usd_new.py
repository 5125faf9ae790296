"""A new USD file of a robot in its normal form: an articulation in one layer.

Bodies lie side by side below the articulation's root, as simulators like them, each where it is at zero. All that
hangs on the world hangs on a base that is fixed there. Attributes of Newton's schema say what OpenUSD's cannot:
armature, damping, friction, mimics and tensors in double precision.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.inertia import transform
from steelyard.inertia.hull import hull_of
from steelyard.inertia.solids import SIZES
from steelyard.model.changes import Draft, com_form, require_consistent, unused
from steelyard.model.joint import Joint, ball_anchor, screw
from steelyard.model.loops import Loop
from steelyard.model.meshes import Piece
from steelyard.model.normal_form import Member, NormalForm, at_origin
from steelyard.model.robot import WORLD, Frame
from steelyard.model.side_mechanism import GROUND, rest_poses
from steelyard.model.usd_files import quiet
from steelyard.model.usd_joints import DEGREE, SOURCES, turned_to
from steelyard.model.usd_scene import Units
from steelyard.model.usd_text import Opinions
from steelyard.model.usd_write import WRITTEN, author, drive_opinions, exported, mass_opinions, number_opinion
from steelyard.spatial import quaternion_of

SI = Units(1.0, 1.0)
BASE = "base"
TYPES = {"revolute": "Revolute", "prismatic": "Prismatic", "spherical": "Spherical", "planar": ""}
LOOP_TYPES = {"weld": "Fixed", "hinge": "Revolute", "slide": "Prismatic", "connect": "Spherical", "cylinder": ""}
SITE = 0.005  # m: radius at which a site is drawn
Z = np.array([0.0, 0.0, 1.0])


def new_model(form: NormalForm, target: Path, pieces: tuple[Piece, ...] = ()) -> Draft:
    if target.suffix.lower() not in WRITTEN:
        raise ModelError(f"{target}: USD archives are read, not written. Choose one of {', '.join(WRITTEN)}.")
    with quiet():
        from pxr import Sdf

        suffix = target.suffix.lower()
        writer = _Writer(Sdf.Layer.CreateAnonymous(suffix), form)
        lost = writer.write(pieces)
        content = exported(writer.layer, ".usda" if suffix == ".usda" else ".usdc")
    links = tuple(link for link in form.robot.links if link.name in form.robot.body_names)
    whole = replace(form.robot, links=links, sites=tuple(writer.marked))
    notes = []
    if any(np.isfinite(joint.effort_limit).any() for joint in form.robot.joints):
        notes.append("OpenUSD has no place for limits of efforts; they are written as urdf:limit:effort.")
    if lost:
        notes.append(f"Geometry that cannot be read is not in it: {choices(lost)}.")
    return form.draft(target, content, notes, whole=whole)


class _Writer:
    """Writes one robot into a layer."""

    def __init__(self, layer, form: NormalForm):
        from pxr import Sdf

        self.Sdf, self.layer, self.form, self.robot = Sdf, layer, form, form.robot
        self.opinions = Opinions()
        self.used: dict[str, set[str]] = {}
        self.root = self._prim("", self.robot.name or "robot", "Xform")
        self.layer.defaultPrim = self.root.rpartition("/")[2]
        for key, setting in (("metersPerUnit", 1.0), ("kilogramsPerUnit", 1.0), ("upAxis", "Z")):
            layer.pseudoRoot.SetInfo(key, setting)
        self.bodies: dict[int, str] = {}
        (R, p), joints = rest_poses(self.robot), self.robot.body_joints
        self.poses = {WORLD: (np.eye(3), np.zeros(3))} | {body: (R[j], p[j]) for body, j in enumerate(joints)}
        self.paths: dict[str, str] = {}  # of joints by name
        self.marked: list[Frame] = []

    def write(self, pieces: Iterable[Piece]) -> list[str]:
        """Everything. Returns names of geometry that cannot be read."""
        robot = self.robot
        self.opinions.apply(self.root, "PhysicsArticulationRootAPI")
        if len(robot.body_joints) < robot.nj:  # joints between the same two bodies add up
            self.opinions.apply(self.root, "NewtonArticulationRootAPI")
            self._set(self.root, "newton:jointsAddMobility", "bool", True, uniform=True)
        self._scene()
        grounded = any(p == WORLD and j.kind != "free" for p, j in zip(robot.parents, robot.joints, strict=True))
        if grounded:
            self._ground()
        for body, name in enumerate(robot.body_names):
            self._body(body, name, robot.inertias[body], *self.poses[body])
        scope = self._prim(self.root, "joints", "Scope")
        if grounded:
            path = self._prim(scope, "root_joint", "PhysicsFixedJoint")
            self._relation(path, "physics:body1", self.bodies[WORLD])
        for member in self.form.members:
            for index in member.joints:
                self._joint(scope, index, member)
        for index, joint in enumerate(robot.joints):
            if joint.mimics is not None:
                self._mimic(index, joint)
        for loop in robot.loops:
            self._loop(scope, loop)
        self._sites()
        lost = self._geometry(pieces)
        author(self.layer, self.opinions)
        return lost

    # prims and attributes

    def _prim(self, parent: str, name: str, type_name: str) -> str:
        from pxr import Tf

        plain = Tf.MakeValidIdentifier(name)
        taken, unique, number = self.used.setdefault(parent, set()), plain, 0
        while unique in taken:
            number += 1
            unique = f"{plain}_{number}"
        taken.add(unique)
        path = f"{parent}/{unique}"
        spec = self.Sdf.CreatePrimInLayer(self.layer, path)
        spec.specifier, spec.typeName = self.Sdf.SpecifierDef, type_name
        if unique != name:
            spec.SetInfo("displayName", name)
        return path

    def _set(self, path: str, name: str, type: str, value, *, uniform: bool = False):
        kind = self.Sdf.ValueTypeNames.Find(type)
        variability = self.Sdf.VariabilityUniform if uniform else self.Sdf.VariabilityVarying
        self.Sdf.AttributeSpec(self.layer.GetPrimAtPath(path), name, kind, variability).default = value

    def _relation(self, path: str, name: str, target: str):
        relation = self.Sdf.RelationshipSpec(self.layer.GetPrimAtPath(path), name, False)
        relation.targetPathList.explicitItems = [target]

    def _pose(self, path: str, R, p, scale=None):
        from pxr import Gf, Vt

        self._set(path, "xformOp:translate", "double3", Gf.Vec3d(*map(float, p)))
        self._set(path, "xformOp:orient", "quatd", Gf.Quatd(*map(float, np.roll(quaternion_of(R), 1))))
        order = ["xformOp:translate", "xformOp:orient"]
        if scale is not None:
            self._set(path, "xformOp:scale", "double3", Gf.Vec3d(*map(float, scale)))
            order.append("xformOp:scale")
        self._set(path, "xformOpOrder", "token[]", Vt.TokenArray(order), uniform=True)

    def _vector(self, path: str, name: str, type: str, numbers, *, quaternion: bool = False):
        from pxr import Gf

        x = [float(np.float32(each)) for each in numbers]
        self._set(path, name, type, Gf.Quatf(*x) if quaternion else Gf.Vec3f(*x))

    # the robot

    def _scene(self):
        path = self._prim(self.root, "physicsScene", "PhysicsScene")
        gravity = self.robot.gravity
        size = float(np.linalg.norm(gravity))
        self._vector(path, "physics:gravityDirection", "vector3f", gravity / size if size else -Z)
        self.opinions.add(path, number_opinion("physics:gravityMagnitude", size))

    def _ground(self):
        links = [link for link in self.robot.links if link.body == WORLD]
        theta = sum((transform(each.theta, each.rotation, each.position) for each in links), np.zeros(10))
        still = list(filter(at_origin, links))
        stated = [each for each in still if each.theta.any()] or still
        name = next((each.name for each in stated if each.name not in (GROUND, *self.robot.body_names)), BASE)
        name = unused(name, self.robot.body_names)
        try:
            require_consistent(name, theta)
        except ModelError:  # what stands still may have any inertial in a file, and none is as good
            theta = np.zeros(10)
        self._body(WORLD, name, theta, np.eye(3), np.zeros(3))

    def _body(self, body: int, name: str, theta, R, p):
        self.bodies[body] = path = self._prim(self.root, name, "Xform")
        self._pose(path, R, p)
        self.opinions.apply(path, "PhysicsRigidBodyAPI")
        if theta.any() and theta[0] > 0:
            found = mass_opinions(com_form(theta), SI, np.eye(3), np.eye(3), tensor=False)
            self.opinions.add(path, *found)
            self.opinions.apply(path, "NewtonMassAPI" if found[-1].type == "double[]" else "PhysicsMassAPI")
            if found[-1].type == "double[]":
                self.opinions.apply(path, "PhysicsMassAPI")

    def _ends(self, path: str, bodies: Iterable[int], rotations, positions):
        for number, (body, R, p) in enumerate(zip(bodies, rotations, positions, strict=True)):
            if body in self.bodies:
                self._relation(path, f"physics:body{number}", self.bodies[body])
            self._vector(path, f"physics:localPos{number}", "point3f", p)
            self._vector(path, f"physics:localRot{number}", "quatf", np.roll(quaternion_of(R), 1), quaternion=True)

    def _joint(self, scope: str, index: int, member: Member):
        joint = self.robot.joints[index]
        if joint.kind == "free":
            return
        path = self.paths[joint.name] = self._prim(scope, joint.name, f"Physics{TYPES[joint.kind]}Joint")
        axis, anchor = (Z, ball_anchor(joint.subspace)) if joint.kind == "spherical" else screw(joint)[:2]
        along, first = turned_to(axis), self.robot.body_index(member.on) if member.on else WORLD
        (R, p), (turned, moved) = self.poses[first], self.poses[member.link.body]
        R, p = R.T @ turned, R.T @ (moved - p)
        self._ends(path, (first, member.link.body), (R @ along, along), (p + R @ anchor, anchor))
        if joint.kind == "planar":
            self._lock(path, ("transZ", "rotX", "rotY"))
            return
        self._set(path, "physics:axis", "token", "Z", uniform=True)
        if joint.kind != "spherical":
            self._limits(path, joint)
        self._properties(path, index, joint)

    def _lock(self, path: str, axes: Iterable[str]):
        for axis in axes:
            self.opinions.apply(path, f"PhysicsLimitAPI:{axis}")
            limits = (number_opinion(f"limit:{axis}:physics:{end}", x) for end, x in (("low", 1.0), ("high", -1.0)))
            self.opinions.add(path, *limits)

    def _limits(self, path: str, joint: Joint):
        unit = DEGREE if joint.turns else 1.0
        for name, bound in (("lower", joint.lower[0]), ("upper", joint.upper[0])):
            self.opinions.add(path, number_opinion(f"physics:{name}Limit", bound / unit))
        if np.isfinite(joint.effort_limit[0]):
            self.opinions.add(path, number_opinion("urdf:limit:effort", joint.effort_limit[0]))
        if np.isfinite(joint.velocity_limit[0]):
            self.opinions.apply(path, "NewtonJointAPI")
            self.opinions.add(path, number_opinion("newton:velocityLimit", joint.velocity_limit[0] / unit))

    def _properties(self, path: str, index: int, joint: Joint):
        for field, sources in SOURCES.items():
            number = self.form.value(index, field)
            if number:
                per_degree = field == "damping" and joint.turns
                self.opinions.apply(path, "NewtonJointAPI")
                self.opinions.add(path, number_opinion(sources[0][0], number * (DEGREE if per_degree else 1.0)))
        drive = self.form.expected.drives.get(joint.name)
        if drive is not None:
            way = "angular" if joint.turns else "linear"
            self.opinions.apply(path, f"PhysicsDriveAPI:{way}")
            self.opinions.add(path, *drive_opinions(joint.turns, f"drive:{way}:physics:", drive, SI))

    def _mimic(self, index: int, joint: Joint):
        path, unit = self.paths[joint.name], DEGREE if joint.turns else 1.0
        master = next(each for each in self.robot.joints if each.name == joint.mimics)
        self.opinions.apply(path, "NewtonMimicAPI")
        self._relation(path, "newton:mimicJoint", self.paths[master.name])
        self.opinions.add(path, number_opinion("newton:mimicCoef1", joint.ratio))
        self.opinions.add(path, number_opinion("newton:mimicCoef0", joint.offset / unit))

    def _loop(self, scope: str, loop: Loop):
        path = self._prim(scope, loop.name, f"Physics{LOOP_TYPES[loop.kind]}Joint")
        names = {None: WORLD, **{name: i for i, name in enumerate(self.robot.body_names)}}
        self._ends(path, [names[each] for each in loop.bodies], loop.rotations, loop.positions)
        if loop.kind in ("hinge", "slide", "connect"):
            self._set(path, "physics:axis", "token", "Z", uniform=True)
        if loop.kind == "cylinder":
            self._lock(path, ("transX", "transY", "rotX", "rotY"))
        self._set(path, "physics:excludeFromArticulation", "bool", True, uniform=False)

    def _sites(self):
        """Mark places: sites, and links that are fixed to others, which have no bodies of their own here."""
        taken = {GROUND, *self.robot.body_names, self.bodies.get(WORLD, "").rpartition("/")[2]}
        for place in (*self.robot.links, *self.robot.sites):
            if place.name in taken or place.body not in self.bodies:
                continue
            taken.add(place.name)
            self.marked.append(place)
            path = self._prim(self.bodies[place.body], place.name, "Sphere")
            self._pose(path, place.rotation, place.position)
            self._set(path, "radius", "double", SITE)
            self._set(path, "purpose", "token", "guide", uniform=True)
            self.opinions.apply(path, "NewtonSiteAPI")

    # geometry

    def _geometry(self, pieces: Iterable[Piece]) -> list[str]:
        links = {link.name: link for link in self.robot.links}
        groups: dict[tuple, list[Piece]] = {}
        for piece in pieces:
            link = links.get(piece.link)
            if piece.role and link is not None and link.body in self.bodies:
                place = (*np.round(piece.rotation, 9).flat, *np.round(piece.position, 9))
                groups.setdefault((piece.link, piece.key, piece.problem, *place), []).append(piece)
        homes: dict[str, str] = {}
        lost = []
        for members in groups.values():
            piece = next((each for each in members if each.color is not None), members[0])
            link = links[piece.link]
            try:
                vertices, faces, _ = piece.colored_mesh()
            except ModelError:
                lost.append(piece.name or piece.link)
                continue
            if piece.link not in homes:
                homes[piece.link] = self._prim(self.bodies[link.body], piece.link, "Xform")
                self._pose(homes[piece.link], link.rotation, link.position)
            roles = {each.role for each in members}
            path = self._gprim(homes[piece.link], piece, vertices, faces, "_".join(sorted(roles)))
            if "collision" in roles:
                self.opinions.apply(path, "PhysicsCollisionAPI")
                if piece.solid is None:
                    self.opinions.apply(path, "PhysicsMeshCollisionAPI")
                    self._set(path, "physics:approximation", "token", "convexHull", uniform=True)
            if "visual" not in roles:
                self._set(path, "purpose", "token", "guide", uniform=True)
        return list(dict.fromkeys(lost))

    def _gprim(self, parent: str, piece: Piece, vertices, faces, name: str) -> str:
        from pxr import Gf, Vt

        kind, sizes = piece.solid or ("mesh", ())
        path = self._prim(parent, f"{name}_{kind}", {"box": "Cube", "ellipsoid": "Sphere"}.get(kind, kind.title()))
        scale = None
        match kind:
            case "box" | "ellipsoid":
                scale = sizes
                self._set(path, "size" if kind == "box" else "radius", "double", 1.0)
            case "mesh":
                hull = hull_of(vertices) if faces is None else None
                faces = faces if faces is not None else np.zeros((0, 3), dtype=int) if hull is None else hull.faces
                self._set(
                    path, "points", "point3f[]", Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(vertices, np.float32))
                )
                self._set(path, "faceVertexIndices", "int[]", Vt.IntArray(np.ravel(faces).tolist()))
                self._set(path, "faceVertexCounts", "int[]", Vt.IntArray([3] * len(faces)))
                self._set(path, "subdivisionScheme", "token", "none", uniform=True)
            case _:
                for name, size in zip(SIZES[kind], sizes, strict=True):
                    self._set(path, "height" if name == "length" else name, "double", float(size))
                if "length" in SIZES[kind]:
                    self._set(path, "axis", "token", "Z", uniform=True)
        self._pose(path, piece.rotation, piece.position, scale)
        if piece.color is not None:
            *rgb, opacity = map(float, piece.color)
            self._set(path, "primvars:displayColor", "color3f[]", Vt.Vec3fArray([Gf.Vec3f(*rgb)]))
            if opacity < 1:
                self._set(path, "primvars:displayOpacity", "float[]", Vt.FloatArray([opacity]))
        return path
