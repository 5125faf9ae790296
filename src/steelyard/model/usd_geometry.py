"""Geometry of a USD stage: solids and meshes of bodies as pieces and shapes, and the moments of colliders.

OpenUSD's primitives are scaled by the frames above them; only those that stay a solid of the same kind are exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.inertia import mesh, pseudo, solids
from steelyard.inertia.hull import hull_of
from steelyard.inertia.mesh_checks import is_closed
from steelyard.inertia.rotation import to_quaternion
from steelyard.model.meshes import Piece
from steelyard.model.sketch import Shape
from steelyard.model.usd_scene import PrimFrame, Scene, applied, value
from steelyard.numbers import SAME

# columns: axes of a frame whose z is the named one
UP = {"X": np.eye(3)[:, [1, 2, 0]], "Y": np.eye(3)[:, [2, 0, 1]], "Z": np.eye(3)}
SIZES = {
    "Cube": {"size": 2.0},
    "Sphere": {"radius": 1.0},
    "Cylinder": {"radius": 1.0, "height": 2.0},
    "Capsule": {"radius": 0.5, "height": 1.0},
    "Cone": {"radius": 1.0, "height": 2.0},
}
"""Geometry that is a solid: attributes with the schema's fallbacks, stage units."""
SITES = ("NewtonSiteAPI", "MjcSiteAPI")  # of gprims that mark a place
SHOWN = ("default", "render", "proxy")
MOST = 2_000_000  # corners of a mesh


@dataclass(frozen=True, eq=False)
class GprimSolid:
    """A gprim of a body. frame: in that of the body, stretch in m. kind: of `SIZES` or "Mesh". sizes: of a solid in the
    prim's own units, about an axis z that `up` (3, 3) turns; points, faces: of a mesh."""

    prim: Any
    frame: PrimFrame
    kind: str
    sizes: tuple[float, ...] = ()
    up: np.ndarray | None = None
    points: np.ndarray | None = None
    faces: np.ndarray | None = None

    @property
    def collides(self) -> bool:
        """Whether it is an enabled collider."""
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
        return self._own_points() @ self.stretch.T

    @property
    def triangles(self) -> np.ndarray | None:
        """(f, 3) of `vertices`, counterclockwise from outside; None where the hull is meant."""
        if self.faces is None:
            return None
        return self.faces[:, ::-1] if np.linalg.det(self.frame.stretch) < 0 else self.faces

    def _own_points(self) -> np.ndarray:
        if self.points is not None:
            return self.points
        return solids.points(*self.own_solid)

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
    sizes = []
    for name, fallback in SIZES[kind].items():
        stated = value(prim, name)
        sizes.append(fallback if stated is None else float(stated))
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
            quaternion = np.roll(to_quaternion(frame.rotation @ up), 1)
            place = {"pos": frame.position, "quat": quaternion, "size": np.array([0.0, 0.0, 1.0])}
            found.append({"name": str(prim.GetPath()), "type": mujoco.mjtGeom.mjGEOM_PLANE} | place)
    return found
