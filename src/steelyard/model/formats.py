"""File formats of robots: one `Format` record each, and the functions that ask the record of a file.

A new format is a module with its `ModelDocument`, and a line in `FORMATS`.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import has_magic
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from steelyard import storage
from steelyard.arguments import require_type, shown
from steelyard.errors import ModelError, SteelyardError, choices
from steelyard.inertia.solids import SIZES
from steelyard.lazy import later
from steelyard.model import urdf
from steelyard.model.changes import Draft
from steelyard.model.document import ModelDocument, require_path
from steelyard.model.joint import KINDS
from steelyard.model.locking import locked
from steelyard.model.meshes import Piece
from steelyard.model.normal_form import AXES, HELICAL, Abilities, NormalForm
from steelyard.model.references import allowed_folders, around, is_inside
from steelyard.model.robot import ModelSource, Robot
from steelyard.model.shape_output import Shapes, suffix_problem
from steelyard.model.sketch import Sketch
from steelyard.model.xml import has_root
from steelyard.numbers import NEGLIGIBLE, SAME

ANY = "*"


@dataclass(frozen=True, eq=False)
class Format:
    """One file format of robots."""

    name: str  # as of `Source.format`
    title: str  # the model in messages
    files: str  # its files in messages
    suffixes: tuple[str, ...]  # of its files
    holds: Callable[[Path], bool]  # whether a file is of this format, whatever its suffix
    open: Callable[[Path], ModelDocument]
    new: Callable[[NormalForm, Path, tuple[Piece, ...]], Draft] | None = None  # a new file, with the geometry of links
    abilities: Abilities | None = None  # what new files can say
    lacks: tuple[str, ...] = ()  # properties of joints and "drives": what of them it has no place for
    shapes: Shapes | None = None  # what of geometry it states, None where `new` takes pieces as they are
    precision: float = NEGLIGIBLE  # relative, to which numbers that are written read back
    parts: bool = False  # whether its files may be parts of a model, which alone are none
    copies: str = ""  # suffix of edited copies, where it is another
    arguments: tuple[str, ...] = ()  # those that its files take; ANY for what each file names itself

    def takes(self, arguments: Mapping[str, str]) -> dict[str, str]:
        """Those of some arguments that its files take."""
        return {name: text for name, text in arguments.items() if name in self.arguments or ANY in self.arguments}


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
        abilities=Abilities(
            "URDF",
            (*AXES, "free"),
            free="anywhere",
            properties=("damping", "frictionloss"),
            on_axes=True,
            inner=lambda robot, index: False,
        ),
        lacks=("armature", "drives"),
        shapes=Shapes(("box", "sphere", "cylinder"), partial(suffix_problem, (".stl", ".obj", ".dae"), "URDF")),
    ),
    Format(
        name="mjcf",
        title="an MJCF",
        files="MJCF .xml",
        suffixes=(".xml",),
        holds=partial(has_root, tags=("mujoco", "mujocoinclude")),
        open=_later("mjcf.MjcfDocument"),
        new=_later("mjcf_new.new_model"),
        abilities=Abilities(
            "MJCF",
            ("revolute", "prismatic", "spherical", "free"),
            of=tuple(KINDS),
            zeros=True,
            compiled=True,
            ground=True,
            drives=_later("mjcf_drives.expressible"),
        ),
        shapes=Shapes(tuple(SIZES), _later("mjcf_new.mesh_problem"), colored=False, flat=False),
        parts=True,
    ),
    Format(
        name="sdf",
        title="an SDF",
        files=".sdf",
        suffixes=(".sdf", ".world"),
        holds=partial(has_root, tags=("sdf",)),
        open=_later("sdf.SdfDocument"),
        new=_later("sdf_new.new_model"),
        abilities=Abilities(
            "SDF",
            ("revolute", "prismatic", HELICAL, "spherical", "free"),
            free="base",
            names_free=False,
            inner=_later("sdf_new.universal"),
            ground=True,
            separator="::",
        ),
        lacks=("drives",),
        arguments=("model",),
        shapes=Shapes(tuple(SIZES), partial(suffix_problem, (".dae", ".obj", ".stl", ".glb", ".gltf"), "SDF")),
    ),
    Format(
        name="usd",
        title="a USD",
        files="USD",
        suffixes=(".usd", ".usda", ".usdc", ".usdz"),
        holds=_later("usd_files.is_usd"),
        open=_later("usd.UsdDocument"),
        new=_later("usd_new.new_model"),
        abilities=Abilities(
            "USD",
            (*AXES, "spherical", "free"),
            names_free=False,
            of=("revolute", "prismatic", "spherical"),
            parts=False,
            weighs=True,
            drives=_later("usd_write.expressible"),
        ),
        precision=SAME,  # single precision and degrees
        parts=True,
    ),
    Format(
        name="xacro",
        title="a xacro file",
        files=".xacro",
        suffixes=(".xacro",),
        holds=partial(has_root, tags=(urdf.ROOT,)),
        open=_later("xacro.XacroDocument"),
        lacks=("armature", "drives"),
        copies=".urdf",
        arguments=(ANY,),
    ),
)
BY_NAME = {each.name: each for each in FORMATS}
BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}
MODEL_SUFFIXES = tuple(BY_SUFFIX)
GENERAL = (".xml", ".mjcf", ".xacro")  # suffixes that do not tell what is in a file, or whether it is a whole model
PARTS = (*GENERAL, *(suffix for each in FORMATS if each.parts for suffix in each.suffixes))
REMEDIES = {
    ".mjcf": " Name MJCF files .xml.",
}
"""What to do about other files of robots."""


def load(
    path,
    *,
    floating: bool | None = None,
    gravity=None,
    folders=(),
    lock: Mapping[str, ArrayLike] | None = None,
    arguments: Mapping[str, object] | Iterable[str] = (),
) -> Robot:
    """Read a robot from a URDF (`.urdf`), MJCF (`.xml`), SDF (`.sdf`), USD (`.usd`, `.usda`, `.usdc`, `.usdz`) or xacro
    (`.xacro`) file, or from a model of MuJoCo in memory.

    Args:
        path: the model file, or an MjModel or MjSpec.
        floating: None as the file says, True puts a free base under a fixed base, False welds free bases in place.
        gravity: (3,) in the world, m/s^2; None takes the file's (MJCF, worlds of SDF) or `[0, 0, -9.81]`.
        folders: whose files the model may name beside those of its own folder and package; others are never opened.
        lock: joint -> rad or m at which it stands still, such as the fingers of a gripper that was not recorded.
        arguments: of a xacro file: name -> value, or words `NAME=VALUE`. `model` of an SDF file with several robots.

    Raises:
        ModelError: names the file, the element, what was found and what to do.
    """
    if of_mujoco(path):
        return locked(_later("mjcf.robot_of_object")(path, floating=floating, gravity=gravity), lock or {})
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
        raise ModelError(
            f"Model file {shown(path)} has suffix '{path.suffix[:20]}'; robots are read from {listed('and')} files."
            f"{REMEDIES.get(suffix, '')}"
        )
    format = _format_of(path) if suffix in GENERAL else BY_SUFFIX[suffix]
    given = arguments_of(arguments)
    if other := [name for name in given if name not in format.takes(given)]:
        takes = f"the argument {choices(format.arguments)}" if format.arguments else "no arguments"
        raise ModelError(f"{path} is {format.title}, which takes {takes}; '{shown(other[0])}' was given.")
    document = _with_folders(replace(format.open(path), arguments=given), folders)
    robot = document.robot(floating=floating, gravity=gravity)
    return locked(robot, lock or {})


def listed(word: str, formats: Sequence[Format] = FORMATS) -> str:
    """Files of formats in words, such as ".urdf or MJCF .xml"."""
    *first, last = [each.files for each in formats]
    return f"{', '.join(first)} {word} {last}" if first else last


def of_mujoco(model) -> bool:
    """Whether something is an object of MuJoCo, which stands for a robot without a file."""
    return type(model).__module__.partition(".")[0] == "mujoco"


def arguments_of(words: Mapping[str, object] | Iterable[str]) -> dict[str, str]:
    """Arguments of a xacro file as texts by name. words: name -> value, or words `NAME=VALUE`. Raises ModelError for a
    word without "="."""
    if isinstance(words, Mapping):
        return {
            str(name): str(value).lower() if isinstance(value, bool) else str(value) for name, value in words.items()
        }
    words = (words,) if isinstance(words, str) else words
    pairs = [(word, *str(word).partition("=")) for word in words]
    for word, name, equals, _ in pairs:
        if not equals or not name.removesuffix(":"):
            raise ModelError(f"'{shown(word)}' is no argument of a model; write NAME=VALUE.")
    return {name.removesuffix(":"): text for _, name, _, text in pairs}


def opened(path, folders=(), arguments: Mapping[str, object] | Iterable[str] = ()) -> ModelDocument:
    """A model file, whatever its suffix, with the folders in which files that it names may lie: its package (else
    the folder around its own, where it names files there), its own, further ones. Raises ModelError for no folder
    or file."""
    path = Path(path)
    format = _format_of(path)
    return _with_folders(replace(format.open(path), arguments=format.takes(arguments_of(arguments))), folders)


def read_sketch(
    path, *, meshes: bool = True, folders=(), arguments: Mapping[str, object] | Iterable[str] = ()
) -> Sketch:
    """Tolerant reading of a model file, whatever its suffix. meshes: whether mesh files are read; folders, arguments:
    as of `opened`. Raises ModelError for a file that is no model or cannot be read."""
    return opened(path, folders, arguments).sketch(meshes=meshes)


def require_takers(models: Sequence[Path], arguments: Mapping[str, object] | Iterable[str]) -> None:
    """Raise ModelError for arguments where none of the models takes any."""
    given = arguments_of(arguments)
    if given and models and not any(_format_of(path).takes(given) for path in models):
        raise ModelError(
            f"No model takes the argument '{shown(next(iter(given)))}'; xacro models take those that they name."
        )


def document_of(robot: Robot) -> ModelDocument | None:
    """The file that a robot was read from; None for one that was not."""
    source = robot.source
    if source is None:
        return None
    return replace(BY_NAME[source.format].open(source.path), folders=source.folders, arguments=source.arguments)


def options_of_copy(source: ModelSource | None) -> dict[str, Any]:
    """Options with which `load` reads an edited copy of a file."""
    if source is None:
        return {}
    return {"folders": source.folders, "arguments": {} if BY_NAME[source.format].copies else source.arguments}


def _format_of(path: Path) -> Format:
    """The format that a file's content is of; where it is of none, the one that its suffix says, which will refuse."""
    own = BY_SUFFIX.get(path.suffix.lower(), FORMATS[0])
    return next((each for each in (own, *FORMATS) if each.holds(path)), own)


