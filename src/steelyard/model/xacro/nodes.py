"""Elements on the way from a xacro file to the URDF that it stands for, which remember where they were written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from steelyard.model.xacro.scope import Piece
from steelyard.model.xacro.values import Spot
from steelyard.model.xml import Document, Element

BLANK = re.compile(r"[ \t\r\n]+")


@dataclass(eq=False)
class Node:
    """An element. place: file and line where it is written. pieces: attribute -> parts of its value, with spots."""

    tag: str
    place: tuple[Path, int]
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list["Node"] = field(default_factory=list)
    pieces: dict[str, tuple[Piece, ...]] = field(default_factory=dict)

    def walk(self) -> Iterator["Node"]:
        """It and all below it, in document order."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.children)

    def take(self, other: "Node") -> None:
        """What is in another one, behind what is in this one."""
        self.children += other.children
        self.text += other.text


def node_of(document: Document, element: Element | None = None) -> Node:
    """The tree of an element of a file, the root without one."""
    element = document.root if element is None else element
    pieces = {
        name: ((value, Spot(document.path, *element.spans[name][1:3]) if name in element.spans else None),)
        for name, value in element.attributes.items()
    }
    return Node(
        element.tag,
        (document.path, document.line(element)),
        dict(element.attributes),
        element.text,
        [node_of(document, child) for child in element.children],
        pieces,
    )


def text_of_tree(root: Node) -> bytes:
    """The file of a tree."""
    parts = ['<?xml version="1.0" encoding="utf-8"?>\n']
    _write(root, "", parts)
    return "".join(parts).encode()


def _write(node: Node, indent: str, parts: list[str]) -> None:
    head = "".join(f' {name}="{_attribute(value)}"' for name, value in node.attributes.items())
    text = escape(node.text.strip(), quote=False)
    if not node.children:
        parts.append(f"{indent}<{node.tag}{head}>{text}</{node.tag}>\n" if text else f"{indent}<{node.tag}{head}/>\n")
        return
    parts.append(f"{indent}<{node.tag}{head}>{text}\n")
    for child in node.children:
        _write(child, indent + "  ", parts)
    parts.append(f"{indent}</{node.tag}>\n")


def _attribute(value: str) -> str:
    return escape(value).replace("&#x27;", "'").replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")
