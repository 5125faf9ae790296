"""The files of an MJCF model: the main one and what it includes, and the bodies they define in MuJoCo's order."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.references import ASSET_FOLDERS, Relocation, is_inside, remedy
from steelyard.model.xml_edit import Document, Edit, Element, NewElement, assign, insert, read

WRAPPERS = ("frame",)
GENERATORS = ("replicate", "attach", "composite", "flexcomp")


@dataclass(frozen=True, eq=False)
class Node:
    """An element and the file it stands in."""

    document: Document
    element: Element

    def __str__(self) -> str:
        return f"<{self.element.tag}> in {self.document.path.name}:{self.document.line(self.element)}"


Made = tuple[Node, list[Edit], str]  # an element, edits of it, and what they do in words


@dataclass(frozen=True, eq=False)
class Body:
    """A `<body>`: its `<inertial>` when it has one, and its joints in order. parent: place in the list of bodies of the
    one that it is in, through `<frame>` and `<include>`; None in the world.
    """

    node: Node
    parent: int | None
    inertial: Node | None
    joints: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Files:
    """documents: by path, the main one first, each read once. includes: what each `<include>` stands for."""

    main: Document
    documents: dict[Path, Document] = field(default_factory=dict)
    includes: dict[Element, Document] = field(default_factory=dict)

    def children(self, node: Node) -> Iterator[Node]:
        """Children of an element with the contents of included files in place of `<include>`."""
        for child in node.element.children:
            if child.tag == "include":
                included = self.includes[child]
                yield from self.children(Node(included, included.root))
            else:
                yield Node(node.document, child)

    def sections(self, tag: str) -> list[Node]:
        """All top-level elements of that tag, in order."""
        return [node for node in self.children(Node(self.main, self.main.root)) if node.element.tag == tag]


def read_files(path: Path, folders: tuple[Path, ...]) -> Files:
    """Index an MJCF file and all it includes. folders: in which included files may lie, as of `allowed_folders`.

    Raises ModelError for a file that is missing, outside or not well formed.
    """
    main = read(path)
    files = Files(main, {path: main})
    waiting = [main]
    while waiting:
        document = waiting.pop()
        for element in document.root.walk():
            if element.tag == "include":
                target = include_path(files, document, element)
                if not is_inside(folders, target):
                    raise ModelError(
                        f"{Node(document, element)} includes '{element.attributes.get('file', '')[:120]}', outside the "
                        f"model's folder ({folders[0]}); it was not opened. {remedy(target)}"
                    )
                if target not in files.documents:
                    files.documents[target] = read(target)
                    waiting.append(files.documents[target])
                files.includes[element] = files.documents[target]
    return files


def include_path(files: Files, document: Document, element: Element) -> Path:
    """The file an `<include>` names: seen from the main file, else from the file it stands in (as MuJoCo looks)."""
    text = element.attributes.get("file", "")
    from_main = files.main.path.parent / text
    known = os.path.isfile(from_main)  # noqa: PTH113  False for names that cannot be
    return from_main if known else document.path.parent / text


def bodies(files: Files) -> tuple[list[Body], Node | None]:
    """Bodies in MuJoCo's order (depth first, as written), and the first element that makes bodies of its own, if any.

    The order is known only up to that element, so the list ends there.
    """
    found: list[Body] = []
    stack = [(child, None) for world in files.sections("worldbody") for child in files.children(world)][::-1]
    while stack:
        node, parent = stack.pop()
        tag = node.element.tag
        if tag in GENERATORS and _makes_bodies(files, node):
            return found, node
        if tag == "body":
            found.append(_body(files, node, parent))
            parent = len(found) - 1
        if tag == "body" or tag in WRAPPERS:
            stack += [(child, parent) for child in files.children(node)][::-1]
    return found, None


def _makes_bodies(files: Files, node: Node) -> bool:
    """`<replicate>` of geoms and sites alone makes none; the other generators do."""
    if node.element.tag != "replicate":
        return True
    inside = list(files.children(node))
    return any(n.element.tag == "body" or n.element.tag in WRAPPERS + GENERATORS for n in inside)


def _body(files: Files, node: Node, parent: int | None) -> Body:
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
    return Body(node, parent, inertials[0][0] if inertials else None, tuple(joints))


FOLDER_OF = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "flexcomp": "meshdir", "texture": "texturedir"}


def relocate(files: Files, edited: set[Document], target: Path):
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


def _written(files: Files, edited: set[Document], mover: Relocation) -> set[Document]:
    """The main file, the edited ones, and those whose paths would otherwise lead nowhere."""
    written = {files.main, *edited}
    owner = {e: document for document in files.documents.values() for e in document.root.walk()}
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


def _places(files: Files, written: set[Document], target: Path) -> dict[Document, Path]:
    places, taken = {}, {os.path.realpath(path) for path in files.documents}
    if os.path.realpath(target) in taken:
        raise ModelError(f"{target} is a file of the model itself; input files are never changed. Choose another name.")
    for document in files.documents.values():
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


def _missing_folders(files: Files, mover: Relocation) -> list[str]:
    """Folders no `<compiler>` names although files are read from there (the main file's own folder)."""
    if mover.stays:
        return []
    elements = [(document, e) for document in files.documents.values() for e in document.root.walk()]
    named = {name for _, e in elements if e.tag == "compiler" for name in e.attributes}
    needed = {
        FOLDER_OF[element.tag]
        for document, element in elements
        for name in _file_attributes(element)
        if mover.moved(element.attributes[name])
        and (document is files.main or not os.path.exists(document.path.parent / element.attributes[name]))  # noqa: PTH110
    }
    return sorted(name for name in needed if name not in named and "assetdir" not in named)


def _add_folders(main: Document, folders: dict[str, str]) -> list[Edit]:
    if not folders:
        return []
    compiler = main.root.find("compiler")
    if compiler is None:
        return insert(main, main.root, NewElement("compiler", folders))
    return [edit for name, text in folders.items() for edit in assign(main, compiler, name, text)]
