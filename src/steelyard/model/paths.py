"""Relative paths in a model file that is copied to another folder."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mover:
    """From one folder to another."""

    old: Path
    new: Path

    @property
    def stays(self) -> bool:
        return os.path.realpath(self.old) == os.path.realpath(self.new)

    def moved(self, text: str | None) -> str | None:
        """A relative path in the old folder as seen from the new one; None where it can stay as it is.

        Absolute paths, URLs (`package://`) and paths that lead nowhere stay.
        """
        if not text or self.stays or "://" in text or Path(text).is_absolute() or not (self.old / text).exists():
            return None
        seen = self.seen(self.old / text)
        return None if os.path.normpath(text) == os.path.normpath(seen) else seen

    def seen(self, path: Path) -> str:
        """A file as seen from the new folder: relative, or absolute where the two share no root."""
        # folders are resolved, so that `..` means the same to everyone; the name stays, even that of a symbolic link
        path = Path(os.path.realpath(path.parent)) / path.name
        try:
            return Path(os.path.relpath(path, os.path.realpath(self.new))).as_posix()
        except ValueError:  # on another drive
            return path.as_posix()
