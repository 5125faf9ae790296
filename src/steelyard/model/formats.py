"""File formats of robots: one `Format` record each, and the functions that ask the record of a file.

A new format is a module with its `ModelDocument`, and a line in `FORMATS`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from glob import has_magic
from os import PathLike
from pathlib import Path

from numpy.typing import ArrayLike

from steelyard import storage
from steelyard.arguments import require_type, shown
from steelyard.errors import ModelError, OptionError, choices
from steelyard.lazy import later
from steelyard.model import urdf
from steelyard.model.changes import Draft
from steelyard.model.compare import TOLERANCE
from steelyard.model.document import ModelDocument, require_path
from steelyard.model.locking import locked
from steelyard.model.meshes import Piece
from steelyard.model.references import allowed_folders, around, is_inside
from steelyard.model.robot import Robot
from steelyard.model.sketch import Sketch
from steelyard.model.xml import has_root


@dataclass(frozen=True, eq=False)
class Format:
    """One file format of robots.

    name: as of `Source.format`. title, files: the model and its files in messages. suffixes: of its files. holds:
    whether a file is of this format, whatever its suffix; open: its document. new: a new file of a robot and of the
    geometry of its links, None where none is written. lacks: properties of joints, "drives", "loops" and "geometry",
    what of them it has no place for. precision: relative, to which numbers that are written read back. parts: whether
    its files may be parts of a model, which alone are none.
    """

    name: str
    title: str
    files: str
    suffixes: tuple[str, ...]
    holds: Callable[[Path], bool]
    open: Callable[[Path], ModelDocument]
    new: Callable[[Robot, Path, tuple[Piece, ...]], Draft] | None = None
    lacks: tuple[str, ...] = ()
    precision: float = TOLERANCE
    parts: bool = False


_later = partial(later, "steelyard.model")  # a URDF needs neither MuJoCo's ways nor writers
FORMATS = (
    Format(
        name="urdf",
        title="a URDF",
        files=".urdf",
        suffixes=(".urdf",),
        holds=partial(has_root, tags=(urdf.ROOT,)),
        open=urdf.UrdfDocument,
        new=_later("urdf_write.new_model"),
        lacks=("armature", "drives", "loops", "geometry"),
    ),
    Format(
        name="mjcf",
        title="an MJCF",
        files="MJCF .xml",
        suffixes=(".xml",),
        holds=partial(has_root, tags=("mujoco", "mujocoinclude")),
        open=_later("mjcf.MjcfDocument"),
        new=_later("mjcf_new.new_model"),
        lacks=("loops", "geometry"),
        parts=True,
    ),
    Format(
        name="usd",
        title="a USD",
        files="USD",
        suffixes=(".usd", ".usda", ".usdc", ".usdz"),
        holds=_later("usd_files.is_usd"),
        open=_later("usd.UsdDocument"),
        new=_later("usd_new.new_model"),
        precision=1e-6,  # single precision and degrees
        parts=True,
    ),
)
BY_NAME = {each.name: each for each in FORMATS}
BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}
MODEL_SUFFIXES = tuple(BY_SUFFIX)
GENERAL = (".xml", ".mjcf")  # suffixes that do not tell what is in a file
PARTS = (*GENERAL, *(suffix for each in FORMATS if each.parts for suffix in each.suffixes))
REMEDIES = {
    ".xacro": " Expand it first: xacro robot.urdf.xacro > robot.urdf.",
    ".sdf": " Convert it to one of them first.",
    ".mjcf": " Name MJCF files .xml.",
}
"""What to do about other files of robots."""


def load(
    path, *, floating: bool | None = None, gravity=None, folders=(), lock: Mapping[str, ArrayLike] | None = None
) -> Robot:
    """Read a robot from a URDF (`.urdf`), MJCF (`.xml`) or USD (`.usd`, `.usda`, `.usdc`, `.usdz`) file.

    Args:
        path: the model file.
        floating: None as the file says, True puts a free base under a fixed base, False welds free bases in place.
        gravity: (3,) in the world, m/s^2; None takes the file's (MJCF) or `[0, 0, -9.81]`.
        folders: whose files the model may name beside those of its own folder and package; others are never opened.
        lock: joint -> rad or m at which it stands still, such as the fingers of a gripper that was not recorded.

    Raises:
        ModelError: names the file, the element, what was found and what to do.
    """
    require_type(str | PathLike, path=path)
    require_path(path)
    path = Path(path)
    if os.path.isdir(path):  # noqa: PTH112  False for names that cannot be
        inside = sorted(each.name for each in path.iterdir() if each.suffix.lower() in BY_SUFFIX)
        raise ModelError(
            f"{path} is a folder; give a model file" + (f", such as {choices(inside)}." if inside else ".")
        )
    suffix = path.suffix.lower()
    if suffix not in BY_SUFFIX:
        readable = " and ".join(each.files for each in FORMATS)
        raise ModelError(
            f"Model file {shown(path)} has suffix '{path.suffix[:20]}'; robots are read from {readable} files."
            f"{REMEDIES.get(suffix, '')}"
        )
    format = _format_of(path) if suffix in GENERAL else BY_SUFFIX[suffix]
    robot = _with_folders(format.open(path), folders).robot(floating=floating, gravity=gravity)
    return locked(robot, lock or {})


def opened(path, folders=()) -> ModelDocument:
    """A model file, whatever its suffix.

    Args:
        path: the model file.
        folders: as of `load`.

    Returns:
        Its document, with the folders in which files that it names may lie: its package, its own folder, the further
        ones; first the folder around its own, where a model without a package names files there and nowhere else
        outside.

    Raises:
        ModelError: a named folder that is none, or a file that cannot be read.
    """
    path = Path(path)
    return _with_folders(_format_of(path).open(path), folders)


def read_sketch(path, *, meshes: bool = True, folders=()) -> Sketch:
    """Tolerant reading of a model file, whatever its suffix.

    Args:
        path: the model file.
        meshes: whether mesh files are read.
        folders: as of `load`.

    Raises:
        ModelError: one message, for a file that is no model or cannot be read.
    """
    return opened(path, folders).sketch(meshes=meshes)


def document_of(robot: Robot) -> ModelDocument | None:
    """The file that a robot was read from.

    Args:
        robot: the Robot.

    Returns:
        Its document; None for a robot that was not read from a file.
    """
    source = robot.source
    return source and replace(BY_NAME[source.format].open(source.path), folders=source.folders)


def _format_of(path: Path) -> Format:
    """The format that a file's content is of; where it is of none, the one that its suffix says, which will refuse."""
    own = BY_SUFFIX.get(path.suffix.lower(), FORMATS[0])
    return next((each for each in (own, *FORMATS) if each.holds(path)), own)


