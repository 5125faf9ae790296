"""Geometry of a USD stage: solids and meshes of bodies as pieces and shapes, and the moments of colliders.

OpenUSD's primitives are scaled by the frames above them; only those that stay a solid of the same kind are exact.

Mass properties are stated, or found from colliders, in the order in which OpenUSD lets them count. What is not stated
has a value that stands for none: zero mass, density, moments and axes, an infinite centre of mass. The mass of a body
counts over those of its colliders, of a collider the mass over its density, that over its body's, over its material's,
and that over 1000 kg/m^3. `newton:inertia`, about the centre of mass in the body's axes and in double precision, counts
over moments and axes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.inertia import from_com_inertia, mesh, pseudo, solids, to_com_inertia, transform
from steelyard.inertia.hull import hull_of
from steelyard.inertia.mesh import is_closed
from steelyard.inertia.parameters import DIAGONAL_FIRST, WATER
from steelyard.model.meshes import Piece
from steelyard.model.sketch import Inertial, Shape
from steelyard.model.usd_scene import SINGLE, PrimFrame, Scene, applied, rotation_of, value
from steelyard.numbers import SAME
from steelyard.spatial import quaternion_of

# columns: axes of a frame whose z is the named one
UP = {"X": np.eye(3)[:, [1, 2, 0]], "Y": np.eye(3)[:, [2, 0, 1]], "Z": np.eye(3)}
SIZES = {
    "Cube": ("size",),
    "Sphere": ("radius",),
    "Cylinder": ("radius", "height"),
    "Capsule": ("radius", "height"),
    "Cone": ("radius", "height"),
}
"""Geometry that is a solid, and its attributes, stage units; the schema has fallbacks."""
SITES = ("NewtonSiteAPI", "MjcSiteAPI")  # of gprims that mark a place
SHOWN = ("default", "render", "proxy")
MOST = 2_000_000  # corners of a mesh
TENSOR = "newton:inertia"


@dataclass(frozen=True, eq=False)
class GprimSolid:
    """A gprim of a body. points, faces: of a mesh."""

    prim: Any
    frame: PrimFrame  # in that of the body, stretch in m
    kind: str  # of `SIZES` or "Mesh"
    sizes: tuple[float, ...] = ()  # of a solid in the prim's own units, about an axis z that `up` (3, 3) turns
    up: np.ndarray | None = None
    points: np.ndarray | None = None
    faces: np.ndarray | None = None

    @property
    def collides(self) -> bool:
        from pxr import UsdPhysics

        return self.prim.HasAPI(UsdPhysics.CollisionAPI) and value(self.prim, "physics:collisionEnabled") is not False

    @property
    def roles(self) -> tuple[str, ...]:
        """As of `Piece.role`, both where it is seen and touched."""
        from pxr import UsdGeom

        image = UsdGeom.Imageable(self.prim)
        seen = image.ComputePurpose() in SHOWN and image.ComputeVisibility() != "invisible"
        return tuple(role for role, is_one in (("collision", self.collides), ("visual", seen)) if is_one)

    @property
    def stretch(self) -> np.ndarray:
        """(3, 3) m per unit along the axes of `rotation`."""
        Q = np.eye(3) if self.up is None else self.up
        return Q.T @ self.frame.stretch @ Q

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) axes of its solid in the body's frame."""
        return self.frame.rotation if self.up is None else self.frame.rotation @ self.up

    @property
    def exact(self) -> tuple[str, tuple[float, ...]] | None:
        """As of `Piece.solid`."""
        S, scale = self.stretch, np.diag(self.stretch)
        if np.abs(S - np.diag(scale)).max() > SAME * np.abs(scale).max() or (scale <= 0).any():
            return None
        round_about_z = np.ptp(scale[:2]) <= SAME * scale.max()
        even = np.ptp(scale) <= SAME * scale.max()
        match self.kind:
            case "Cube":
                return "box", tuple((self.sizes[0] * scale).tolist())
            case "Sphere":
                radii = (self.sizes[0] * scale).tolist()
                return ("sphere", (radii[0],)) if even else ("ellipsoid", tuple(radii))
            case "Cylinder" if round_about_z:
                return "cylinder", (self.sizes[0] * float(scale[0]), self.sizes[1] * float(scale[2]))
            case "Capsule" if even:
                return "capsule", (self.sizes[0] * float(scale[0]), self.sizes[1] * float(scale[2]))
        return None

    @property
    def vertices(self) -> np.ndarray:
        """(n, 3) m about its position, in the axes of `rotation`."""
        points = solids.points(*self.own_solid) if self.points is None else self.points
        return points @ self.stretch.T

    @property
    def triangles(self) -> np.ndarray | None:
        """(f, 3) of `vertices`, counterclockwise from outside; None where the hull is meant."""
        if self.faces is None:
            return None
        return self.faces[:, ::-1] if np.linalg.det(self.frame.stretch) < 0 else self.faces

    @property
    def own_solid(self) -> tuple[str, tuple[float, ...]]:
        """Kind and sizes as of `inertia.solids`, in the prim's own units."""
        return ("box", self.sizes * 3) if self.kind == "Cube" else (self.kind.lower(), self.sizes)

    def moments(self) -> np.ndarray:
        """(4, 4) pseudo-inertia in the body's frame at 1 kg/m^3; of an open mesh that of its hull."""
        if self.kind == "Mesh":
            vertices, faces = self.vertices, self.triangles
            if faces is None or not is_closed(faces, len(vertices)):
                hull = hull_of(vertices)
                if hull is None:
                    return np.zeros((4, 4))
                vertices, faces = hull.points, hull.faces
            J = pseudo.to_matrix(mesh.parameters(vertices, faces, density=1.0, check=False))
            J, linear = np.sign(J[3, 3]) * J, self.rotation
        else:
            linear = self.rotation @ self.stretch
            theta = solids.filled(*self.own_solid, 1.0) if all(self.sizes) else np.zeros(10)
            J = abs(np.linalg.det(linear)) * pseudo.to_matrix(theta)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = linear, self.frame.position
        return T @ J @ T.T


