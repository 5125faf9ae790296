"""What a writer proposes: the files to be written, and what they have to read back as before they may appear."""

from dataclasses import dataclass
from pathlib import Path

from steelyard.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Draft:
    """files: path and content, the model last, files it includes first. expected: the robot they have to read back as.

    changed: one line for each element that differs from the source. notes: what was not or not directly written.
    suspects: settings of the file that may make it read back differently, for the message if it does.
    """

    files: tuple[tuple[Path, bytes], ...]
    expected: Robot
    changed: tuple[str, ...]
    notes: tuple[str, ...]
    suspects: tuple[str, ...] = ()
