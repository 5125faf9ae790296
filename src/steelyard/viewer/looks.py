"""What the model file of a robot shows: visual and collision geometry with its colours."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from steelyard.errors import ModelError
from steelyard.inertia import solids
from steelyard.model import (
    MESH,
    ROLES,
    Meshes,
    Resolved,
    Robot,
    Source,
    body_name,
    compile_file,
    compiled_rotation,
    floats,
    geom_shape,
    origin,
    parse,
    read_colored,
    shape_of,
)
from steelyard.viewer.shape import Looks, Part, Shape, hull_shape

SEEN_GROUPS = 3  # MuJoCo draws geoms of the groups below this one


def looks(robot: Robot) -> Looks:
    """Geometry of the file a robot was read from. What cannot be read is named in `gaps`, and never an error, as long
    as the file still is a model.
    """
    if robot.source is None:
        return Looks(gaps=("The robot was not read from a file: it has no meshes.",))
    return (_of_urdf if robot.source.format == "urdf" else _of_mjcf)(robot.source)


@dataclass(eq=False)
class _Shapes:
    """Shapes found so far, each once."""

    found: list[Shape] = field(default_factory=list)
    places: dict = field(default_factory=dict)

    def place(self, key, make) -> int:
        """Index of the shape called `key`, made by `make()` when it is met first. Raises ModelError for a vast one."""
        if key not in self.places:
            shape = make()
            if not np.isfinite(shape.size):
                raise ModelError("the shape is too large to be shown")
            self.places[key] = len(self.found)
            self.found.append(shape)
        return self.places[key]


def _of_urdf(file: Source) -> Looks:
    path = file.path
    root = parse(path)
    named = {each.get("name"): _rgba(each, path) for each in root.findall("material")}
    shapes, parts, gaps = _Shapes(), [], {}
    source = Meshes(path.parent, file.folders)
    for link in root.findall("link"):
        for role in ROLES:
            for element in link.findall(role):
                try:
                    parts.append(_part(element, link.get("name"), path, source, shapes, named))
                except ModelError as error:
                    gaps.setdefault(str(error).rstrip("."), []).append(link.get("name"))
    return Looks(tuple(shapes.found), tuple(parts), tuple(_said(gaps)))


def _said(gaps: dict[str, list[str]]) -> Iterator[str]:
    for problem, links in gaps.items():
        where = f"link '{links[0]}'" + (f" and {len(links) - 1} more" if len(links) > 1 else "")
        yield f"Not shown of {where}: {problem}."


def _part(element, link: str, path: Path, source: Meshes, shapes: _Shapes, named) -> Part:
    kind, mesh, size = shape_of(element, path)
    R, p = origin(element, path)
    key = (mesh if kind == MESH else kind, *size)

    def make():
        return _mesh(mesh, source, size) if kind == MESH else hull_shape(solids.from_urdf(kind, size))

    material = element.find("material")
    color = None if material is None else _rgba(material, path) or named.get(material.get("name"))
    return Part(link, shapes.place(key, make), R, p, element.tag, color)


def _rgba(material, path) -> tuple[float, ...] | None:
    color = material.find("color")
    if color is None:
        return None
    try:
        return tuple(np.clip(floats(color, "rgba", 4, path), 0.0, 1.0))
    except ModelError:  # a colour is not worth losing the part
        return None


def _mesh(name: str, source: Meshes, scale) -> Shape:
    found = source.find(name)
    if found.path is None:
        raise ModelError(found.message)
    read = read_colored(found.path, name)
    if isinstance(read, Resolved):
        raise ModelError(read.message)
    vertices, faces, colors = read
    return Shape(vertices * scale, faces[:, ::-1] if np.prod(scale) < 0 else faces, colors)


def _of_mjcf(file: Source) -> Looks:
    m, _ = compile_file(file.path, file.folders)
    shapes, parts, gaps = _Shapes(), [], {}
    for geom in range(m.ngeom):
        solid = geom_shape(m, geom)
        link = body_name(m, m.geom_bodyid[geom])
        if solid is None:
            continue  # planes and height fields are the surroundings
        try:
            if not all(np.isfinite(each[geom]).all() for each in (m.geom_size, m.geom_pos, m.geom_quat, m.geom_rgba)):
                raise ModelError("a geom with sizes or a place that are no numbers")
            faces = solid.faces
            index = shapes.place(
                solid.source,
                lambda s=solid, f=faces: hull_shape(s.vertices) if f is None else Shape(s.vertices, f),
            )
        except ModelError as error:
            gaps.setdefault(str(error), []).append(link)
            continue
        place = (link, index, compiled_rotation(m.geom_quat[geom]), m.geom_pos[geom].copy())
        color = m.geom_rgba[geom] if m.geom_matid[geom] < 0 else m.mat_rgba[m.geom_matid[geom]]
        if m.geom_group[geom] < SEEN_GROUPS and color[3] > 0:
            parts.append(Part(*place, "visual", tuple(color.astype(float))))
        if m.geom_contype[geom] or m.geom_conaffinity[geom]:
            parts.append(Part(*place, "collision"))
    return Looks(tuple(shapes.found), tuple(parts), tuple(_said(gaps)))