def _with_folders(document: ModelDocument, folders) -> ModelDocument:
    allowed, wider = allowed_folders(document.path, folders), around(document.path)
    tried = [replace(document, folders=each) for each in (allowed, (wider, *allowed)) if each[0]]
    for found in tried if wider else ():
        try:
            for _ in found.referenced():
                pass
        except ModelError:  # of whatever kind: who reads the file says it better
            continue
        return found
    return tried[0]


def models_in(path) -> list[Path]:
    """The model files of a path: itself, every model in a folder, or what a pattern such as "models/*.urdf" matches,
    but for hidden files, links out of the folder and parts of models. Raises ModelError for none."""
    require_path(path)
    path = Path(path)
    if has_magic(str(path)) and not os.path.lexists(path):
        matched = [Path(each) for each in storage.find(str(path))]
        suffixes = (*MODEL_SUFFIXES, *GENERAL)
        models = [each for each in matched if each.suffix in suffixes and not each.is_dir() and _may_be_model(each)]
        models += [model for each in matched if each.is_dir() for model in _in_folder(each)]
        if not models:
            raise ModelError(f"Pattern {path} matches no model: no {listed('or')} file.")
        return list(dict.fromkeys(models))
    if not os.path.isdir(path):  # noqa: PTH112  as in `load`
        return [path]
    models = _in_folder(path)
    if not models:
        raise ModelError(f"Folder {path} holds no {listed('or')} file.")
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
        return _format_of(path).holds(path) and opened(path).whole
    except SteelyardError:
        return False
