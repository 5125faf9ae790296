"""What a repair puts in the place of a faulty inertial, part by part, until nothing more can be repaired."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.check.part_geometry import PartGeometry, geometry_of
from steelyard.check.rule import Finding, Rule
from steelyard.check.rules_kinds import twin_of
from steelyard.check.rules_shape import other_axes, wrong_point
from steelyard.check.shaped_inertials import (
    ShapedInertial,
    about_origins,
    com_in_millimetres,
    in_grams,
    tensor_in_grams,
    tensor_in_millimetres,
)
from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia import (
    Bounds,
    Consistent,
    Ellipsoid,
    EllipsoidRealizable,
    Intersection,
    from_com_inertia,
    to_com_inertia,
)
from steelyard.model.sketch import Inertial, Sketch

STATED = ("SY104", "SY105", "SY107")
FROM_SOLID = {"SY301", "SY303", "SY404"}
TO_PROJECT = {"SY201", "SY203", "SY204", "SY302"}


@dataclass(frozen=True, eq=False)
class InertialChange:
    """A repaired inertial of a part (by index). codes: what it repairs; how: one text a step; before: None if new."""

    part: int
    codes: tuple[str, ...]
    how: tuple[str, ...]
    before: Inertial | None
    after: Inertial


def repair_inertials(
    sketch: Sketch, rules: tuple[Rule, ...], wanted: Callable[[Finding], bool]
) -> tuple[Sketch, dict[int, InertialChange]]:
    """The sketch with its inertials repaired where a `wanted` finding has a repair, and the changes by part."""
    rules = tuple(rule for rule in rules if rule.repairs)
    changes: dict[int, InertialChange] = {}
    for _ in range(THRESHOLDS.rounds):
        asked: dict[int, set[str]] = {}
        for finding in (f for rule in rules for f in rule.findings(sketch) if wanted(f)):
            index = _part_of(sketch, finding)
            if index is not None:
                asked.setdefault(index, set()).add(finding.code)
        repaired: dict[int, Inertial] = {}
        for index, codes in asked.items():
            if (found := _repaired(sketch, index, codes)) is not None:
                repaired[index] = found[0]
                changes[index] = _joined(changes.get(index), sketch, index, codes, *found)
        if not repaired:
            break
        sketch = with_inertials(sketch, repaired)
    return sketch, changes


def _joined(
    earlier: InertialChange | None, sketch: Sketch, index: int, codes, after: Inertial, how: str
) -> InertialChange:
    if earlier is None:
        return InertialChange(index, tuple(sorted(codes)), (how,), sketch.parts[index].inertial, after)
    both = tuple(sorted({*earlier.codes, *codes}))
    return InertialChange(index, both, (*earlier.how, how), earlier.before, after)


def label_of(sketch: Sketch, index: int) -> str:
    return f"{sketch.word} '{sketch.parts[index].name}'"


def _part_of(sketch: Sketch, finding: Finding) -> int | None:
    name = finding.element.split(" > ")[0].removeprefix(f"{sketch.word} '").removesuffix("'")
    return sketch.parts_by_name.get(name)


def with_inertials(sketch: Sketch, repaired: dict[int, Inertial]) -> Sketch:
    """The sketch with other inertials, and without the faults of those they replace."""
    parts = tuple(replace(p, inertial=repaired[i]) if i in repaired else p for i, p in enumerate(sketch.parts))
    labels = tuple(f"{label_of(sketch, i)} > inertial" for i in repaired)
    faults = tuple(f for f in sketch.faults if f.code not in STATED or not f.place.element.startswith(labels))
    return replace(sketch, parts=parts, faults=faults)


def _repaired(sketch: Sketch, index: int, codes: set[str]) -> tuple[Inertial, str] | None:
    """A better inertial for a part and how it was found; None when nothing better is known."""
    part = sketch.parts[index]
    geometry = geometry_of(sketch, index)
    geometry = geometry if geometry is not None and geometry.hull is not None else None
    inertial = part.inertial
    if inertial is None or not inertial.mass > 0:
        if geometry is None or geometry.solid is None:
            return None
        twin = twin_of(sketch, index)
        other = None if twin is None else sketch.parts[twin].inertial
        if other is not None and other.mass > THRESHOLDS.least:
            theta = geometry.solid * (other.mass / geometry.solid[0])
            return _filled(sketch, index, theta, f"geometry filled evenly with the twin's {other.mass:g} kg")
        return _filled(sketch, index, geometry.solid, f"geometry filled with water ({THRESHOLDS.water:g} kg/m^3)")
    if "SY305" in codes and (moved := about_origins(sketch).get(index)) is not None:
        return _at_centre(inertial, moved)
    if inertial.usable:
        w = None if geometry is None else ShapedInertial(index, part, inertial, geometry)
        converted = _converted(inertial, w, codes)
        if converted is not None:
            return converted
    if not inertial.usable or inertial.is_point or codes & FROM_SOLID:
        if geometry is not None and geometry.solid is not None:
            theta = geometry.solid * (inertial.mass / geometry.solid[0])
            filled, how = _filled(sketch, index, theta, f"geometry filled evenly with the stated {inertial.mass:g} kg")
            stated = np.isfinite(inertial.com).all() and np.any(inertial.com) and geometry.outside(inertial.com) <= 0
            return (replace(filled, com=inertial.com), f"{how}, about the stated centre") if stated else (filled, how)
        return _ball(inertial) if not inertial.usable or inertial.is_point else None
    return _nearest(inertial, geometry) if codes & TO_PROJECT else None


def _converted(inertial: Inertial, w: ShapedInertial | None, codes: set[str]) -> tuple[Inertial, str] | None:
    if "SY402" in codes:
        if com_in_millimetres(inertial, w):
            return replace(inertial, com=inertial.com / 1000), "centre of mass from mm to m"
        if tensor_in_millimetres(inertial, w):
            return replace(inertial, tensor=inertial.tensor * 1e-6), "tensor from kg mm^2 to kg m^2"
    if w is None:
        return None
    if "SY403" in codes and in_grams(w):
        tensor = inertial.tensor * (1e-3 if w.gyration * 1000 > 100 else 1.0)
        return replace(inertial, mass=inertial.mass / 1000, tensor=tensor), "mass from g to kg"
    if "SY403" in codes and tensor_in_grams(w):
        return replace(inertial, tensor=inertial.tensor / 1000), "tensor from g m^2 to kg m^2"
    R = inertial.rotation
    if "SY306" in codes and w.filled is not None:
        return replace(inertial, com=w.filled[0]), "centre of mass from the origin to that of the geometry"
    if "SY305" in codes and (moved := wrong_point(w)) is not None:
        return _at_centre(inertial, moved)
    if "SY304" in codes and (better := other_axes(w)) is not None:
        return replace(inertial, tensor=R.T @ better[1] @ R), f"tensor with {better[0]}"
    return None


def _at_centre(inertial: Inertial, moved: np.ndarray) -> tuple[Inertial, str]:
    """moved: (3, 3) tensor about the centre of mass in the part's axes."""
    tensor = inertial.rotation.T @ moved @ inertial.rotation
    return replace(inertial, tensor=tensor), "tensor moved from the link's origin to the centre of mass"


