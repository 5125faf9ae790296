"""SY3xx and SY605: inertias against the collision and visual geometry of the link and of what is fixed to it."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from steelyard.arguments import shown
from steelyard.check.part_geometry import geometry_of
from steelyard.check.rule import Hit, figures, rule
from steelyard.check.shaped_inertials import (
    ShapedInertial,
    about_origins,
    at_centre,
    difference,
    is_placeholder,
    shaped_inertials,
    unit_error,
)
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Sketch, SketchPart
from steelyard.numbers import SAME

FROM_GEOMETRY = "Recomputed from the geometry, filled evenly, at the stated mass."


@rule("SY301", "com-outside", "warning", repairs=FROM_GEOMETRY)
def com_outside(sketch: Sketch) -> Iterator[Hit]:
    """The centre of mass lies outside the link's geometry.

    Why: The centre of mass of a body is inside its convex hull. Outside by more than 15 % of the hull's diagonal
    (and a centimetre) means wrong frame, wrong sign, wrong units, or an inertial of another link. Less can be a motor
    or a bearing that is drawn with the neighbouring link. Geometry of links fixed to it counts, collision and visual
    alike. Inside the geometry of the link before it (and not at the frame's origin, a placeholder) it is a note: shafts
    and motors of a roll joint often reach into the tube that carries them.
    Example:
        <inertial><origin xyz="0 0 5"/>...  on a link whose mesh is 0.3 m long
    Remedy: Express the centre of mass in the link's frame, in metres.
    """
    for w in shaped_inertials(sketch):
        if w.outside > max(THRESHOLDS.outside * w.geometry.diagonal, THRESHOLDS.outside_least):
            message = (
                f"{sketch.word} '{w.name}': centre of mass ({figures(w.inertial.com)}) m is {w.outside:.3g} m outside "
                f"its geometry, which has a diagonal of {w.geometry.diagonal:.3g} m."
            )
            severity = "info" if _in_parent(sketch, w) and w.inertial.com.any() else None
            yield Hit(w.inertial.place, message, "Express the centre of mass in the link's frame, in metres.", severity)


@rule(
    "SY302",
    "too-spread",
    "warning",
    repairs="Nearest inertia whose mass fits into the enclosing ellipsoid (entropic projection).",
)
def too_spread(sketch: Sketch) -> Iterator[Hit]:
    """The inertia is too large for the link's geometry.

    Why: No mass distribution inside the smallest ellipsoid around the geometry (grown by a tenth) has these second
    moments: tr(J Q) < 0. Either the tensor is too large or it is about another point.
    Example:
        <mass value="1"/><inertia ixx="0.5" .../>  on a link of 0.2 m
    Remedy: Check units and the reference point of the tensor: all formats want it about the centre of mass.
    """
    for w in shaped_inertials(sketch):
        if not w.excess > THRESHOLDS.excess:
            continue
        if not (unit_error(w) or is_placeholder(w.inertial) or wrong_point(w) is not None):
            message = (
                f"{sketch.word} '{w.name}': its second moments are {1 + w.excess:.3g} times what mass inside its "
                "geometry can have."
            )
            yield Hit(w.inertial.place, message, "Check units and reference point of the tensor.")


@rule("SY303", "too-concentrated", "warning", repairs=FROM_GEOMETRY)
def too_concentrated(sketch: Sketch) -> Iterator[Hit]:
    """The inertia is far too small for the link's geometry.

    Why: The radius of gyration is below 3 % of what the evenly filled geometry has, as if all mass sat in one point.
    Steps of simulation become stiff, and contact at the link's surface spins it.
    Example:
        <mass value="3"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6"/>  on a link of 0.5 m
    Remedy: Check units; replace a placeholder by the tensor from CAD.
    """
    for w in shaped_inertials(sketch):
        if 0 < w.gyration < THRESHOLDS.concentrated:
            message = (
                f"{sketch.word} '{w.name}': its inertia is {w.gyration:.2g} times that of its geometry filled "
                f"evenly with {w.inertial.mass:g} kg."
            )
            yield Hit(w.inertial.place, message, "State the tensor from CAD in kg m^2.")


@rule("SY304", "wrong-axes", "warning", repairs="Tensor turned into the axes that fit the geometry.")
def wrong_axes(sketch: Sketch) -> Iterator[Hit]:
    """The tensor is given in other axes than the link's.

    Why: Mirrored or swapped axes fit the geometry well where the stated ones do not: products of inertia with the
    opposite sign convention, a tensor exported from a frame with other axes, or principal moments in another order.
    Example:
        ixy = +0.02 for a part whose mesh has -0.02
    Remedy: Express the tensor in the axes of the inertial's frame, with products of inertia as -∫xy dm.
    """
    for w in shaped_inertials(sketch):
        better = other_axes(w)
        if better is not None:
            how, _ = better
            message = f"{sketch.word} '{w.name}': the tensor does not fit its geometry, but does with {how}."
            yield Hit(w.inertial.place, message, "Express the tensor in the axes of the link.")


@rule("SY305", "wrong-point", "warning", repairs="Tensor moved to the centre of mass (parallel-axis theorem).")
def wrong_point_rule(sketch: Sketch) -> Iterator[Hit]:
    """The tensor is given about the link's origin instead of the centre of mass.

    Why: All formats want the tensor about the centre of mass. Moved there from the origin it fits the geometry well;
    as stated it does not. The link then is harder to turn than it is, by m d^2. Without geometry a whole robot is
    reported: every link's mass is spread at least as far as its origin.
    Example:
        A rod of 1 m with its origin at one end and ixx = m/3 instead of m/12
    Remedy: Choose "at the centre of mass, aligned with the output frame" in the CAD dialog.
    """
    whole = about_origins(sketch)
    for index in whole:
        part = sketch.parts[index]
        assert part.inertial is not None
        message = (
            f"{sketch.word} '{part.name}': on all links the tensor holds mass times squared distance of the origin."
        )
        yield Hit(part.inertial.place, message, "State the tensor about the centre of mass.")
    for w in shaped_inertials(sketch):
        if w.index not in whole and wrong_point(w) is not None:
            message = f"{sketch.word} '{w.name}': the tensor fits its geometry only when taken about the link's origin."
            yield Hit(w.inertial.place, message, "State the tensor about the centre of mass.")


@rule("SY306", "centre-at-origin", "warning", repairs="Centre of mass of the geometry, filled evenly.")
def centre_at_origin(sketch: Sketch) -> Iterator[Hit]:
    """The centre of mass was forgotten: it is the link's origin, and the geometry lies elsewhere.

    Why: Exporters and people leave <origin> out, or write 0 0 0. Gravity then pulls at the joint, and torques are far
    too small. Named are links whose tensor is that of their geometry filled evenly about its own centre, and all links
    where every one of the robot has its centre at exactly 0 0 0 and most geometry lies elsewhere.
    Example:
        <inertial><origin xyz="0 0 0"/>...  on a link whose mesh starts at its joint and is 0.3 m long
    Remedy: State the centre of mass in the link's frame.
    """
    judged = [w for w in shaped_inertials(sketch) if w.part.moves and w.filled is not None and w.part.shapes]
    away = [w for w in judged if not w.inertial.com.any() and not w.centred]
    whole = all(not w.inertial.com.any() for w in judged) and len(away) >= THRESHOLDS.several
    for w, (com, tensor) in ((w, w.filled) for w in away if w.filled is not None):
        fits = difference(w.inertial.tensor_in_part, tensor) < THRESHOLDS.alike
        if fits or (whole and 2 * len(away) > len(judged)):
            message = f"{sketch.word} '{w.name}' has its centre of mass at its origin, and its geometry "
            message += f"{'with the same tensor ' if fits else ''}around ({figures(np.round(com, 6) + 0.0)}) m."
            yield Hit(w.inertial.place, message, "State the centre of mass.")


def _in_parent(sketch: Sketch, w: ShapedInertial) -> bool:
    """Whether the centre of mass lies in the hull of the rigid body that carries the part, at the zero position."""
    carrier = sketch.parts[sketch.carrier[w.index]]
    geometry = None if carrier.parent is None else geometry_of(sketch, carrier.parent)
    if geometry is None or geometry.hull is None:
        return False
    R, p = sketch.placed[w.index]
    return geometry.outside(carrier.rotation @ (R @ w.inertial.com + p) + carrier.position) <= 0


def other_axes(w: ShapedInertial) -> tuple[str, np.ndarray] | None:
    """How to turn the tensor so that it fits (hollow parts in shape, not in size), and it in the part's axes; None if
    fine."""
    solid = w.solid_tensor
    if solid is None or not w.centred or not w.part.shapes or not 1 / 3 < w.gyration < 3:
        return None
    given = w.inertial.tensor_in_part
    target = solid * w.gyration
    if difference(given, target) < THRESHOLDS.unlike:
        return None
    fits = [(difference(turned, target), how, turned) for how, turned in _turned(given)]
    best = min(fits, key=lambda fit: fit[0])
    return (best[1], best[2]) if best[0] < THRESHOLDS.alike else None


def _turned(tensor: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for signs in ((-1, 1, 1), (1, -1, 1), (1, 1, -1)):
        S = np.diag(signs)
        axis = "xyz"[signs.index(-1)]
        yield f"the products of inertia of {axis} negated", S @ tensor @ S
    off = tensor - np.diag(np.diag(tensor))
    yield "all products of inertia negated", tensor - 2 * off
    for order in ((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
        names = "".join("xyz"[i] for i in order)
        for signs in product((1, -1), repeat=2):
            P = np.eye(3)[list(order)] * np.array([1, *signs])[:, None]
            yield f"the axes in the order {names}", P @ tensor @ P.T


def wrong_point(w: ShapedInertial) -> np.ndarray | None:
    """The tensor (3, 3) about the centre of mass if the stated one is about the origin, else None."""
    solid = w.solid_tensor
    if solid is None or not w.centred or not difference(w.inertial.tensor_in_part, solid) > THRESHOLDS.unlike:
        return None
    if unit_error(w):
        return None
    moved = at_centre(w.inertial)
    moments = np.linalg.eigvalsh(moved)
    if moments[0] <= 0 or moments[0] + moments[1] < moments[2]:
        return None
    return moved if difference(moved, solid) < THRESHOLDS.alike else None


@rule("SY605", "mesh-scale", "warning")
def mesh_scale(sketch: Sketch) -> Iterator[Hit]:
    """The geometry of a link is a thousand times too large or too small.

    Why: Mesh formats carry no units; CAD programs write millimetres. Without scale="0.001 0.001 0.001" a hand is as
    large as a house, with a scale too many it is smaller than a grain, and rules on geometry mean nothing. Geometry of
    more than 20 m is named, geometry that the radius of gyration of its link's mass contradicts, collision geometry
    of another unit than the visual one, and shapes that a size or scale of zero makes a line or a point, which MuJoCo
    refuses.
    Example:
        <mesh filename="hand.stl"/>   for a file in millimetres
    Remedy: Correct the scale, or export in metres.
    """
    for index, part in enumerate(sketch.parts):
        lines = [shape for shape in part.shapes if _is_line(shape.vertices)]
        for shape in lines:
            said = f"{sketch.word} '{part.name}' has {shape.role} geometry of no size"
            yield Hit(shape.place, f"{said} ({shown(shape.source)}).", "Correct its size or scale, or remove it.")
        geometry = geometry_of(sketch, index) if part.shapes and part.moves and not lines else None
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
        both = ([s.vertices for s in part.shapes if s.role == role] for role in ("collision", "visual"))
        a, b = (float(np.linalg.norm(np.ptp(np.concatenate(each or [np.zeros((1, 3))]), axis=0))) for each in both)
        if a and b and THRESHOLDS.thousand[0] < max(a / b, b / a) < THRESHOLDS.thousand[1]:
            message = f"{sketch.word} '{part.name}' has collision geometry of {a:.3g} m and visual one of {b:.3g} m"
            yield Hit(part.shapes[0].place, f"{message}; one in millimetres?", "Correct the scale of one.")


def _is_line(vertices: np.ndarray) -> bool:
    """Whether points (n, 3) lie on a line, or are one."""
    centred = vertices - vertices.mean(axis=0)
    return bool(np.linalg.svd(centred.T @ centred, compute_uv=False)[1] <= SAME**2 * np.square(vertices).sum())


def _over_gyration(part: SketchPart, diagonal: float) -> float:
    """Diagonal of a geometry, m, over the radius of gyration of its link's mass; 1 where this says nothing."""
    inertial = part.inertial
    if inertial is None or not inertial.usable or inertial.is_point or is_placeholder(inertial):
        return 1.0
    squared = float(np.trace(inertial.tensor)) / 2 / inertial.mass
    return diagonal / np.sqrt(squared) if 0 < squared < THRESHOLDS.far**2 else 1.0
