"""Stated inertias against the geometry around them: the numbers several rules share, computed once a part."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.check.part_geometry import PartGeometry, geometry_of
from steelyard.check.thresholds import THRESHOLDS
from steelyard.inertia import to_com_inertia
from steelyard.model.sketch import Inertial, Sketch, SketchPart


@dataclass(frozen=True, eq=False)
class ShapedInertial:
    """A part with a usable inertial and geometry that spans a volume."""

    index: int
    part: SketchPart
    inertial: Inertial
    geometry: PartGeometry

    @property
    def name(self) -> str:
        return self.part.name

    @cached_property
    def volume(self) -> float:
        """Volume of the hull of the rigid body, m^3."""
        assert self.geometry.hull is not None
        return float(self.geometry.hull.volume)

    @cached_property
    def density(self) -> float:
        """Mass over the volume of the hull, kg/m^3: at most the mean density of the part."""
        return self.inertial.mass / self.volume

    @cached_property
    def outside(self) -> float:
        """How far the centre of mass lies outside the hull, m; negative inside."""
        return self.geometry.outside(self.inertial.com)

    @cached_property
    def gyration(self) -> float:
        """Squared radius of gyration over that of the filled geometry; 1 is alike."""
        solid = self.solid_tensor
        return float(np.trace(self.inertial.tensor) / np.trace(solid)) if solid is not None else np.nan

    @cached_property
    def solid_tensor(self) -> np.ndarray | None:
        """(3, 3) tensor about its centre of mass of the filled geometry with the stated mass."""
        return None if self.filled is None else self.filled[1]

    @cached_property
    def filled(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Centre (3,) and tensor (3, 3) about it of the filled geometry with the stated mass."""
        theta = self.geometry.solid
        if theta is None:
            return None
        _, com, tensor = to_com_inertia(theta * (self.inertial.mass / theta[0]))
        return com, tensor

    @cached_property
    def centred(self) -> bool:
        """Whether the centre of mass is about where the filled geometry has it: then tensors can be compared."""
        return self.filled is not None and bool(
            np.linalg.norm(self.inertial.com - self.filled[0]) < THRESHOLDS.near * self.geometry.diagonal
        )

    @property
    def _like_solid(self) -> bool:
        """Whether no second moment about its centre exceeds that of the filled, grown geometry: then all fits."""
        if self.filled is None:
            return False
        com, tensor = self.filled
        d = self.inertial.com - com
        spread = [0.5 * np.trace(I) * np.eye(3) - I for I in (self.inertial.tensor_in_part, tensor)]
        spread[0] = spread[0] + self.inertial.mass * np.outer(d, d)
        return bool(np.linalg.eigvalsh(THRESHOLDS.growth**2 * spread[1] - spread[0])[0] >= 0)

    @cached_property
    def excess(self) -> float:
        """Share of second moments beyond what the hull's ellipsoid holds, negative if all fits (B, Theorem 4), about a
        centre of mass outside, which is another fault."""
        if self._like_solid:
            return -1.0
        ellipsoid = self.geometry.ellipsoid(THRESHOLDS.growth)
        if ellipsoid is None:
            return -1.0
        T = ellipsoid.to_ball
        offset = T[:3, :3] @ self.inertial.com + T[:3, 3] if self.outside <= 0 else np.zeros(3)
        spread = 0.5 * np.trace(self.inertial.tensor_in_part) * np.eye(3) - self.inertial.tensor_in_part
        level = np.trace(T[:3, :3] @ spread @ T[:3, :3].T) / self.inertial.mass + offset @ offset
        return float(level - 1)


def shaped_inertials(sketch: Sketch) -> tuple[ShapedInertial, ...]:
    """Parts whose inertial can be compared with geometry; placeholders and frames of no weight are left out."""
    if "shaped_inertials" not in sketch.memo:
        found = []
        for index, part, inertial in sketch.stated():
            # a part without geometry of its own stands for the body it is fixed to, or for nothing worth judging
            judged = inertial.usable and not inertial.is_point and sketch.matters(index)
            fixed = sketch.clusters[sketch.carrier[index]]
            alone = sum(sketch.parts[i].inertial is not None for i in fixed) == 1
            geometry = geometry_of(sketch, index) if judged and (part.shapes or alone) else None
            if geometry is not None and geometry.hull is not None:
                found.append(ShapedInertial(index, part, inertial, geometry))
        sketch.memo["shaped_inertials"] = tuple(found)
    return sketch.memo["shaped_inertials"]


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] < value < limits[1]


def tensor_in_millimetres(inertial: Inertial, w: ShapedInertial | None) -> bool:
    """Whether the tensor is in kg mm^2."""
    if is_placeholder(inertial):
        return False
    if w is not None and np.isfinite(w.gyration):
        return _within(w.gyration, THRESHOLDS.million)
    return bool(np.trace(inertial.tensor) / 2 / inertial.mass > THRESHOLDS.far**2)


