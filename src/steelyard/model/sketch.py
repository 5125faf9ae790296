"""A tolerant reading of a model file: parts, joints and shapes with their places, and what is wrong with them.

Unlike a `Robot` a `Sketch` may be broken: values may be NaN, joints may lead nowhere. Readers of formats refuse nothing
and note faults; the linter, motion design and whoever draws a robot read them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.inertia import from_com_inertia
from steelyard.model.joint import Joint

# rules that report what `model.references` says is wrong with a file
FILE_RULES = {"missing": "SY601", "unreadable": "SY602", "outside": "SY603", "unchecked": "SY604"}
POINT = 1e-12  # m^2: squared radius of gyration of a point
SMALL = 0.02  # of a rigid body's mass: a part lighter than that (frames of sensors, tools) matters little to it


@dataclass(frozen=True)
class Place:
    """Where something stands. element: such as `link 'arm' > inertial > mass`."""

    path: Path
    line: int
    element: str


@dataclass(frozen=True)
class ScanFault:
    """Something a scanner could not make sense of, for the rule of that code to report. file: that it is about."""

    code: str
    place: Place
    message: str
    file: str = ""

    @property
    def line(self) -> str:
        return f"{self.place.path.name}, line {self.place.line}: {self.message}"


@dataclass(frozen=True, eq=False)
class Inertial:
    """Stated inertia of a part. tensor: (3, 3) kg m^2 about the centre of mass, in axes placed by `rotation` (3, 3) in
    the part's frame. NaN where a number is missing or unreadable."""

    place: Place
    mass: float  # kg
    com: np.ndarray  # (3,) m in the part's frame
    rotation: np.ndarray
    tensor: np.ndarray

    @cached_property
    def usable(self) -> bool:
        """Whether every number is finite and the mass positive."""
        return bool(self.mass > 0 and np.isfinite([self.mass, *self.com, *self.tensor.flat, *self.rotation.flat]).all())

    @cached_property
    def tensor_in_part(self) -> np.ndarray:
        """(3, 3) tensor about the centre of mass in the axes of the part."""
        return self.rotation @ self.tensor @ self.rotation.T

    @cached_property
    def moments(self) -> np.ndarray:
        """(3,) principal moments, ascending; NaN when the tensor is not finite."""
        return np.linalg.eigvalsh(self.tensor) if np.isfinite(self.tensor).all() else np.full(3, np.nan)

    @property
    def is_point(self) -> bool:
        """Whether the tensor is zero but for rounding: a point mass."""
        return bool(np.isfinite(self.moments).all() and np.abs(self.moments).max() <= POINT * abs(self.mass))

    @property
    def spread(self) -> np.ndarray:
        """(3,) principal second moments of mass, ascending, kg m^2: half the trace minus each moment of inertia."""
        return np.sort(0.5 * self.moments.sum() - self.moments)

    @property
    def theta(self) -> np.ndarray:
        """(10,) inertial parameters in the part's frame."""
        return np.asarray(from_com_inertia(self.mass, self.com, self.tensor_in_part))


@dataclass(frozen=True, eq=False)
class Shape:
    """A piece of geometry of a part."""

    place: Place
    role: str  # "collision" or "visual"
    vertices: np.ndarray  # (n, 3) m in the part's frame
    faces: np.ndarray | None  # (f, 3) or None when only the hull is meant
    source: str  # what tells two shapes apart (mesh path or kind and size)


@dataclass(frozen=True, eq=False)
class SketchJoint:
    """A joint. limits: "lower", "upper", "effort", "velocity" -> number, only those stated or said by the format.
    placed: what a robot has of it, for a reader that makes robots of sketches; None for a fixed one."""

    name: str
    place: Place
    kind: str
    part: int | None  # index of the part it carries, None when unknown
    limits: dict[str, float]
    limit_place: Place | None = None
    gear: float | None = None  # largest transmission ratio on it
    mimics: bool = False  # whether it follows another joint
    required_limits: tuple[str, ...] = ()  # those that the format asks of such a joint
    placed: Joint | None = None


