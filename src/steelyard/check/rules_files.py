"""SY6xx: files a model names."""

from collections.abc import Iterator

import numpy as np

from steelyard.check.part_geometry import geometry_of
from steelyard.check.rule import Hit, reported, rule
from steelyard.check.shaped_inertials import is_placeholder
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.references import WAYS
from steelyard.model.sketch import Part, Sketch


@rule("SY601", "missing-file", "warning")
def missing_file(sketch: Sketch) -> Iterator[Hit]:
    """A mesh or texture does not exist.

    Why: Viewers show nothing, simulators have no contact there or refuse the model, and no rule on geometry can be
    checked for the link.
    Example:
        <mesh filename="package://my_robot/meshes/arm.stl"/>   (the file is called Arm.stl)
    Remedy: Correct the path; names are case-sensitive on most systems. A model that was copied out of its folder finds
    its meshes by --folder DIR.
    """
    remedy = "Correct the path, add the file, or name its folder: --folder DIR."
    yield from reported(sketch, "SY601", remedy)


@rule("SY602", "unreadable-file", "warning")
def unreadable_file(sketch: Sketch) -> Iterator[Hit]:
    """A mesh cannot be read.

    Why: It is empty, truncated, of an unknown format, without triangles, too large, or may not be opened. Often it is a
    Git LFS pointer instead of the mesh.
    Example:
        arm.stl of 130 bytes that starts with "version https://git-lfs"
    Remedy: Fetch or export the file again.
    """
    yield from reported(sketch, "SY602", "Fetch or export the file again.")


@rule("SY603", "outside-package", "warning")
def outside_package(sketch: Sketch) -> Iterator[Hit]:
    """A file is outside the model's package.

    Why: A path that is absolute, climbs out with `..`, or runs through a symbolic link works on one computer only, and
    a model from elsewhere should not make programs open files of yours. Such files are not opened here. The package is
    the nearest folder above the model with package.xml, model.config, .git, pyproject.toml or __init__.py, else the
    model's own folder, or the one around it where that holds all files that the model names.
    Example:
        <mesh filename="../../../../home/me/arm.stl"/>
    Remedy: Put the file into the package and name it relative to the model, or with package://. If it is yours, allow
    its folder: --folder DIR.
    """
    yield from reported(sketch, "SY603", "Put the file into the model's package, or allow its folder: --folder DIR.")


@rule("SY604", "unchecked-file", "info")
def unchecked_file(sketch: Sketch) -> Iterator[Hit]:
    """A file could not be looked for.

    Why: Its package is neither beside the model nor installed, it has a network address, or its format needs a further
    package. Rules on the geometry of the link were skipped.
    Example:
        <mesh filename="package://ur_description/meshes/base.stl"/>  with no such package installed
    Remedy: Install the package (ROS packages are found through ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, those of pip
    such as example-robot-data as they are), put it beside the model, or name its folder: --folder DIR.
    """
    yield from reported(sketch, "SY604", WAYS)


@rule("SY605", "mesh-scale", "warning")
def mesh_scale(sketch: Sketch) -> Iterator[Hit]:
    """The geometry of a link is a thousand times too large or too small.

    Why: Mesh formats carry no units; CAD programs write millimetres. Without scale="0.001 0.001 0.001" a hand is as
    large as a house, with a scale too many it is smaller than a grain, and rules on geometry mean nothing. Geometry of
    more than 20 m is named, and geometry that the radius of gyration of its link's mass contradicts.
    Example:
        <mesh filename="hand.stl"/>   for a file in millimetres
    Remedy: Correct the scale, or export in metres.
    """
    for index, part in enumerate(sketch.parts):
        geometry = geometry_of(sketch, index) if part.shapes and part.moves else None
        if geometry is None:
            continue
        extents = np.ptp(geometry.points, axis=0)
        size, ratio = " x ".join(f"{x:.3g}" for x in extents), _over_gyration(part, geometry.diagonal)
        message = f"{sketch.word} '{part.name}' has geometry of {size} m"
        if extents.max() > THRESHOLDS.largest or (ratio > THRESHOLDS.shrunk[1] and extents.max() > 1.0):
            remedy = 'Add scale="0.001 0.001 0.001", or export in metres.'
            yield Hit(part.shapes[0].place, f"{message}; a mesh in millimetres?", remedy)
        elif ratio < THRESHOLDS.shrunk[0]:
            message += f", and its mass a radius of gyration of {geometry.diagonal / ratio:.3g} m"
            told = f"{message}; scaled by 0.001 once too often?"
            yield Hit(part.shapes[0].place, told, "Correct the scale of the mesh, or the tensor.")


def _over_gyration(part: Part, diagonal: float) -> float:
    """Diagonal of a geometry, m, over the radius of gyration of its link's mass; 1 where this says nothing."""
    inertial = part.inertial
    if inertial is None or not inertial.usable or inertial.is_point or is_placeholder(inertial):
        return 1.0
    squared = float(np.trace(inertial.tensor)) / 2 / inertial.mass
    return diagonal / np.sqrt(squared) if 0 < squared < THRESHOLDS.far**2 else 1.0