def com_in_millimetres(inertial: Inertial, w: ShapedInertial | None) -> bool:
    """Whether the centre of mass is in mm."""
    if w is not None:
        return (
            w.outside > THRESHOLDS.far * w.geometry.diagonal
            and w.geometry.outside(inertial.com / 1000) < 0.1 * w.geometry.diagonal
        )
    return bool(np.linalg.norm(inertial.com) > THRESHOLDS.far)


def in_grams(w: ShapedInertial) -> bool:
    """Whether the mass is in grams."""
    return (
        w.density > 5 * THRESHOLDS.dense
        and w.geometry.thickness > THRESHOLDS.solid
        and THRESHOLDS.light < w.density / 1000 < THRESHOLDS.dense
    )


def tensor_in_grams(w: ShapedInertial) -> bool:
    """Whether the tensor is in g m^2 while the mass is in kg."""
    return _within(w.gyration, THRESHOLDS.thousand) and not is_placeholder(w.inertial)


def is_placeholder(inertial: Inertial) -> bool:
    """Whether the tensor is a power of ten times the identity."""
    I, size = inertial.tensor, float(inertial.tensor[0, 0])
    if not inertial.mass > 0 or not 0 < size < np.inf or size != I[1, 1] or (size * np.eye(3) != I).any():
        return False
    power = np.log10(size)
    return bool(abs(power - round(power)) < 1e-9)


def unit_error(w: ShapedInertial) -> bool:
    """Whether wrong units explain mass or tensor."""
    return tensor_in_millimetres(w.inertial, w) or in_grams(w) or tensor_in_grams(w)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Difference of two tensors relative to the larger one."""
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(a), np.linalg.norm(b)))


def about_origins(sketch: Sketch) -> dict[int, np.ndarray]:
    """Part -> its tensor (3, 3) about the centre of mass, in its axes, where those of all links are about origins.

    Known by enough links without geometry: the origin of a link, its joint, mostly lies farther from the centre of mass
    than the mass itself is spread, of a rod on a joint at its end by sqrt(3) standard deviations. About the origin the
    stated spread holds that distance, so the origin never is farther than one. One link may be so by chance, all links
    of a robot are not. Where few links have their centre of mass away from the origin, their geometry decides: moved,
    all of these fit it, and as stated none does. Links whose geometry is more like the tensors as stated speak against
    it, however near their origins are.
    """
    if "about_origins" not in sketch.memo:
        sketch.memo["about_origins"] = (_moved(sketch),)
    return sketch.memo["about_origins"][0]


def at_centre(inertial: Inertial) -> np.ndarray:
    """(3, 3) tensor about the centre of mass if the stated one is about the part's origin, in the part's axes."""
    c = inertial.com
    return inertial.tensor_in_part - inertial.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _moved(sketch: Sketch) -> dict[int, np.ndarray]:
    known = {
        i: each for i, _, each in sketch.stated() if each.usable and not each.is_point and not is_placeholder(each)
    }
    judged = [each for i, each in known.items() if sketch.parts[i].parent is not None and sketch.matters(i)]
    distances = np.array([_origin_distance(each) for each in judged])
    far = {(each.mass, round(d, 2)) for each, d in zip(judged, distances, strict=True) if d > THRESHOLDS.off_centre}
    if (distances > 1).any():
        return {}
    moved = {i: at_centre(each) for i, each in known.items() if each.com.any() and _origin_distance(each) <= 1}
    before, after = _differences(sketch, moved)
    if len(before) and before.mean() < after.mean():
        return {}
    fit = (before > THRESHOLDS.unlike) & (after < 0.5 * before) & (after < 2 * THRESHOLDS.alike)
    return moved if len(far) >= THRESHOLDS.several or (len(fit) > 1 and fit.all()) else {}


def _differences(sketch: Sketch, moved: dict[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How unlike their geometry the tensors are, as stated and moved, of links that the shift changes much."""
    found = []
    for w in shaped_inertials(sketch):
        solid, stated = w.solid_tensor, w.inertial.tensor_in_part
        if w.index in moved and solid is not None and difference(stated, moved[w.index]) > THRESHOLDS.unlike:
            found.append((difference(stated, solid), difference(moved[w.index], solid)))
    before, after = np.reshape(found, (-1, 2)).T
    return before, after


def _origin_distance(inertial: Inertial) -> float:
    """Squared distance of the origin from the centre of mass, in standard deviations of the mass."""
    spread = 0.5 * np.trace(inertial.tensor) * np.eye(3) - inertial.tensor_in_part
    if np.linalg.eigvalsh(spread)[0] <= THRESHOLDS.rounding * np.trace(spread):
        return np.inf
    return float(inertial.mass * inertial.com @ np.linalg.solve(spread, inertial.com))