@dataclass(frozen=True, eq=False)
class SketchPart:
    """A link or body. parent: index or None for a root. rotation, position: its pose in the parent at zero.

    moves: whether a joint is between it and its parent. inferred: kg its mass by its geoms where none is stated (MJCF).
    partial: whether some of its geometry is unknown, because a file was not read. For a reader that makes robots of
    sketches: theta, (10,) what it weighs there where that is not its inertial, and whether that counts as `known`.
    """

    name: str
    place: Place
    parent: int | None
    rotation: np.ndarray
    position: np.ndarray
    moves: bool
    inertial: Inertial | None
    shapes: tuple[Shape, ...] = ()
    inferred: float = 0.0
    partial: bool = False
    theta: np.ndarray | None = None
    known: bool | None = None

    @property
    def mass(self) -> float:
        """Mass in kg: as stated, else inferred; NaN when unreadable."""
        return self.inferred if self.inertial is None else self.inertial.mass


@dataclass(frozen=True, eq=False)
class Sketch:
    """A model file, read without refusing anything."""

    path: Path
    format: str  # name of a `Format`
    word: str  # what that calls a part
    parts: tuple[SketchPart, ...]  # parents before children
    joints: tuple[SketchJoint, ...]
    faults: tuple[ScanFault, ...]  # what the reader could not make sense of
    notes: tuple[str, ...] = ()  # what was not read, and why
    parts_by_name: dict[str, int] = field(init=False)
    memo: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "parts_by_name", {part.name: i for i, part in enumerate(self.parts)})

    def stated(self) -> Iterator[tuple[int, SketchPart, Inertial]]:
        """Parts that state an inertial, with their index."""
        for index, part in enumerate(self.parts):
            if part.inertial is not None:
                yield index, part, part.inertial

    @cached_property
    def carrier(self) -> tuple[int, ...]:
        """For each part the one of its rigid body that a joint carries (or the root)."""
        found: list[int] = []
        for index, part in enumerate(self.parts):
            found.append(index if part.moves or part.parent is None else found[part.parent])
        return tuple(found)

    @cached_property
    def clusters(self) -> dict[int, list[int]]:
        """Carrier -> all parts of its rigid body, in order."""
        grouped: dict[int, list[int]] = {}
        for index, carrier in enumerate(self.carrier):
            grouped.setdefault(carrier, []).append(index)
        return grouped

    @cached_property
    def cluster_mass(self) -> dict[int, float]:
        """Carrier -> mass of the rigid body in kg; unreadable masses count as zero."""
        return {c: float(np.nansum([self.parts[i].mass for i in members])) for c, members in self.clusters.items()}

    def matters(self, index: int) -> bool:
        """Whether a part holds a share of its rigid body's mass worth judging (frames of sensors do not)."""
        whole = self.cluster_mass[self.carrier[index]]
        return self.parts[index].mass > SMALL * whole

    @cached_property
    def subtree_mass(self) -> dict[int, float]:
        """Carrier -> mass of its rigid body and of everything it carries, kg."""
        total = dict(self.cluster_mass)
        for carrier in sorted(total, reverse=True):
            parent = self.parts[carrier].parent
            if parent is not None:
                total[self.carrier[parent]] += total[carrier]
        return total

    @cached_property
    def poses(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Pose of each part where the file starts, at zero: rotation (3, 3), position (3,)."""
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for part in self.parts:
            R, p = (np.eye(3), np.zeros(3)) if part.parent is None else found[part.parent]
            found.append((R @ part.rotation, p + R @ part.position))
        return tuple(found)

    @cached_property
    def placed(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Pose of each part in the part that carries it: rotation (3, 3), position (3,)."""
        poses: list[tuple[np.ndarray, np.ndarray]] = []
        for index, part in enumerate(self.parts):
            if self.carrier[index] == index or part.parent is None:
                poses.append((np.eye(3), np.zeros(3)))
            else:
                R, p = poses[part.parent]
                poses.append((R @ part.rotation, p + R @ part.position))
        return tuple(poses)