def solids_of(scene: Scene) -> dict[int | None, list[GprimSolid]]:
    """Gprims by the body that they are part of, None for the world; one with impossible sizes is a fault."""
    from pxr import UsdGeom

    found: dict[int | None, list[GprimSolid]] = {}
    world = PrimFrame(np.eye(3), np.zeros(3), np.eye(3))
    for prim in scene.prims:
        kind = prim.GetTypeName()
        if not (kind in SIZES or kind == "Mesh") or applied(prim, *SITES):
            continue
        body = scene.body_of(prim)
        seen = (world if body is None else scene.frames[body]).seen(scene.frame(prim))
        frame = PrimFrame(seen.rotation, seen.position, seen.stretch * scene.units.length)
        solid = _mesh(scene, UsdGeom.Mesh(prim), frame) if kind == "Mesh" else _primitive(scene, prim, kind, frame)
        if solid is not None and np.isfinite(frame.stretch).all() and np.isfinite(frame.position).all():
            found.setdefault(body, []).append(solid)
    return found


def _primitive(scene: Scene, prim, kind: str, frame: PrimFrame) -> GprimSolid | None:
    sizes = [float(prim.GetAttribute(name).Get()) for name in SIZES[kind]]
    if not all(np.isfinite(each) and each >= 0 for each in sizes):
        scene.fault("SY506", prim, f"a {kind.lower()} of the sizes {sizes}.")
        return None
    axis = value(prim, "axis") or "Z"
    up = UP.get(str(axis)) if "height" in SIZES[kind] else None
    return GprimSolid(prim, frame, kind, tuple(sizes), up)


def _mesh(scene: Scene, found, frame: PrimFrame) -> GprimSolid | None:
    counts, corners, points = (
        attribute.Get()
        for attribute in (found.GetFaceVertexCountsAttr(), found.GetFaceVertexIndicesAttr(), found.GetPointsAttr())
    )
    if points is None or not len(points) or len(points) > MOST or len(corners or ()) > MOST:
        return None
    points = np.array(points, dtype=float)
    counts, corners = (np.array(each if each is not None else (), dtype=np.int64) for each in (counts, corners))
    bad = not np.isfinite(points).all() or (counts < 0).any() or counts.sum() != len(corners)
    if bad or (len(corners) and (corners.min() < 0 or corners.max() >= len(points))):
        scene.fault("SY506", found.GetPrim(), "a mesh whose faces name points that it does not have.")
        return None
    faces = _fans(counts, corners)
    if found.GetOrientationAttr().Get() == "leftHanded":
        faces = faces[:, ::-1]
    return GprimSolid(found.GetPrim(), frame, "Mesh", points=points, faces=faces if len(faces) else None)


