"""Relative paths in a model file that is copied to another folder."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mover:
    """From one folder to another. Nothing moves when they are the same."""

    old: Path
    new: Path

    def moved(self, text: str | None) -> str | None:
        """A relative path in the old folder as seen from the new one; None where it can stay as it is.

        Absolute paths, URLs (`package://`) and paths that lead nowhere stay.
        """
        if not text or "://" in text or Path(text).is_absolute() or not (self.old / text).exists():
            return None
        seen = self.seen(self.old / text)
        return None if os.path.normpath(text) == os.path.normpath(seen) else seen

    def seen(self, path: Path) -> str:
        """A file as seen from the new folder: relative, or absolute where the two share no root."""
        path, folder = os.path.realpath(path), os.path.realpath(self.new)
        try:
            return Path(os.path.relpath(path, folder)).as_posix()
        except ValueError:  # other drive
            return Path(path).as_posix()
