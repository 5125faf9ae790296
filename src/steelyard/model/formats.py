"""File formats of robots: one `Format` record each, and the functions that ask the record of a file.

A new format is a module with the functions of its record, and a line in `FORMATS`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from steelyard import storage
from steelyard.arguments import require_type, shown
from steelyard.errors import ModelError, choices
from steelyard.lazy import later
from steelyard.model import urdf, urdf_geometry
from steelyard.model.changes import Draft
from steelyard.model.locking import locked
from steelyard.model.meshes import Piece
from steelyard.model.references import allowed_folders, around, is_inside
from steelyard.model.robot import Robot, Source
from steelyard.model.sketch import Inertial, Sketch
from steelyard.model.xml import require_path
from steelyard.model.xml_edit import Element, read


@dataclass(frozen=True, eq=False)
class Format:
    """One file format of robots; what a format cannot do is None.

    name: as of `Source.format`. title, files: the model and its files in messages. suffix: of its files. roots: tags of
    the root element, that of a whole model first; section: an element that a whole model has below it, if any.
    load: the strict reader. reach: raises ModelError where a file names one outside of folders. sketch: the tolerant
    reader, of a document. pieces: geometry of all links. surroundings: solids that hang on the world itself, such as
    tables and floors, as arguments of a geom in a specification of MuJoCo, and a name. keyframes: named poses of a
    robot, (nq,) each. edit: an edited copy of a robot's file; new: a new file of a robot; edit_inertials: a copy of
    a sketched file with other inertials.
    """

    name: str
    title: str
    files: str
    suffix: str
    roots: tuple[str, ...]
    load: Callable[..., Robot]
    reach: Callable[[Path, tuple[Path, ...]], None]
    sketch: Callable[..., Sketch]
    pieces: Callable[[Path, tuple[Path, ...]], Iterator[Piece]]
    section: str | None = None
    surroundings: Callable[[Path, tuple[Path, ...]], list[dict]] | None = None
    keyframes: Callable[[Robot], dict[str, np.ndarray]] | None = None
    edit: Callable[[Robot, Robot, Path], Draft] | None = None
    new: Callable[[Robot, Path], Draft] | None = None
    edit_inertials: Callable[..., list[tuple[Path, bytes]]] | None = None

    def is_model(self, root: Element) -> bool:
        """Whether an XML root is that of a whole model in this format."""
        return root.tag == self.roots[0] and (self.section is None or root.find(self.section) is not None)


_later = partial(later, "steelyard.model")  # a URDF needs neither MuJoCo's ways nor writers
FORMATS = (
    Format(
        name="urdf",
        title="a URDF",
        files=".urdf",
        suffix=".urdf",
        roots=("robot",),
        load=urdf.load,
        reach=urdf_geometry.require_reach,
        sketch=urdf.sketch,
        pieces=urdf_geometry.pieces,
        edit=_later("urdf_write.edited_copy"),
        new=_later("urdf_write.new_model"),
        edit_inertials=_later("urdf_write.edit_inertials"),
    ),
    Format(
        name="mjcf",
        title="an MJCF",
        files="MJCF .xml",
        suffix=".xml",
        roots=("mujoco", "mujocoinclude"),
        section="worldbody",
        load=_later("mjcf.load"),
        reach=_later("mjcf_limits.require_reach"),
        sketch=_later("sketch_mjcf.sketch"),
        pieces=_later("sketch_mjcf.pieces"),
        surroundings=_later("sketch_mjcf.surroundings"),
        keyframes=_later("sketch_mjcf.keyframes"),
        edit=_later("mjcf_write.edited_copy"),
        new=_later("mjcf_new.new_model"),
        edit_inertials=_later("mjcf_write.edit_inertials"),
    ),
)
BY_NAME = {each.name: each for each in FORMATS}
BY_SUFFIX = {each.suffix: each for each in FORMATS}
MODEL_SUFFIXES = tuple(BY_SUFFIX)
GENERAL = (".xml", ".mjcf")  # suffixes that do not tell what is in a file
REMEDIES = {
    ".xacro": " Expand it first: xacro robot.urdf.xacro > robot.urdf.",
    ".sdf": " Convert it to one of them first.",
    ".mjcf": " Name MJCF files .xml.",
}
"""What to do about other files of robots."""


def load(
    path, *, floating: bool | None = None, gravity=None, folders=(), lock: Mapping[str, ArrayLike] | None = None
) -> Robot:
    """Read a robot from a URDF (`.urdf`) or MJCF (`.xml`) file.

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
    format = BY_SUFFIX[suffix]
    if suffix in GENERAL:  # the root element tells; the format of that suffix refuses what nobody knows
        tag = read(path).root.tag
        format = next((each for each in FORMATS if tag in each.roots), format)
    robot = format.load(path, floating=floating, gravity=gravity, folders=_folders_of(path, folders, format))
    return locked(robot, lock or {})