def _fans(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triangles (f, 3) of polygons, each a fan about its first corner."""
    many = np.maximum(counts - 2, 0)
    starts = np.repeat(np.cumsum(counts) - counts, many)
    steps = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    return corners[np.column_stack([starts, starts + steps + 1, starts + steps + 2])].reshape(-1, 3)


def pieces_of(scene: Scene) -> Iterator[Piece]:
    """Geometry of all bodies, one in two roles twice."""
    for body, members in solids_of(scene).items():
        if body is None:
            continue
        for solid in members:
            exact = solid.exact
            key = exact or (str(solid.prim.GetPath()),)
            vertices = solids.points(*exact) if exact else solid.vertices
            for role in solid.roles or ("",):
                yield Piece(
                    scene.body_names[body],
                    role,
                    solid.rotation,
                    solid.frame.position,
                    key,
                    exact,
                    vertices,
                    solid.triangles,
                    name=str(solid.prim.GetPath()),
                    color=_color(solid.prim) if role == "visual" else None,
                )


def _color(prim) -> tuple[float, ...] | None:
    """Of a gprim itself, else the diffuse colour of the preview surface that it is bound to."""
    from pxr import UsdGeom, UsdShade

    gprim = UsdGeom.Gprim(prim)
    colors, opacities = gprim.GetDisplayColorAttr().Get(), gprim.GetDisplayOpacityAttr().Get()
    if colors:
        opacity = opacities[0] if opacities else 1.0
        return tuple(np.clip([*colors[0], opacity], 0.0, 1.0).tolist())
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    surface = material.ComputeSurfaceSource()[0] if material else None
    diffuse = surface.GetInput("diffuseColor") if surface else None
    found = diffuse.Get() if diffuse else None
    return None if found is None else tuple(np.clip([*found, 1.0], 0.0, 1.0).tolist())


def shapes_of(scene: Scene, members: list[GprimSolid]) -> tuple[Shape, ...]:
    """Shapes of a body, colliders first."""
    found = [
        Shape(
            scene.place(solid.prim),
            role,
            solid.vertices @ solid.rotation.T + solid.frame.position,
            solid.triangles,
            f"{solid.exact}" if solid.exact else f"mesh {solid.prim.GetPath()}",
        )
        for solid in members
        for role in solid.roles
    ]
    return tuple(sorted(found, key=lambda each: each.role))


def surroundings_of(scene: Scene) -> list[dict]:
    """As of `ModelDocument.surroundings`: enabled colliders that belong to no body, and planes."""
    import mujoco

    found = []
    for solid in solids_of(scene).get(None, []):
        if solid.collides:
            vertices = solid.vertices @ solid.rotation.T + solid.frame.position
            found.append({"name": str(solid.prim.GetPath()), "vertices": vertices})
    for prim in scene.prims:
        if prim.GetTypeName() == "Plane" and value(prim, "physics:collisionEnabled") is not False:
            frame = scene.frame(prim)
            up = UP[str(value(prim, "axis") or "Z")]
            quaternion = np.roll(quaternion_of(frame.rotation @ up), 1)
            place = {"pos": frame.position, "quat": quaternion, "size": np.array([0.0, 0.0, 1.0])}
            found.append({"name": str(prim.GetPath()), "type": mujoco.mjtGeom.mjGEOM_PLANE} | place)
    return found


@dataclass(frozen=True, eq=False)
class StatedMass:
    """What a prim states of its mass, SI, None for nothing."""

    mass: float | None
    density: float | None
    com: np.ndarray | None  # (3,) m
    rotation: np.ndarray
    tensor: np.ndarray | None  # (3, 3) kg m^2 about it, both in the prim's axes, tensor in those of rotation (3, 3)

    @property
    def anything(self) -> bool:
        return any(each is not None for each in (self.mass, self.com, self.tensor))


def stated(scene: Scene, prim, stretch: np.ndarray) -> StatedMass:
    """What a body or collider states; what is no number is a fault of the scene. stretch: (3, 3) units per coordinate
    of it."""
    units = scene.units
    mass, density = (scene.number(prim, f"physics:{name}", code="SY104") for name in ("mass", "density"))
    com = value(prim, "physics:centerOfMass")
    com = None if com is None or np.isinf(com).any() else units.length * stretch @ np.array(com, dtype=float)
    moments, axes = value(prim, "physics:diagonalInertia"), value(prim, "physics:principalAxes")
    tensor, R = None, np.eye(3)
    if moments is not None and any(moments):
        tensor = units.inertia * np.diag(_possible(np.array(moments, dtype=float)))
        R = np.eye(3) if axes is None else rotation_of(axes)
    six = value(prim, TENSOR)
    if six is not None and len(six):
        tensor, R = units.inertia * _tensor(scene, prim, six), np.eye(3)
    if not all(each is None or np.isfinite(each).all() for each in (com, tensor)):
        scene.fault("SY104", prim, "its centre of mass or moments of inertia are no finite numbers.", remedy="")
    return StatedMass(
        units.mass * mass if mass else None,
        units.mass / units.length**3 * density if density and density > 0 else None,
        com,
        R,
        tensor,
    )


def _possible(moments: np.ndarray) -> np.ndarray:
    """Moments (3,) of which none is more than the others together by the rounding of single precision alone."""
    k = int(np.argmax(moments))
    others = moments.sum() - moments[k]
    return (
        np.where(np.arange(3) == k, others, moments) if 0 < moments[k] - others <= 2 * SINGLE * moments[k] else moments
    )


def _tensor(scene: Scene, prim, six) -> np.ndarray:
    found = np.full((3, 3), np.nan)
    if len(six) != len(DIAGONAL_FIRST):
        scene.fault("SY105", prim, f"{TENSOR} has {len(six)} numbers; expected xx yy zz xy xz yz.", remedy="")
        return found
    for (i, j), entry in zip(DIAGONAL_FIRST, six, strict=True):
        found[i, j] = found[j, i] = float(entry)
    return found


def inertial_of(scene: Scene, body: int, members: list[GprimSolid]) -> tuple[Inertial | None, bool]:
    """Inertial of a body, None for one without any, and whether all of it is found from colliders, its `members`."""
    prim, frame = scene.bodies[body], scene.frames[body]
    own = stated(scene, prim, frame.stretch)
    colliders = [each for each in members if each.collides]
    whole = all(each is not None for each in (own.mass, own.com, own.tensor))
    if not own.anything and not colliders:
        return None, False
    around = np.zeros(10) if whole else sum((_of_collider(scene, each, own) for each in colliders), np.zeros(10))
    mass, com, tensor = own.mass, own.com, own.tensor
    found_mass, found_com, found_tensor = (
        to_com_inertia(around) if around[0] > 0 else (0.0, np.zeros(3), np.zeros((3, 3)))
    )
    if tensor is None:
        share = 1.0 if mass is None or not around[0] > 0 else mass / found_mass
        shift = np.zeros(3) if com is None or not around[0] > 0 else com - found_com
        about = from_com_inertia(share * found_mass, -shift, share * found_tensor)  # about the stated centre
        tensor = about[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3)
    inertial = Inertial(
        scene.place(prim),
        float(found_mass if mass is None else mass),
        found_com if com is None else com,
        own.rotation,
        tensor,
    )
    return inertial, not own.anything


def _of_collider(scene: Scene, solid: GprimSolid, body: StatedMass) -> np.ndarray:
    """(10,) inertial parameters of a collider in the frame of its body."""
    own = stated(scene, solid.prim, np.eye(3))
    J = solid.moments()
    if not J[3, 3] > 0:
        return np.zeros(10)
    density = next(filter(None, (own.density, body.density, _of_material(scene, solid.prim), WATER)))
    density = density if own.mass is None else own.mass / J[3, 3]
    theta = np.asarray(pseudo.to_parameters(density * J))
    if own.mass is None or own.tensor is None:
        return theta
    com = np.zeros(3) if own.com is None else solid.frame.stretch @ own.com / scene.units.length
    R = own.rotation
    return np.asarray(
        transform(from_com_inertia(own.mass, com, R @ own.tensor @ R.T), solid.frame.rotation, solid.frame.position)
    )


def _of_material(scene: Scene, prim) -> float | None:
    """kg/m^3 of the physical material of a prim."""
    from pxr import UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    found = value(material.GetPrim(), "physics:density") if material else None
    if found is None or not (np.isfinite(found) and found > 0):
        return None
    return scene.units.mass / scene.units.length**3 * float(found)
