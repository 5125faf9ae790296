"""The files that MuJoCo would open for an MJCF file, held to the folders in which they may lie before MuJoCo is asked.

MuJoCo looks in several places and undoes `..` itself, so a name counts in every place where it could: beside the main
file and each file that this includes or attaches, in every asset folder that one of them names, with the folders in the
name and without.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from lxml import etree

from steelyard.errors import ModelError
from steelyard.model.references import holds, remedy
from steelyard.model.xml import parse, where

ASSET_FOLDERS = ("meshdir", "texturedir", "assetdir")
PARTS = ("include", "model")  # elements that name further XML files
MOST_PLACES = 100_000  # looked at in about 9 s of a busy core; the largest of 63 models of dm_control has 728
# MuJoCo takes every file for UTF-8: in an encoding that is no superset of ASCII it would see other elements
ENCODINGS = ("utf-8", "ascii", "us-ascii", "iso-8859-", "windows-125")


def require_reach(path: Path, folders: tuple[Path, ...]) -> None:
    """Raise ModelError for an MJCF file that names a file outside the folders, at any depth of what it includes.

    It names the element, where that points and what to do. folders: as of `references.reach`.
    """
    seen = _Seen(folders)
    seen.add(path.absolute())
    size = 0
    while size != len(seen.documents):  # each document can add places in which the names of all others are looked for
        size = len(seen.documents)
        for document, root in list(seen.documents.items()):
            for element in root.iter(*PARTS):
                for file in seen.files(element, "file", document):
                    seen.add(file)
    for document, root in seen.documents.items():
        for element in root.iter(etree.Element):
            for name in element.keys():  # noqa: SIM118  no mapping
                if name.startswith("file"):  # fileright and filename, too
                    seen.files(element, name, document)


@dataclass(eq=False)
class _Seen:
    """Documents found so far by path, links resolved; the folders that they lie in and every one that they name for
    assets."""

    folders: tuple[Path, ...]
    documents: dict[Path, etree._Element] = field(default_factory=dict)
    homes: dict[Path, None] = field(default_factory=dict)
    asset_folders: dict[str, None] = field(default_factory=lambda: {"": None})
    looked: int = 0

    def add(self, path: Path) -> None:
        """Take up a document. Raises ModelError for one that MuJoCo would read otherwise than other readers of XML."""
        real = Path(os.path.realpath(path))
        if real in self.documents:  # by whatever name: "a/../a/../b.xml" has no end
            return
        root = parse(path)
        encoding = (root.getroottree().docinfo.encoding or "utf-8").lower()
        if not encoding.startswith(ENCODINGS):
            raise ModelError(f"{path} is encoded as {encoding}, and MuJoCo reads UTF-8. Save it as UTF-8.")
        if any("}" in element.tag for element in root.iter(etree.Element)):
            raise ModelError(f"{path} has XML namespaces, which MJCF does not know. Remove xmlns and prefixes.")
        self.documents[real] = root
        self.homes |= {Path(os.path.normpath(path)).parent: None, real.parent: None}
        for element in root.iter("compiler"):
            for text in filter(None, map(element.get, ASSET_FOLDERS)):
                self.asset_folders |= {text: None, text.replace("\\", "/"): None}

    def files(self, element, attribute: str, document: Path) -> list[Path]:
        """Existing files that an attribute can stand for. Raises ModelError where one is outside the folders."""
        text = element.get(attribute, "")
        found = []
        for place in self._places(text) if text else ():
            file = _file_at(place)
            if file is None:
                continue
            if not holds(self.folders, file):
                raise ModelError(
                    f'{where(element, document)} has {attribute}="{text[:120]}": {os.path.realpath(file)[:300]} is '
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
