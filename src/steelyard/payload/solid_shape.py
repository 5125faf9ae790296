"""The shape of what is held, from whatever is at hand: mesh, trimesh object, arrays, ellipsoid, point cloud, voxels.

Everything becomes a `Solid`: points that fill the inside evenly. A closed mesh is filled exactly; a cloud or an open
mesh through voxels, which need no topology; too few points through their convex hull. What was assumed is in `notes`.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import InertiaError, OptionError
from steelyard.extras import extra
from steelyard.inertia import Ellipsoid, mesh, mesh_files, pseudo
from steelyard.inertia.hull import corners, hull_of
from steelyard.payload import filling

POINTS = 2000  # target number of points of a solid: its moments are then right to about a per cent
FEWEST_CLOUD = 150  # points; a sparser cloud shows its hull and nothing more
EVEN = 1 / np.sqrt(12)  # standard deviation of what lies anywhere within one
ONE_OF_SIX = np.sqrt(5) / 6  # standard deviation of what is one on one of six sides and zero on the others
TOUCHED = "voxel grid"  # of trimesh: its outer voxels are those that the surface touches, so their centres lie on it
ALIKE = 0.01  # of the largest or of all moments, which points know no better: less does not tell axes apart
MOST_UNSEEN = 0.7  # of a shape; of less than that nothing follows
LARGEST = 3.0  # m: nothing held by an arm is larger, so the file is in millimetres


@dataclass(frozen=True, eq=False)
class Solid:
    """The inside of a shape, in the sensor frame.

    points: (n, 3) in m, each standing for the same small box; spacing: (3,) sides of that box, m; lower, upper: (3,)
    corners of the bounding box; homogeneous: (10,) inertial parameters of 1 kg spread evenly; source: what it was made
    from, in words. How far the true shape may be another, as standard deviations: pose_std of its rotation about its
    centre, rad, and of its position, m; scale_std of its size, a share; side_std (3,) of each of the two sides along
    axes (3, 3), columns, m.
    """

    points: np.ndarray
    spacing: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    homogeneous: np.ndarray
    source: str
    notes: tuple[str, ...] = ()
    pose_std: tuple[float, float] = (0.0, 0.0)
    scale_std: float = 0.0
    side_std: np.ndarray = field(default_factory=lambda: np.zeros(3))
    axes: np.ndarray = field(default_factory=lambda: np.eye(3))

    @property
    def uncertain(self) -> bool:
        """Whether the true shape may be another."""
        return any(self.pose_std) or self.scale_std > 0 or bool(self.side_std.any())

    @property
    def sides(self) -> np.ndarray:
        """(3,) sides of the bounding box, m."""
        return self.upper - self.lower

    @property
    def volume(self) -> float:
        """Volume in m^3, as far as the points know it."""
        return len(self.points) * float(np.prod(self.spacing))

    @property
    def extents(self) -> np.ndarray:
        """(3,) lengths along `axes`, m."""
        return np.ptp(self.points @ self.axes, axis=0) + np.abs(self.axes).T @ self.spacing

    def mapped(self, linear, shift) -> "Solid":
        """The shape after a linear map (3, 3) about the centre of the homogeneous shape, and a shift (3,), m.

        `x -> T x` makes `T J T^T` of a pseudo-inertia J, whatever the form.
        """
        center, T = self.homogeneous[1:4], np.eye(4)
        T[:3, :3], T[:3, 3] = linear, center + shift - linear @ center
        points, spacing = self.points @ linear.T + T[:3, 3], self.spacing * np.linalg.det(linear) ** (1 / 3)
        axes, upper = np.linalg.qr(linear @ self.axes)
        return replace(
            self,
            points=points,
            spacing=spacing,
            lower=points.min(axis=0) - spacing / 2,
            upper=points.max(axis=0) + spacing / 2,
            homogeneous=pseudo.to_parameters(T @ pseudo.to_matrix(self.homogeneous) @ T.T),
            axes=axes * np.sign(np.diag(upper)),
        )

    @cached_property
    def ellipsoid(self) -> Ellipsoid:
        """A small ellipsoid around the points (the smallest around them, a little enlarged for their own extent)."""
        from steelyard.inertia import minimum_volume_ellipsoid

        return minimum_volume_ellipsoid(self.corners, tolerance=1e-4)

    @cached_property
    def corners(self) -> np.ndarray:
        """(k, 3) corners of the convex hull of the small boxes around all points, which have volume where the points
        lie in a plane or on a line."""
        half = self.spacing / 2
        offsets = half * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
        return corners((corners(self.points)[:, None] + offsets).reshape(-1, 3))

    def coarse_hull(self, most: int) -> np.ndarray:
        """(k, 3) points whose hull holds the shape: its own corners if there are no more, else those of the polyhedron
        of 26 directions around it (between 8 and 48)."""
        from scipy.spatial import HalfspaceIntersection

        vertices = self.corners
        if len(vertices) <= most:
            return vertices
        around = HalfspaceIntersection(
            np.column_stack([_DIRECTIONS, -(vertices @ _DIRECTIONS.T).max(axis=0)]), vertices.mean(axis=0)
        ).intersections
        return corners(around)

    def distance_outside(self, point) -> float:
        """How far a point (3,) lies outside the convex hull of the solid, m; 0 inside."""
        hull = hull_of(self.corners)
        assert hull is not None  # of boxes that have volume
        return float(max(0.0, (hull.equations[:, :3] @ np.asarray(point) + hull.equations[:, 3]).max()))

    def sample(self, count: int, *, seed: int = 0) -> np.ndarray:
        """(count, 3) of the points, spread evenly; all of them when there are not more."""
        if count >= len(self.points):
            return self.points
        _, _, members = self.cells(count)
        rng = np.random.default_rng(seed)
        chosen = rng.permutation(len(self.points))
        first = np.unique(members[chosen], return_index=True)[1]  # one random point of every cell
        picked = chosen[first]
        rest = np.setdiff1d(chosen, picked)
        return self.points[np.concatenate([picked, rng.permutation(rest)])[:count]]

    def cells(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """About `count` (at most) cubic cells of equal size: parameters (10, k) of 1 kg spread in each, shares (k,) of
        the volume, and the cell of every point (n,).
        """
        side = (self.volume / count) ** (1 / 3)
        while True:
            index = np.floor((self.points - self.lower) / side).astype(int)
            _, members = np.unique(index, axis=0, return_inverse=True)
            members = members.ravel()
            if members.max() < count:
                break
            side *= 1.04
        weight = np.bincount(members)
        columns = small_boxes(self.points, self.spacing)
        sums = np.stack([np.bincount(members, weights=row) for row in columns])
        return sums / weight, weight / len(self.points), members


_DIRECTIONS = np.array([d for d in np.ndindex(3, 3, 3) if d != (1, 1, 1)], dtype=float) - 1


def unit_masses(points) -> np.ndarray:
    """`P` (10, n): inertial parameters of 1 kg at each point (n, 3), `theta = P masses` (paper E, 5)."""
    lifted = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    return pseudo.to_parameters(lifted[:, :, None] * lifted[:, None, :]).T


def small_boxes(points, spacing) -> np.ndarray:
    """(10, n): inertial parameters of 1 kg spread over a box with sides `spacing` (3,) around each point (n, 3)."""
    columns, own = unit_masses(points), np.asarray(spacing) ** 2 / 12
    columns[[4, 6, 9]] += (own.sum() - own)[:, None]
    return columns


def solid_of(
    shape,
    *,
    density: float | None = None,
    scale: float = 1.0,
    pose=None,
    pose_std=None,
    scale_std: float | None = None,
    unseen: float = 0.0,
    seed: int = 0,
) -> Solid:
    """A `Solid` of any shape, in the sensor frame.

    Args:
        shape: a Solid (returned as it is); path of a mesh or point cloud; trimesh mesh, primitive, scene, point cloud
            or voxel grid; `Ellipsoid`; (vertices, faces); or points (n, 3) in m, on the surface or the centres of
            voxels.
        density: points per cm^3 (paper E uses 0.04); by default about 2000 points in all.
        scale: metres per unit of a file.
        pose: (R, p), rotation (3, 3) and position (3,) in m of the shape's own frame in the sensor frame, by default
            the same frame.
        pose_std: (rad, m), standard deviations of that rotation about the shape's centre and of that position, an
            axis; zero by default, and for a Solid its own. Only method "density" accounts for what is uncertain.
        scale_std: standard deviation of the scale, as a share.
        unseen: share of the true volume that is missing on one side, not known which, as it was hidden from a camera.
        seed: of the offset of the lattice.

    Returns:
        Points that fill the shape evenly; what was assumed is in `notes`.

    Raises:
        InertiaError: a shape without inside, or larger than an arm can hold.
        OptionError: an unknown kind, density, pose or share.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> box = sy.payload.solid_of(np.array([[x, y, z] for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.3)]))
        >>> box.sides.round(3).tolist(), round(box.volume, 4)
        ([0.1, 0.2, 0.3], 0.006)
    """
    if pose_std is not None or scale_std is not None or unseen:
        solid = solid_of(shape, density=density, scale=scale, pose=pose, seed=seed)
        solid = solid if pose_std is None else replace(solid, pose_std=_spread(pose_std))
        solid = solid if scale_std is None else replace(solid, scale_std=_share(scale_std, "scale_std", 1.0))
        return _enlarged(solid, _share(unseen, "unseen", MOST_UNSEEN))
    if isinstance(shape, Solid):
        return shape
    if density is not None and not (np.isfinite(density) and density > 0):
        raise OptionError(f"density is a positive number of points per cm^3; got {density!r}")
    vertices, faces, source = _read(shape, scale)
    if pose is not None:
        R, p = as_pose(pose, "pose", "the shape in the sensor frame")
        vertices = vertices @ R.T + p
    notes: list[str] = []
    _require_size(vertices, source)
    rng = np.random.default_rng(seed)
    if faces is not None and not mesh.is_closed(faces, len(vertices)):
        vertices = filling.surface_points(vertices, faces, rng)
        notes.append(f"{source} is not closed: its surface was sampled and filled through voxels")
        faces = None
    lattice = filling.lattice_of(vertices) if faces is None and source != TOUCHED else None
    if lattice is not None:
        return _of_voxels(vertices, *lattice, source, _spacing(density), rng)
    if faces is None and len(vertices) < FEWEST_CLOUD:
        notes.append(f"{source} has only {len(vertices)} points: its convex hull stands for the shape")
        vertices, faces = filling.hull(vertices)
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    if faces is not None:
        points, spacing = filling.fill_mesh(vertices, faces, _spacing(density), POINTS, rng)
        outward = faces if filling.volume(vertices, faces) > 0 else faces[:, ::-1]
        theta = mesh.parameters(vertices, outward, density=1.0, check=False)
        homogeneous = theta / theta[0]
    else:
        points, spacing, leaks = filling.fill_cloud(vertices, _spacing(density), POINTS, rng)
        if leaks:
            notes.append(f"{source} does not enclose an inside: mass is assumed near its points only")
        homogeneous = small_boxes(points, spacing).mean(axis=1)
    return Solid(points, spacing, lower, upper, homogeneous, source, tuple(notes))


def _of_voxels(centers, steps, walls: bool, source, spacing, rng) -> Solid:
    """The union of voxels with these centres (n, 3) and edges (3, 3). The surface is anywhere within half a voxel of
    theirs, as a voxel belongs to a shape that holds its centre."""
    points, spacing = filling.fill_voxels(centers, steps, spacing, POINTS, rng)
    reach = np.abs(steps).sum(axis=0) / 2
    edges = np.linalg.norm(steps, axis=1)
    size = " x ".join(f"{1e3 * edge:.3g}" for edge in edges)
    moments = pseudo.to_matrix(unit_masses(centers).mean(axis=1))
    moments[:3, :3] += steps.T @ steps / 12
    notes = [
        f"{source}: taken as the centres of {len(centers)} voxels of {size} mm; the shape ends half a voxel beyond"
    ]
    if walls:
        notes.append(f"{source} is walls without an inside: mass is assumed in them only")
    return Solid(
        points,
        spacing,
        centers.min(axis=0) - reach,
        centers.max(axis=0) + reach,
        pseudo.to_parameters(moments),
        source,
        tuple(notes),
        side_std=np.full(3, EVEN * edges.mean()),
        axes=_principal_axes(points, (steps / edges[:, None]).T),
    )


def _enlarged(solid: Solid, unseen: float) -> Solid:
    """The shape as it is on average if a share of its volume is missing on one of six sides, and by how much each side
    may be elsewhere."""
    if not unseen:
        return solid
    solid = solid if solid.side_std.any() else replace(solid, axes=_principal_axes(solid.points))
    more = unseen / (1 - unseen)
    missing = solid.extents * more
    note = f"{unseen:.3g} of the volume was not seen: the shape may be longer by {more:.2g} of its length, on one side"
    wider = solid.mapped((solid.axes * (1 + more / 3)) @ solid.axes.T, np.zeros(3))
    return replace(wider, side_std=np.hypot(solid.side_std, ONE_OF_SIX * missing), notes=(*solid.notes, note))


def _principal_axes(points, usual=None) -> np.ndarray:
    """(3, 3) columns, of points (n, 3); near usual ones (3, 3), or those of the sensor, where extents are alike."""
    usual, spread = np.eye(3) if usual is None else usual, np.cov(points.T)
    return np.linalg.eigh(spread + ALIKE * np.trace(spread) * (usual * [1, 2, 3]) @ usual.T)[1]


def as_pose(pose, name: str, of: str) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and position (3,) in m; an OptionError names what is none, and what it is a pose of."""
    try:
        R, p = (np.asarray(each, dtype=float) for each in pose)
    except (TypeError, ValueError):
        R, p = np.zeros((2, 0))
    if R.shape != (3, 3) or p.shape != (3,) or not (np.abs(R @ R.T - np.eye(3)).max() < 1e-6 and np.isfinite(p).all()):
        R = np.zeros((3, 3))
    if np.linalg.det(R) <= 0:
        raise OptionError(f"{name} is (R, p): a rotation matrix (3, 3) and a position (3,) in m of {of}")
    return R, p