def _with_folders(document: ModelDocument, folders) -> ModelDocument:
    """The document with the folders that `opened` says."""
    allowed, wider = allowed_folders(document.path, folders), around(document.path)
    for tried in (allowed, (wider, *allowed)) if wider else ():
        found = replace(document, folders=tried)
        try:
            for _ in found.referenced():
                pass
        except ModelError:  # of whatever kind: who reads the file says it better
            continue
        return found
    return replace(document, folders=allowed)


def models_in(path) -> list[Path]:
    """The model files a path stands for: itself, for a folder every model in it, and for a pattern what it matches.

    Hidden files, links out of the folder, parts of models and XML files that are no models are left out.

    Args:
        path: of a file or folder, or a pattern such as "models/*.urdf" (`**` for any depth).

    Returns:
        Paths of the files.

    Raises:
        ModelError: a folder without models, and a pattern that matches nothing.
    """
    require_path(path)
    path = Path(path)
    if has_magic(str(path)) and not os.path.lexists(path):
        matched = [Path(each) for each in storage.find(str(path))]
        suffixes = (*MODEL_SUFFIXES, *GENERAL)
        models = [each for each in matched if each.suffix in suffixes and not each.is_dir() and _may_be_model(each)]
        models += [model for each in matched if each.is_dir() for model in _in_folder(each)]
        if not models:
            raise ModelError(f"Pattern {path} matches no model: {' and '.join(f'no {f.files}' for f in FORMATS)} file.")
        return list(dict.fromkeys(models))
    if not os.path.isdir(path):  # noqa: PTH112  as in `load`
        return [path]
    models = _in_folder(path)
    if not models:
        raise ModelError(f"Folder {path} holds {' and '.join(f'no {each.files}' for each in FORMATS)} file.")
    return models


def _in_folder(path: Path) -> list[Path]:
    suffixes = dict.fromkeys((*MODEL_SUFFIXES, *GENERAL))
    found = [each for suffix in suffixes for each in sorted(path.rglob(f"*{suffix}"))]
    inside = (Path(os.path.realpath(path)),)
    found = [each for each in found if each.is_file() and not each.name.startswith(".") and is_inside(inside, each)]
    return [each for each in found if _may_be_model(each)]


def _may_be_model(path: Path) -> bool:
    """Whether a file is a model, by its suffix or, where that does not tell, by what is in it."""
    return path.suffix not in PARTS or _is_model(path)


def _is_model(path: Path) -> bool:
    try:
        format = _format_of(path)
        return format.holds(path) and format.open(path).whole
    except (ModelError, OptionError):  # the latter where a library for its format is not installed
        return False
