"""How far models move from where robots moved: in short windows and over whole logs, beside robots that do nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.refinement import errors_of
from steelyard.drives.rollouts import rms
from steelyard.drives.simulation import Simulation
from steelyard.drives.windows import Recorded, Windows, windows_of

WINDOW = 0.5  # s, long enough for a servo to settle, too short for small errors to grow
COMMANDED, STAYS = "goes where commanded", "stays"
IDLE = (COMMANDED, STAYS)


@dataclass(frozen=True, eq=False)
class Motion:
    """Errors of motion of a model, (nv,) root mean squares in rad or m.

    windows: of pieces that start anew every `WINDOW`; whole: of each stretch of a log in one piece.
    """

    name: str
    windows: np.ndarray
    whole: np.ndarray

    @property
    def pooled(self) -> tuple[float, float]:
        """Root mean squares over all joints, of windows and of whole stretches."""
        return float(np.sqrt(np.mean(self.windows**2))), float(np.sqrt(np.mean(self.whole**2)))


@dataclass(frozen=True, eq=False)
class Judges:
    """Recordings that models are judged by, in windows and in one piece each."""

    windows: Windows
    whole: Windows

    def motion(self, name: str, simulation: Simulation, drives: DriveArrays) -> Motion:
        """Errors of a model with its drives."""
        return Motion(name, *(rms(errors_of(simulation, [each], [drives])[0]) for each in (self.windows, self.whole)))

    def idle(self, *, positions: bool) -> tuple[Motion, ...]:
        """Errors of a robot that stays where it is, and, where commands are positions, of one that goes there."""
        both = (self.windows, self.whole)
        told = [rms(each.commanded - each.measured) for each in both]
        stays = [rms(np.repeat(each.q, each.counts, axis=0) - each.measured) for each in both]
        return (*([Motion(COMMANDED, *told)] if positions else []), Motion(STAYS, *stays))


def judges_of(recordings: Sequence[Recorded], step: float) -> Judges:
    """Judges of recordings.

    Args:
        recordings: that no fit has seen.
        step: of the simulation, s.

    Returns:
        The Judges.
    """
    return Judges(windows_of(recordings, step, WINDOW), windows_of(recordings, step, None))
