"""The files of an MJCF model: the main one and what it includes, and the bodies they define in MuJoCo's order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.references import holds, remedy
from steelyard.model.xml_edit import Document, Element, read

WRAPPERS = ("frame",)
GENERATORS = ("replicate", "attach", "composite", "flexcomp")


@dataclass(frozen=True, eq=False)
class Node:
    """An element and the file it stands in."""

    document: Document
    element: Element

    def __str__(self) -> str:
        return f"<{self.element.tag}> in {self.document.path.name}:{self.document.line(self.element)}"


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
    """Index an MJCF file and all it includes. folders: in which included files may lie, as of `references.reach`.

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
                if not holds(folders, target):
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
    return from_main if from_main.is_file() else document.path.parent / text


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