def _spread(pose_std) -> tuple[float, float]:
    found = np.asarray(pose_std, dtype=float)
    if found.shape != (2,) or not (np.isfinite(found).all() and (found >= 0).all()):
        raise OptionError(
            f"pose_std is two standard deviations, of the shape's rotation in rad and position in m; got {pose_std!r}"
        )
    return float(found[0]), float(found[1])


def _share(value, name: str, most: float) -> float:
    if not (np.ndim(value) == 0 and 0 <= value < most):
        raise OptionError(f"{name} is a share, from 0 to less than {most:g}; got {value!r}")
    return float(value)


def _spacing(density):
    return None if density is None else (1e-6 / density) ** (1 / 3)


def _require_size(vertices, source):
    if len(vertices) < 4 or not np.isfinite(vertices).all():
        raise InertiaError(f"{source} has {len(vertices)} points; expected at least 4 finite ones in m")
    extent = float(np.ptp(vertices, axis=0).max())
    if extent > LARGEST:
        raise InertiaError(
            f"{source} spans {extent:.4g} m, which no arm holds: is it in millimetres? Pass scale=0.001 (--scale 0.001)"
        )


def _read(shape: Any, scale):
    """Vertices (n, 3), faces (f, 3) or None for a cloud, and words for messages."""
    if isinstance(shape, str | Path):
        return _read_file(Path(shape), scale)
    if isinstance(shape, Ellipsoid):
        vertices, faces = filling.sphere()
        T = np.linalg.inv(shape.to_ball)
        return vertices @ T[:3, :3].T + T[:3, 3], faces, "ellipsoid"
    if isinstance(shape, tuple):
        vertices, faces = mesh.as_mesh(*shape[:2])
        return vertices * scale, faces, "mesh"
    return _read_object(shape, scale)


