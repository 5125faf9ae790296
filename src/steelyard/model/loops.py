"""Loop closures: joints that the tree leaves open, between two bodies that both hang on it.

kind       equations  what the two frames keep
connect    3          one common point
hinge      5          one common point and the direction of z
slide      5          orientation and the line along z
cylinder   4          the line along z
weld       6          everything
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import ModelError, choices
from steelyard.spatial import Pose

# kept components of the relative twist `[v; w]` in the axes of the first frame
LOOP_KINDS = {
    "connect": (0, 1, 2),
    "hinge": (0, 1, 2, 3, 4),
    "slide": (0, 1, 3, 4, 5),
    "cylinder": (0, 1, 3, 4),
    "weld": (0, 1, 2, 3, 4, 5),
}


@dataclass(frozen=True, eq=False)
class Loop:
    """One closure of a kinematic loop.

    bodies: names of the two bodies, None for the ground. rotations (2, 3, 3), positions (2, 3): the frames that the
    closure ties together, each in its body's frame (the world's for None). kind: of `LOOP_KINDS`.
    """

    name: str
    kind: str
    bodies: tuple[str | None, str | None]
    rotations: np.ndarray
    positions: np.ndarray

    def __post_init__(self):
        if self.kind not in LOOP_KINDS:
            raise ModelError(f"Loop '{self.name}' has unknown kind '{self.kind}'. Known kinds: {choices(LOOP_KINDS)}.")
        for name, shape in (("rotations", (2, 3, 3)), ("positions", (2, 3))):
            array = np.array(getattr(self, name), dtype=float).reshape(shape)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def moved(self, place: Callable[[str | None, Pose], tuple[str | None, np.ndarray, np.ndarray]]) -> "Loop":
        """The loop between others. place: what a frame of a body is on, and where."""
        bodies, R, p = zip(*map(place, self.bodies, zip(self.rotations, self.positions, strict=True)), strict=True)
        return replace(self, bodies=bodies, rotations=np.stack(R), positions=np.stack(p))

    @property
    def equations(self) -> int:
        """Number of equations, redundant ones included."""
        return len(LOOP_KINDS[self.kind])
