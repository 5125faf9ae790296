"""The files that MuJoCo would open for an MJCF file, held to the folders in which they may lie before MuJoCo is asked.

MuJoCo looks in several places and undoes `..` itself, so a name counts in every place where it could: beside the main
file and each file that this includes or attaches, in every asset folder that one of them names, with the folders in the
name and without.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.references import ASSET_FOLDERS, is_inside, remedy
from steelyard.model.xml_edit import Document, Element, read
from steelyard.numbers import to_float

PARTS = ("include", "model")  # elements that name further XML files
MOST_PLACES = 100_000  # looked at in about 9 s of a busy core; the largest of 63 models of dm_control has 728
# MuJoCo takes every file for UTF-8: in an encoding that is no superset of ASCII it would see other elements
ENCODINGS = ("utf-8", "ascii", "us-ascii", "iso-8859-", "windows-125")


def require_reach(path: Path, folders: tuple[Path, ...]) -> None:
    """Raise ModelError for an MJCF file that names a file outside the folders, at any depth of what it includes.

    It names the element, where that points and what to do. folders: as of `allowed_folders`.
    """
    seen = _Seen(folders)
    seen.add(path.absolute())
    size = 0
    while size != len(seen.documents):  # each document can add places in which the names of all others are looked for
        size = len(seen.documents)
        for document in list(seen.documents.values()):
            for element in document.root.walk():
                if element.tag in PARTS:
                    for file in seen.files(element, "file", document):
                        seen.add(file)
    for document in seen.documents.values():
        for element in document.root.walk():
            for name in element.attributes:
                if name.startswith("file"):  # fileright and filename, too
                    seen.files(element, name, document)


@dataclass(eq=False)
class _Seen:
    """Documents found so far by path, links resolved; the folders that they lie in and every one that they name for
    assets."""

    folders: tuple[Path, ...]
    documents: dict[Path, Document] = field(default_factory=dict)
    homes: dict[Path, None] = field(default_factory=dict)
    asset_folders: dict[str, None] = field(default_factory=lambda: {"": None})
    looked: int = 0

    def add(self, path: Path) -> None:
        """Take up a document. Raises ModelError for one that MuJoCo would read otherwise than other readers of XML."""
        real = Path(os.path.realpath(path))
        if real in self.documents:  # by whatever name: "a/../a/../b.xml" has no end
            return
        document = read(path)
        if not document.encoding.lower().startswith(ENCODINGS):
            raise ModelError(f"{path} is encoded as {document.encoding}, and MuJoCo reads UTF-8. Save it as UTF-8.")
        elements = list(document.root.walk())
        if any(":" in each.tag or any(name.startswith("xmlns") for name in each.attributes) for each in elements):
            raise ModelError(f"{path} has XML namespaces, which MJCF does not know. Remove xmlns and prefixes.")
        self.documents[real] = document
        self.homes |= {Path(os.path.normpath(path)).parent: None, real.parent: None}
        for element in (each for each in elements if each.tag == "compiler"):
            for text in filter(None, map(element.attributes.get, ASSET_FOLDERS)):
                self.asset_folders |= {text: None, text.replace("\\", "/"): None}

    def files(self, element: Element, attribute: str, document: Document) -> list[Path]:
        """Existing files that an attribute can stand for. Raises ModelError where one is outside the folders."""
        text = element.attributes.get(attribute, "")
        found = []
        for place in self._places(text) if text else ():
            file = _file_at(place)
            if file is None:
                continue
            if not is_inside(self.folders, file):
                raise ModelError(
                    f'{document.where(element)} has {attribute}="{text[:120]}": {os.path.realpath(file)[:300]} is '
                    f"outside the model's folder ({self.folders[0]}) and was not opened. {remedy(file)}"
                )
            found.append(file)
        return found

    def _places(self, text: str) -> Iterator[Path]:
        plain = text.replace("\\", "/").split("://")[-1]  # MuJoCo divides at both, and drops the scheme in a URDF
        names = dict.fromkeys((text, plain, plain.rsplit("/", 1)[-1]))
        for home, folder, name in product(self.homes, self.asset_folders, names):
            self.looked += 1
            if self.looked > MOST_PLACES:
                raise ModelError(f"{next(iter(self.documents))} names too many files in too many folders to be read.")
            place = home / folder / name
            yield from dict.fromkeys((place, Path(os.path.normpath(place))))


def _file_at(place: Path) -> Path | None:
    """The file at a place, or the file, such as an archive, that the place lies in; None where there is none."""
    for each in (place, *place.parents):
        if os.path.isdir(each):  # noqa: PTH112  False for names that cannot be
            return None
        if os.path.lexists(each):
            return each
    return None


# MuJoCo 4.0 compiles any of these in about 5 s on one core; its time grows with the square of the first two
MOST_BODIES = 6_000  # and joints
MOST_ELEMENTS = 30_000
MOST_SAMPLES = 2**26  # pixels of textures and heights of height fields
FACES = 6  # of a texture that is a cube, one above the other
DEFAULT_COUNT = "10 10 10"  # of <flexcomp>


@dataclass(eq=False)
class _Tally:
    """What an MJCF file and everything that it names come to. files: roots by path, each read once."""

    main: Path
    bodies: int = 0
    elements: int = 0
    samples: int = 0
    files: dict[Path, Element] = field(default_factory=dict)

    def root(self, path: Path) -> Element:
        if path not in self.files:
            self.files[path] = read(path).root
        return self.files[path]

    def add(self, element, times: int) -> None:
        """Count an element that is made so many times. Raises ModelError at a limit."""
        self.elements += times
        if element.tag in ("body", "joint", "freejoint"):
            self.bodies += times
        elif element.tag in ("flexcomp", "composite"):
            self.bodies += times * prod(_counts(element.attributes.get("count", DEFAULT_COUNT)))
        elif element.tag in ("hfield", "texture"):
            self.samples += _samples(element)
        elif element.tag == "size":
            self.elements += sum(_counts(element.attributes.get("nkey", "")))
        for count, most, what in (
            (self.bodies, MOST_BODIES, "bodies and joints"),
            (self.elements, MOST_ELEMENTS, "elements"),
            (self.samples, MOST_SAMPLES, "pixels and heights"),
        ):
            if count > most:
                raise ModelError(
                    f"{self.main} stands for more than {most:,} {what}, counting what it replicates, includes and "
                    "attaches; such models are not read. Give the robot alone, without its surroundings."
                )


def require_bounded(path: Path) -> None:
    """Raise ModelError for an MJCF file that MuJoCo would need minutes or all memory for, or never end with."""
    tally = _Tally(path)
    included: set[Path] = set()
    stack = [(tally.root(path), 1, path)]
    while stack:
        element, times, file = stack.pop()
        tally.add(element, times)
        if element.tag == "include":
            other = _found(element.attributes.get("file"), file, path)
            if other is not None and other not in included:  # MuJoCo refuses a second time
                included.add(other)
                stack.append((tally.root(other), times, other))
        elif element.tag in ("model", "attach"):
            stack += [(part, times, other) for part, other in _attached(element, file, tally)]
        copies = prod(_counts(element.attributes.get("count", "1"))) if element.tag == "replicate" else 1
        inner = times * max(copies, 1)
        stack += [(child, inner, file) for child in element.children]


def _attached(element, file: Path, tally: _Tally) -> Iterator[tuple]:
    """The other model that `<model>` has MuJoCo read, or the part of it that `<attach>` puts into this one."""
    named = element
    if element.tag == "attach":
        models = tally.root(file).every("model")
        named = next((each for each in models if _name(each) == element.attributes.get("model")), element)
    compilers = tally.root(file).every("compiler")
    folders = {each.attributes.get(key, "") for each in compilers for key in ("assetdir", "meshdir")}
    other = _found(named.attributes.get("file"), file, *(file.parent / folder / "x" for folder in sorted(folders)))
    if other is None:
        return
    root = tally.root(other)
    asked = element.attributes.get("body") if element.tag == "attach" else None
    yield next((each for each in root.every("body") if asked and each.attributes.get("name") == asked), root), other


def _name(model) -> str:
    return model.attributes.get("name") or Path(model.attributes.get("file", "")).stem


def _found(text: str | None, *beside: Path) -> Path | None:
    """The file of that name beside one of the others."""
    places = [file.parent / text for file in beside] if text and "\0" not in text else []
    return next((place.resolve() for place in places if os.path.isfile(place)), None)  # noqa: PTH113  any text


def _samples(element) -> int:
    """Pixels of a texture or heights of a height field that its attributes ask for."""
    keys = ("nrow", "ncol") if element.tag == "hfield" else ("width", "height")
    columns, rows = (sum(_counts(element.attributes.get(key, ""))) for key in keys)
    if element.tag == "texture" and element.attributes.get("type", "cube") != "2d":
        rows = max(rows, FACES * columns)
    return columns * rows


def _counts(text: str) -> list[int]:
    """The whole numbers in an attribute; what is none is left to MuJoCo to refuse."""
    try:
        return [max(int(to_float(word)), 0) for word in text.split()]
    except (ValueError, OverflowError):
        return []
