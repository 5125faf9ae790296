"""Stated inertias against the geometry around them: the numbers several rules share, computed once a part."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.check.bulk import Bulk, bulk_of
from steelyard.check.parts import Inertial, Part, Sketch
from steelyard.inertia.parameters import to_com_inertia

GROWTH = 1.1  # geometry is drawn smaller than the part by cables, screws and covers


@dataclass(frozen=True, eq=False)
class Weighed:
    """A part with a usable inertial and geometry that spans a volume."""

    index: int
    part: Part
    inertial: Inertial
    bulk: Bulk

    @property
    def name(self) -> str:
        return self.part.name

    @cached_property
    def volume(self) -> float:
        """Volume of the hull of the rigid body, m^3."""
        assert self.bulk.hull is not None
        return float(self.bulk.hull.volume)

    @cached_property
    def density(self) -> float:
        """Mass over the volume of the hull, kg/m^3: at most the mean density of the part."""
        return self.inertial.mass / self.volume

    @cached_property
    def outside(self) -> float:
        """How far the centre of mass lies outside the hull, m; negative inside."""
        return self.bulk.outside(self.inertial.com)

    @cached_property
    def gyration(self) -> float:
        """Squared radius of gyration over that of the filled geometry; 1 is alike."""
        solid = self.solid_tensor
        return float(np.trace(self.inertial.tensor) / np.trace(solid)) if solid is not None else np.nan

    @cached_property
    def solid_tensor(self) -> np.ndarray | None:
        """(3, 3) tensor about its centre of mass of the filled geometry with the stated mass."""
        return None if self._solid is None else self._solid[1]

    @cached_property
    def solid_com(self) -> np.ndarray | None:
        """(3,) centre of the filled geometry, m."""
        return None if self._solid is None else self._solid[0]

    @cached_property
    def _solid(self):
        theta = self.bulk.solid
        if theta is None:
            return None
        _, com, tensor = to_com_inertia(theta * (self.inertial.mass / theta[0]))
        return com, tensor

    @cached_property
    def excess(self) -> float:
        """Share of the second moments beyond what the enclosing ellipsoid holds; negative if all fits (B, Theorem 4)."""
        ellipsoid = self.bulk.ellipsoid(GROWTH)
        if ellipsoid is None:
            return -1.0
        T = ellipsoid.to_ball
        offset = T[:3, :3] @ self.inertial.com + T[:3, 3]
        spread = 0.5 * np.trace(self.inertial.turned) * np.eye(3) - self.inertial.turned
        level = np.trace(T[:3, :3] @ spread @ T[:3, :3].T) / self.inertial.mass + offset @ offset
        return float(level - 1)


def weighed(sketch: Sketch) -> tuple[Weighed, ...]:
    """Parts whose inertial can be compared with geometry; placeholders and frames of no weight are left out."""
    if "weighed" not in sketch.memo:
        found = []
        for index, part, inertial in sketch.stated():
            # a part without geometry of its own stands for the body it is fixed to, or for nothing worth judging
            judged = inertial.usable and not inertial.is_point and sketch.matters(index)
            alone = (
                len([i for i in sketch.clusters[sketch.carrier[index]] if sketch.parts[i].inertial is not None]) == 1
            )
            bulk = bulk_of(sketch, index) if judged and (part.shapes or alone) else None
            if bulk is not None and bulk.hull is not None:
                found.append(Weighed(index, part, inertial, bulk))
        sketch.memo["weighed"] = tuple(found)
    return sketch.memo["weighed"]