def _read_object(shape: Any, scale):
    """The same of a trimesh object, known by its attributes, or of an array of points."""
    kind = type(shape).__name__
    if hasattr(shape, "matrix") and hasattr(shape, "points") and hasattr(shape, "pitch"):  # trimesh.voxel.VoxelGrid
        return np.asarray(shape.points) * scale, None, TOUCHED
    if hasattr(shape, "to_mesh"):
        shape = shape.to_mesh()
    if hasattr(shape, "vertices"):
        faces = getattr(shape, "faces", None)
        has_faces = faces is not None and len(faces)
        return np.asarray(shape.vertices, float) * scale, np.asarray(faces) if has_faces else None, kind
    array: np.ndarray = np.asarray(shape) if isinstance(shape, np.ndarray | list) else np.empty(0)
    if array.ndim == 2 and array.shape[1] == 3 and array.dtype.kind in "fiu":
        return array.astype(float) * scale, None, "point cloud"
    raise OptionError(
        f"shape is {kind}; expected a mesh or point cloud file, a trimesh object, an Ellipsoid, (vertices, faces), or "
        "points (n, 3) in metres in the sensor frame"
    )


def _read_file(path, scale):
    if path.suffix.lower() in (".ply", ".xyz", ".obj") and path.is_file():
        with extra("Reading meshes"):
            import trimesh

        try:
            loaded = trimesh.load(path)
        except mesh_files.BROKEN as error:
            raise InertiaError(
                f"{path.name}: cannot be read as a mesh or point cloud ({error}); export it again"
            ) from error
        vertices, faces = getattr(loaded, "vertices", None), getattr(loaded, "faces", None)
        if vertices is not None and len(vertices) and (faces is None or not len(faces)):
            return np.asarray(vertices, dtype=float) * scale, None, f"point cloud {path.name}"
    vertices, faces = mesh_files.load(path, scale=scale)
    return vertices, faces, f"mesh {path.name}"
