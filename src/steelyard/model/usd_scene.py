"""What a composed USD stage is made of: units, rigid poses of prims, bodies with their names, and what is odd in it.

A prim's frame is a rotation, a position and a stretch: OpenUSD scales whatever is written in the frame of a body, its
joints and its centre of mass, by the stretch; masses and moments of inertia are not scaled.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.model.sketch import Place, ScanFault
from steelyard.spatial import rotation_from_quaternion

SINGLE = float(np.finfo(np.float32).eps)  # rounding of single precision, relative
TRANSCODED = "tn__"  # how usdex starts the name of a prim whose own name is no identifier


@dataclass(frozen=True)
class Units:
    """Of a stage. length: m, mass: kg, each in one of its units; seconds are seconds everywhere."""

    length: float
    mass: float

    @property
    def force(self) -> float:
        """N."""
        return self.mass * self.length

    @property
    def inertia(self) -> float:
        """kg m^2, and N m."""
        return self.mass * self.length**2

    def of_property(self, field: str, *, turns: bool) -> float:
        """SI per unit of armature, damping, frictionloss or a torque; turns: of a joint that turns, in radians."""
        if turns:
            return self.inertia
        return self.force if field in ("frictionloss", "effort") else self.mass


@dataclass(frozen=True, eq=False)
class PrimFrame:
    """rotation (3, 3), position (3,) m: of a prim in the world."""

    rotation: np.ndarray
    position: np.ndarray
    stretch: np.ndarray  # (3, 3) stage units of a coordinate in the prim's own frame, along the axes of the rotation

    def seen(self, other: "PrimFrame") -> "PrimFrame":
        R = self.rotation.T
        return PrimFrame(R @ other.rotation, R @ (other.position - self.position), other.stretch)


def factored(matrix, length: float) -> PrimFrame:
    """The frame of a `Gf.Matrix4d`, whose vectors are rows. length: m per unit."""
    whole = np.array(matrix).T
    linear = whole[:3, :3]
    U, _, V = np.linalg.svd(linear if np.linalg.det(linear) > 0 else -linear)
    R = U @ V
    if np.linalg.det(R) < 0:  # flat
        U[:, -1] *= -1
        R = U @ V
    return PrimFrame(R, whole[:3, 3] * length, R.T @ linear)


def rotation_of(quaternion) -> np.ndarray:
    """Rotation matrix (3, 3) of a `Gf.Quatf`; identity for zero, which stands for none."""
    x = np.array([*quaternion.imaginary, quaternion.real], dtype=float)
    size = np.linalg.norm(x)
    return rotation_from_quaternion(x / size) if np.isfinite(size) and size > 0 else np.eye(3)


@dataclass(eq=False)
class Scene:
    """A stage as it is read."""

    stage: Any
    path: Path  # of its root layer
    lines: dict[str, int]  # of prims that the root layer has in text, by path
    faults: list[ScanFault] = field(default_factory=list)  # what makes no sense
    refusals: list[str] = field(default_factory=list)  # for which no robot is made, in words
    notes: list[str] = field(default_factory=list)  # what is not read or assumed

    @cached_property
    def units(self) -> Units:
        from pxr import UsdGeom, UsdPhysics

        given = UsdGeom.GetStageMetersPerUnit(self.stage), UsdPhysics.GetStageKilogramsPerUnit(self.stage)
        for value, name in zip(given, ("metersPerUnit", "kilogramsPerUnit"), strict=True):
            if not (np.isfinite(value) and value > 0):
                self.refusals.append(f"{self.path}: {name} is {value:g}; expected a positive number.")
        return Units(*(float(each) if np.isfinite(each) and each > 0 else 1.0 for each in given))

    @cached_property
    def prims(self) -> list:
        """Active prims, those of instances too, parents first."""
        from pxr import Usd

        return list(self.stage.Traverse(Usd.TraverseInstanceProxies()))

    @cached_property
    def _cache(self):
        from pxr import UsdGeom

        return UsdGeom.XformCache()

    def frame(self, prim) -> PrimFrame:
        """Of a prim in the world."""
        return factored(self._cache.GetLocalToWorldTransform(prim), self.units.length)

    @cached_property
    def bodies(self) -> list:
        """Prims that are enabled rigid bodies."""
        from pxr import UsdPhysics

        return [
            each
            for each in self.prims
            if each.HasAPI(UsdPhysics.RigidBodyAPI) and value(each, "physics:rigidBodyEnabled") is not False
        ]

    @cached_property
    def body_numbers(self) -> dict[str, int]:
        """Place among `bodies` by path."""
        return {str(each.GetPath()): i for i, each in enumerate(self.bodies)}

    def body_of(self, prim) -> int | None:
        """The body that a prim is or is part of, None for the world."""
        while prim and str(prim.GetPath()) != "/":
            if (found := self.body_numbers.get(str(prim.GetPath()))) is not None:
                return found
            prim = prim.GetParent()
        return None

    @cached_property
    def frames(self) -> list[PrimFrame]:
        return [self.frame(each) for each in self.bodies]

    @cached_property
    def body_names(self) -> list[str]:
        return names_of(self.bodies)

    def place(self, prim) -> Place:
        path = str(prim.GetPath())
        body = self.body_numbers.get(path)
        element = f"<{path}>" if body is None else f"body '{self.body_names[body]}'"
        return Place(self.path, self.lines.get(path, 1), element)

    def fault(self, code: str, prim, message: str, *, remedy: str | None = None):
        """Note a fault; remedy: of one for which no robot is made."""
        self.faults.append(ScanFault(code, self.place(prim), message))
        if remedy is not None:
            self.refusals.append(f"{self.path} <{prim.GetPath()}>: {message} {remedy}".strip())

    def note(self, what: str, names: Iterable[str]):
        """Note something of several prims, if there are any."""
        found = list(dict.fromkeys(names))
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            self.notes.append(f"{self.path.name}: {what} ({', '.join(found[:3])}{more}).")

    def number(self, prim, name: str, *, code: str = "SY506") -> float | None:
        """An authored number, None where there is none; NaN and a fault for what is no number. It may be infinite."""
        found = value(prim, name)
        if found is None:
            return None
        if hasattr(found, "__len__") and not isinstance(found, str):
            found = found[0] if len(found) else np.nan
        found = float(found) if isinstance(found, int | float) else np.nan
        if np.isnan(found):
            self.fault(code, prim, f"{name} is no number.", remedy="Correct it.")
        return found


def value(prim, name: str):
    """What a prim has authored for an attribute at the default time, None for nothing."""
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute and attribute.HasAuthoredValue() else None


def applied(prim, *schemas: str) -> bool:
    """Whether a prim says that it has one of these API schemas, whether or not OpenUSD knows them."""
    return not set(schemas).isdisjoint(prim.GetPrimTypeInfo().GetAppliedAPISchemas())


def names_of(prims: list) -> list[str]:
    """One name a prim: its own, or the one in whose place it stands because USD knows identifiers only.

    Equal names get those of their parents before them, until they differ.
    """
    from pxr import Tf

    def own(prim) -> str:
        name, shown = prim.GetName(), prim.GetDisplayName()
        stem = name.rpartition("_")[0] if name.rpartition("_")[2].isdigit() else name
        stands = name.startswith(TRANSCODED) or (shown and Tf.MakeValidIdentifier(shown) in (name, stem))
        return shown if shown and stands else name

    above = list(prims)
    found = [own(each) for each in prims]
    while True:
        counts: dict[str, list[int]] = {}
        for i, name in enumerate(found):
            counts.setdefault(name, []).append(i)
        doubled = [i for group in counts.values() if len(group) > 1 for i in group]
        parents = {i: above[i].GetParent() for i in doubled}
        doubled = [i for i in doubled if parents[i] and not parents[i].IsPseudoRoot()]
        if not doubled:
            return found
        for i in doubled:
            above[i] = parents[i]
            found[i] = f"{own(above[i])}/{found[i]}"