def _filled(sketch: Sketch, index: int, theta, how: str) -> tuple[Inertial, str]:
    """Inertial of the filled geometry. theta: (10,) in the part's frame."""
    part = sketch.parts[index]
    mass, com, tensor = to_com_inertia(np.asarray(theta))
    R = np.eye(3) if part.inertial is None or not np.isfinite(part.inertial.rotation).all() else part.inertial.rotation
    place = part.place if part.inertial is None else part.inertial.place
    return Inertial(place, float(mass), com, R, R.T @ tensor @ R), how


def _ball(inertial: Inertial) -> tuple[Inertial, str]:
    """A ball of water around the stated centre of mass, when nothing else is known."""
    radius = (3 * inertial.mass / (4 * np.pi * THRESHOLDS.water)) ** (1 / 3)
    com = inertial.com if np.isfinite(inertial.com).all() else np.zeros(3)
    R = inertial.rotation if np.isfinite(inertial.rotation).all() else np.eye(3)
    tensor = 0.4 * inertial.mass * radius**2 * np.eye(3)
    return replace(inertial, com=com, rotation=R, tensor=tensor), f"ball of water of the stated {inertial.mass:g} kg"


def _nearest(inertial: Inertial, geometry: PartGeometry | None) -> tuple[Inertial, str]:
    """The nearest consistent inertia (entropic) with mass and centre as stated, within the geometry if it can."""
    m, c, R = inertial.mass, inertial.com, inertial.rotation
    # about the centre of mass, in the inertial's axes: there mass and centre are exact and the numbers well scaled
    theta = np.asarray(from_com_inertia(m, np.zeros(3), inertial.tensor))
    size = np.sqrt(max(np.abs(inertial.moments).max() / m, 1e-12))
    lower, upper = np.full(10, -np.inf), np.full(10, np.inf)
    lower[:4] = upper[:4] = theta[:4]
    inside = None
    ellipsoid = None if geometry is None or geometry.outside(c) > 0 else geometry.ellipsoid(THRESHOLDS.growth)
    if ellipsoid is not None:
        inside = EllipsoidRealizable(Ellipsoid(R.T @ (ellipsoid.center - c), R.T @ ellipsoid.Q @ R))
    first = inside or Consistent(length=float(size))
    projected = Intersection((first, Bounds(lower, upper))).project(theta, eps=THRESHOLDS.thickness)
    _, _, tensor = to_com_inertia(projected)
    how = "nearest consistent inertia" + (" within the geometry" if inside else "")
    return replace(inertial, tensor=tensor), how
