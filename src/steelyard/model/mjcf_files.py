"""The files of an MJCF model: found once, held to the folders in which they may lie, and the bodies that they define.

MuJoCo looks in several places and undoes `..` itself, so before it is asked a name counts in every place where it could
be: beside the main file and each file that this includes or attaches, in every asset folder that one of them names,
with the folders in the name and without.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.references import ASSET_FOLDERS, Relocation, is_inside, remedy
from steelyard.model.xml import Document, Element, read
from steelyard.model.xml_edit import Edit, NewElement, assign, insert

WRAPPERS = ("frame",)
GENERATORS = ("replicate", "attach", "composite", "flexcomp")
PARTS = ("include", "model")  # elements that name further XML files
MOST_PLACES = 100_000  # looked at in about 9 s of a busy core; the largest of 63 models of dm_control has 728
# MuJoCo takes every file for UTF-8: in an encoding that is no superset of ASCII it would see other elements
ENCODINGS = ("utf-8", "ascii", "us-ascii", "iso-8859-", "windows-125")


@dataclass(frozen=True, eq=False)
class Node:
    """An element and the file it stands in."""

    document: Document
    element: Element

    def __str__(self) -> str:
        return f"<{self.element.tag}> in {self.document.path.name}:{self.document.line(self.element)}"


Made = tuple[Node, list[Edit], str]  # an element, edits of it, and what they do in words


@dataclass(frozen=True, eq=False)
class MjcfBody:
    """A `<body>`: its `<inertial>` when it has one, and its joints by name, in order. Names are MuJoCo's, which
    numbers what has none. parent: place in the list of bodies of the one that it is in, through `<frame>` and
    `<include>`; None in the world.
    """

    name: str
    node: Node
    parent: int | None
    inertial: Node | None
    joints: dict[str, Node]


@dataclass(eq=False)
class MjcfFiles:
    """Files of a model in the folders in which they may lie, each read once.

    includes: what each `<include>` stands for, where that exists.
    """

    main: Document  # of the model
    folders: tuple[Path, ...]
    read: dict[Path, Document] = field(default_factory=dict)  # XML files that MuJoCo may read, by path, links resolved
    includes: dict[Element, Document] = field(default_factory=dict)
    _homes: dict[Path, None] = field(default_factory=dict)
    _asset_folders: dict[str, None] = field(default_factory=lambda: {"": None})
    _looked: int = 0

    @property
    def documents(self) -> list[Document]:
        """The main file and what it includes, each once."""
        return list(dict.fromkeys([self.main, *self.includes.values()]))

    def children(self, node: Node) -> Iterator[Node]:
        """Children of an element with the contents of included files in place of `<include>`."""
        for child in node.element.children:
            if child.tag == "include":
                included = self.includes[child]
                yield from self.children(Node(included, included.root))
            else:
                yield Node(node.document, child)

    def sections(self, tag: str) -> list[Node]:
        return [node for node in self.children(Node(self.main, self.main.root)) if node.element.tag == tag]

    def everything(self) -> Iterator[Node]:
        return (Node(document, element) for document in self.documents for element in document.root.walk())

    def add(self, document: Document) -> None:
        """Take up a document. Raises ModelError for one that MuJoCo would read otherwise than other readers of XML."""
        path = document.path
        if not document.encoding.lower().startswith(ENCODINGS):
            raise ModelError(f"{path} is encoded as {document.encoding}, and MuJoCo reads UTF-8. Save it as UTF-8.")
        elements = list(document.root.walk())
        if any(":" in each.tag or any(name.startswith("xmlns") for name in each.attributes) for each in elements):
            raise ModelError(f"{path} has XML namespaces, which MJCF does not know. Remove xmlns and prefixes.")
        real = Path(os.path.realpath(path))
        self.read[real] = document
        self._homes |= {Path(os.path.normpath(path.absolute())).parent: None, real.parent: None}
        for element in (each for each in elements if each.tag == "compiler"):
            for text in filter(None, map(element.attributes.get, ASSET_FOLDERS)):
                self._asset_folders |= {text: None, text.replace("\\", "/"): None}

    def named(self) -> Iterator[Path]:
        """Existing files that any of these names. Raises ModelError for one outside the folders."""
        for document in self.read.values():
            for element in document.root.walk():
                for name in (each for each in element.attributes if each.startswith("file")):  # fileright, too
                    yield from self.found(Node(document, element), name)

    def found(self, node: Node, attribute: str) -> list[Path]:
        """Existing files that an attribute can stand for. Raises ModelError where one is outside the folders."""
        text = node.element.attributes.get(attribute, "")
        files = []
        for place in self._places(text) if text else ():
            file = _file_at(place)
            if file is None:
                continue
            if not is_inside(self.folders, file):
                word = "includes" if node.element.tag == "include" else f"has {attribute}"
                raise ModelError(
                    f"{node} {word} '{text[:120]}', outside the model's folder ({self.folders[0]}): "
                    f"{os.path.realpath(file)[:300]} was not opened. {remedy(file)}"
                )
            files.append(file)
        return files

    def _places(self, text: str) -> Iterator[Path]:
        plain = text.replace("\\", "/").split("://")[-1]  # MuJoCo divides at both, and drops the scheme in a URDF
        names = dict.fromkeys((text, plain, plain.rsplit("/", 1)[-1]))
        for home, folder, name in product(self._homes, self._asset_folders, names):
            self._looked += 1
            if self._looked > MOST_PLACES:
                raise ModelError(f"{self.main.path} names too many files in too many folders to be read.")
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


def read_files(path: Path, folders: tuple[Path, ...]) -> MjcfFiles:
    """Index an MJCF file with the XML files that it names, at any depth. Raises ModelError for one outside of the
    folders, which is not opened, one that is not well formed, and circles."""
    main = read(path)
    files = MjcfFiles(main, folders)
    files.add(main)
    size = 0
    while size != len(files.read):  # each document can add places in which the names of all others are looked for
        size = len(files.read)
        for document in list(files.read.values()):
            for element in document.root.every(*PARTS):
                for file in files.found(Node(document, element), "file"):
                    if Path(os.path.realpath(file)) not in files.read:  # by whatever name: "a/../a/../b.xml" has no end
                        files.add(read(file))
    _follow_includes(files)
    return files


def _follow_includes(files: MjcfFiles) -> None:
    done: set[Document] = set()
    stack: list[tuple[Document, tuple[Document, ...]]] = [(files.main, ())]
    while stack:
        document, above = stack.pop()
        if document in above:
            names = " > ".join(each.path.name for each in (*above, document))
            raise ModelError(f"{files.main.path} includes files in a circle: {names}. Remove one of the <include>s.")
        if document in done:
            continue
        done.add(document)
        for element in document.root.every("include"):
            included = files.read.get(Path(os.path.realpath(include_path(files, document, element))))
            if included is not None:
                files.includes[element] = included
                stack.append((included, (*above, document)))


def include_path(files: MjcfFiles, document: Document, element: Element) -> Path:
    """The file an `<include>` names: seen from the main file, else from the file it stands in (as MuJoCo looks)."""
    text = element.attributes.get("file", "")
    from_main = files.main.path.parent / text
    known = os.path.isfile(from_main)  # noqa: PTH113  False for names that cannot be
    return from_main if known else document.path.parent / text


def require_complete(files: MjcfFiles) -> None:
    """Raise ModelError for an `<include>` of a file that cannot be read."""
    for node in files.everything():
        if node.element.tag == "include" and node.element not in files.includes:
            read(include_path(files, node.document, node.element))


def bodies(files: MjcfFiles) -> tuple[list[MjcfBody], Node | None]:
    """Bodies in MuJoCo's order (depth first, as written), and the first element that makes bodies of its own, if any.

    The order is known only up to that element, so the list ends there.
    """
    found: list[MjcfBody] = []
    stack = [(child, None) for world in files.sections("worldbody") for child in files.children(world)][::-1]
    while stack:
        node, parent = stack.pop()
        tag = node.element.tag
        if tag in GENERATORS and _makes_bodies(files, node):
            return found, node
        if tag == "body":
            found.append(_body(files, node, parent, len(found) + 1))
            parent = len(found) - 1
        if tag == "body" or tag in WRAPPERS:
            stack += [(child, parent) for child in files.children(node)][::-1]
    return found, None


def _makes_bodies(files: MjcfFiles, node: Node) -> bool:
    """`<replicate>` of geoms and sites alone makes none; the other generators do."""
    if node.element.tag != "replicate":
        return True
    inside = list(files.children(node))
    return any(n.element.tag == "body" or n.element.tag in WRAPPERS + GENERATORS for n in inside)


def _body(files: MjcfFiles, node: Node, parent: int | None, number: int) -> MjcfBody:
    inertials, joints = [], []
    stack = list(files.children(node))[::-1]
    while stack:
        part = stack.pop()
        if part.element.tag == "inertial":
            inertials.append((part, part.element.parent))
        elif part.element.tag in ("joint", "freejoint"):
            joints.append(part)
        elif part.element.tag in WRAPPERS:
            stack += list(files.children(part))[::-1]
    for part, around in inertials:
        if around is not None and around.tag in WRAPPERS:
            raise ModelError(
                f"{part} stands inside a <frame>, so its numbers are not in the body's axes. Move it out of the frame."
            )
    name = node.element.attributes.get("name") or f"body{number}"
    named = {each.element.attributes.get("name") or f"{name}_joint{i}": each for i, each in enumerate(joints)}
    return MjcfBody(name, node, parent, inertials[0][0] if inertials else None, named)


FOLDER_OF = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "flexcomp": "meshdir", "texture": "texturedir"}


def relocate(files: MjcfFiles, edited: set[Document], target: Path):
    """Places of the files to be written: document -> path; edits: document -> list; one line for each changed path."""
    mover = Relocation(files.main.path.parent, target.parent)
    places = _places(files, _written(files, edited, mover), target)
    edits: dict[Document, list[Edit]] = {document: [] for document in places}
    lines = []

    def change(document: Document, element: Element, name: str, text: str | None):
        if text is not None:
            edits[document].extend(assign(document, element, name, text))
            lines.append(f'<{element.tag}> in {document.path.name}:{document.line(element)}: {name}="{text}"')

    for document in places:
        beside = Relocation(document.path.parent, target.parent)
        for element in document.root.walk():
            if element.tag == "include":
                included = files.includes[element]
                text = places[included].name if included in places else mover.seen(included.path)
                stays = os.path.normpath(element.attributes["file"]) == os.path.normpath(text)
                change(document, element, "file", None if stays else text)
            elif element.tag == "compiler":
                for name in ASSET_FOLDERS:
                    change(document, element, name, mover.moved(element.attributes.get(name)))
            elif element.tag == "model":
                change(document, element, "file", beside.moved(element.attributes.get("file")))
            elif document is not files.main:
                for name in _file_attributes(element):
                    change(document, element, name, beside.moved(element.attributes[name]))
    missing = {name: mover.seen(files.main.path.parent) for name in _missing_folders(files, mover)}
    edits[files.main] += _add_folders(files.main, missing)
    lines += [f'<compiler> in {files.main.path.name}: {name}="{text}"' for name, text in missing.items()]
    return places, edits, lines


def _written(files: MjcfFiles, edited: set[Document], mover: Relocation) -> set[Document]:
    """The main file, the edited ones, and those whose paths would otherwise lead nowhere."""
    written = {files.main, *edited}
    owner = {node.element: node.document for node in files.everything()}
    if not mover.stays:
        for element, document in owner.items():
            moves = element.tag == "compiler" and any(
                mover.moved(element.attributes.get(name)) for name in ASSET_FOLDERS
            )
            lost = element.tag == "include" and not os.path.isfile(  # noqa: PTH113
                document.path.parent / element.attributes["file"]
            )
            if moves or lost:
                written.add(document)
    size = 0
    while size != len(written):  # a file that names a file with a new place has to say so
        size = len(written)
        written |= {owner[element] for element, included in files.includes.items() if included in written}
    return written


def _places(files: MjcfFiles, written: set[Document], target: Path) -> dict[Document, Path]:
    places, taken = {}, {os.path.realpath(each.path) for each in files.documents}
    if os.path.realpath(target) in taken:
        raise ModelError(f"{target} is a file of the model itself; input files are never changed. Choose another name.")
    for document in files.documents:
        if document is files.main:
            places[document] = target
        elif document in written:
            place, count = target.with_name(f"{target.stem}_{document.path.name}"), 1
            while os.path.realpath(place) in taken:
                count += 1
                place = target.with_name(f"{target.stem}_{count}_{document.path.name}")
            places[document] = place
            taken.add(os.path.realpath(place))
    return places


def _file_attributes(element: Element) -> list[str]:
    """Attributes that name files an element is read from: file, and a texture's fileright, fileup, ..."""
    return [name for name in element.attributes if name.startswith("file")] if element.tag in FOLDER_OF else []


def _missing_folders(files: MjcfFiles, mover: Relocation) -> list[str]:
    """Folders no `<compiler>` names although files are read from there (the main file's own folder)."""
    if mover.stays:
        return []
    named = {name for node in files.everything() if node.element.tag == "compiler" for name in node.element.attributes}
    needed = {
        FOLDER_OF[node.element.tag]
        for node in files.everything()
        for name in _file_attributes(node.element)
        if mover.moved(text := node.element.attributes[name])
        and (node.document is files.main or not os.path.exists(node.document.path.parent / text))  # noqa: PTH110
    }
    return sorted(name for name in needed if name not in named and "assetdir" not in named)


def _add_folders(main: Document, folders: dict[str, str]) -> list[Edit]:
    if not folders:
        return []
    compiler = main.root.find("compiler")
    if compiler is None:
        return insert(main, main.root, NewElement("compiler", folders))
    return [edit for name, text in folders.items() for edit in assign(main, compiler, name, text)]
