"""A model file of any format: what is asked of it once it is open, and how its bytes are read."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from steelyard.arguments import shown
from steelyard.errors import ModelError
from steelyard.model.changes import Draft
from steelyard.model.meshes import Meshes, Piece
from steelyard.model.robot import Robot
from steelyard.model.sketch import Inertial, Sketch

MAX_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class ModelDocument(ABC):
    """A model file, opened. Each format has its own, and nobody else knows how its files are written."""

    path: Path  # of the file
    folders: tuple[Path, ...] = ()  # in which files that it names may lie, as of `allowed_folders`
    arguments: Mapping[str, str] = field(default_factory=dict)  # of the file, by name, as of `Format.arguments`

    @property
    def whole(self) -> bool:
        """Whether it is a model, not a part of one."""
        return True

    @property
    def meshes(self) -> Meshes:
        return Meshes(self.path.parent, self.folders)

    @abstractmethod
    def referenced(self) -> Iterable[Path]:
        """Files that it names, with those that these name. Raises ModelError for one outside the folders."""

    @abstractmethod
    def robot(self, *, floating: bool | None, gravity) -> Robot:
        """Strict reading; floating, gravity: as of `load`. Raises ModelError for whatever is wrong."""

    @abstractmethod
    def sketch(self, *, meshes: bool = True) -> Sketch:
        """Tolerant reading; meshes: whether mesh files are read. Raises ModelError for what is no model."""

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Geometry of all links, mesh files not read yet."""

    @property
    def exists(self) -> bool:
        """Whether the file is still there."""
        return self.path.exists()

    @property
    def holds_floor(self) -> bool:
        """Whether it has a floor, and a place for what contacts with it have."""
        return False

    def surroundings(self, *, alone: bool = False) -> list[dict]:
        """Solids that hang on the world itself, such as tables and floors: name and arguments of each geom, as
        MuJoCo's specification wants them. alone: the file has no robot, and all of it stands around one."""
        return []

    def left_out(self) -> Iterator[str]:
        """What is in the file and in neither its robot nor its pieces, in words, for the notes of a conversion."""
        return iter(())

    def keyframes(self, robot: Robot) -> dict[str, np.ndarray]:
        """Named positions (nq,) of the robot that was read from it."""
        return {}

    def edited(self, robot: Robot, reference: Robot, target: Path) -> Draft:
        """A copy for `target` that reads as a robot; other bytes stay. reference: the robot as the file reads now."""
        raise ModelError(f"{self.path}: files of this format are read, not edited. Choose another suffix.")

    def alone(self, *, geometry: bool) -> bytes | None:
        """Content that reads the same in any folder, for programs that look for files in their own way, or None.
        geometry: whether what can be touched stays. Raises ModelError where it names a file outside its folders."""
        for _ in self.referenced():
            pass
        return None

    def with_inertials(self, sketch: Sketch, inertials: dict[int, Inertial], target: Path) -> list[tuple[Path, bytes]]:
        """Files of a copy with other inertials, by part, each with its path, the model last; every other byte but paths
        stays. Raises ModelError where a part is not written in the files."""
        raise ModelError(f"{self.path}: inertials of this format cannot be edited.")


def read_bytes(path) -> bytes:
    """Content of a model file. Raises ModelError when it is missing, unreadable, empty or too large."""
    with opened_file(path, MAX_BYTES) as file:
        content = file.read()
    if not content.strip():
        raise ModelError(f"Model file {path} is empty.")
    return content


def opened_file(path, most: int) -> BinaryIO:
    """A model file of at most so many bytes, open. Raises ModelError as `read_bytes`."""
    require_path(path)
    path = Path(path)
    try:
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "missing" if not path.exists() else "not a regular file"
            raise ModelError(f"Model file {path} is {kind}. Give the path of a URDF, MJCF, SDF, USD or xacro file.")
        size = path.stat().st_size
        if size > most:
            raise ModelError(f"Model file {path} has {size / 2**20:.0f} MB; up to {most // 2**20} MB are read.")
        if not size:
            raise ModelError(f"Model file {path} is empty.")
        return path.open("rb")
    except (OSError, ValueError) as error:  # the latter for a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"Model file {shown(path)} cannot be read: {reason}.") from error


def require_path(path):
    """Raise ModelError for the XML of a model in the place of its path."""
    if str(path).lstrip().startswith("<"):
        raise ModelError(
            f"XML text ({shown(path)}) stands in the place of a path. Write it to a .urdf, MJCF .xml or .sdf file, and "
            "give the path of that."
        )