def read_sketch(path, *, meshes: bool = True, folders=()) -> Sketch:
    """Tolerant reading of a model file, whatever its suffix.

    Args:
        path: the model file.
        meshes: whether mesh files are read.
        folders: as of `load`.

    Raises:
        ModelError: one message, for a file that is no model or cannot be read.
    """
    path = Path(path)
    document = read(path)
    format = next((each for each in FORMATS if document.root.tag == each.roots[0]), None)
    if format is None:
        first, *others = FORMATS
        known = [f"{first.title} starts with <{first.roots[0]}>", *(f"{o.title} with <{o.roots[0]}>" for o in others)]
        raise ModelError(f"{path}: the root element is <{document.root.tag[:60]}>; {', '.join(known)}.")
    return format.sketch(document, _folders_of(path, folders, format), meshes=meshes)


def folders_of(path, folders=()) -> tuple[Path, ...]:
    """Folders in which files that a model names may lie.

    Args:
        path: the model file.
        folders: further ones, named by the user.

    Returns:
        Its package, its own folder, the further ones; first the folder around its own, where a model without a package
        names files there and nowhere else outside.

    Raises:
        ModelError: a named folder that is none, or a file that is no model.
    """
    tag = read(path).root.tag
    format = next((each for each in FORMATS if tag in each.roots), FORMATS[0])
    return _folders_of(Path(path), folders, format)


def _folders_of(path: Path, folders, format: Format) -> tuple[Path, ...]:
    allowed, wider = allowed_folders(path, folders), around(path)
    for tried in (allowed, (wider, *allowed)) if wider else ():
        try:
            format.reach(path, tried)
        except ModelError:  # of whatever kind: who reads the file says it better
            continue
        return tried
    return allowed


def edit_inertials(sketch: Sketch, inertials: dict[int, Inertial], target: Path, folders) -> list[tuple[Path, bytes]]:
    """Files of a copy of a sketched model with other inertials, each with the path it is to be written to, model last.

    Args:
        sketch: of the file.
        inertials: index of a part -> its new inertial.
        target: path of the copy; every byte that states no inertial and no path stays.
        folders: in which included files may lie.

    Raises:
        ModelError: where a part is not written in the files.
    """
    edit = BY_NAME[sketch.format].edit_inertials
    if edit is None:
        raise ModelError(f"{sketch.path}: inertials of {BY_NAME[sketch.format].title} file cannot be edited.")
    return edit(sketch, inertials, target, folders)


def pieces(source: Source) -> Iterator[Piece]:
    """Geometry of the file that a robot was read from, mesh files not read yet.

    Args:
        source: of the robot.

    Returns:
        An iterator of pieces.
    """
    return BY_NAME[source.format].pieces(source.path, source.folders)


def surroundings(robot: Robot) -> list[dict]:
    """Solids of a robot's file that hang on the world itself: tables, floors.

    Args:
        robot: the Robot; one without a file, or of a format that has none, has no surroundings.

    Returns:
        Name and arguments of each geom, as MuJoCo's specification wants them.
    """
    source = robot.source
    known = None if source is None else BY_NAME[source.format].surroundings
    return [] if known is None or source is None or not source.path.exists() else known(source.path, source.folders)


def keyframes(robot: Robot) -> dict[str, np.ndarray]:
    """Poses that a robot's file names, such as an MJCF's keyframes.

    Args:
        robot: the Robot; one without a file, or of a format that has none, has no keyframes.

    Returns:
        Positions (nq,) of the robot by name.
    """
    source = robot.source
    known = None if source is None else BY_NAME[source.format].keyframes
    return {} if known is None or source is None or not source.path.exists() else known(robot)


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
    """Whether a file is a model, by its suffix or, where that does not tell, by its root."""
    return path.suffix not in GENERAL or _is_model(path)


def _is_model(path: Path) -> bool:
    try:
        root = read(path).root
    except ModelError:
        return False
    return any(each.is_model(root) for each in FORMATS)
