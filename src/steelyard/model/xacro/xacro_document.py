"""A xacro file as the URDF that it stands for, every element with the file and line where it is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from steelyard.errors import ModelError
from steelyard.lazy import later
from steelyard.model.meshes import Meshes
from steelyard.model.urdf import ROOT, UrdfDocument
from steelyard.model.xacro.expansion import Expanded, expand
from steelyard.model.xacro.nodes import Node, text_of_tree
from steelyard.model.xml import Document, Element, parsed

OLD = ("include", "macro", "if", "unless", "property")  # elements of xacro before it had a prefix


@dataclass(frozen=True, eq=False)
class ExpandedDocument(Document):
    """The expanded file. origins: element -> node of the expansion."""

    origins: Mapping[Element, Node] = field(default_factory=dict)

    def source(self, element: Element) -> tuple[Path, int]:
        node = self.origins.get(element)
        return (self.path, 1) if node is None else node.place


@dataclass(frozen=True, eq=False)
class XacroDocument(UrdfDocument):
    """A xacro file."""

    format: ClassVar[str] = "xacro"

    @cached_property
    def expanded(self) -> Expanded:
        """What it stands for. Raises ModelError as `expand`."""
        return expand(self.path, self.folders, self.arguments)

    @cached_property
    def xml(self) -> Document:
        root = self.expanded.root
        if root.tag != ROOT:
            raise ModelError(f"{self.path} expands to <{root.tag[:60]}>; a xacro file of a robot expands to <{ROOT}>.")
        old = next((each for each in root.children if each.tag in OLD), None)
        if old is not None:
            path, line = old.place
            raise ModelError(f"{path}, line {line}: <{old.tag}> has no prefix. Write <xacro:{old.tag}>.")
        document = parsed(self.path, text_of_tree(root))
        origins = dict(zip(document.root.walk(), root.walk(), strict=True))
        return ExpandedDocument(
            self.path, document.body, document.encoding, document.bom, document.root, self.expanded.notes, origins
        )

    @property
    def whole(self) -> bool:
        return self.xml.root.find("link") is not None

    def referenced(self) -> Iterator[Path]:
        yield from (path for path in self.expanded.files if not path.samefile(self.path))
        yield from super().referenced()

    @property
    def _meshes(self) -> Meshes:
        return Meshes(self.path.parent, (*self.folders, *self.expanded.homes))

    edited = later("steelyard.model", "xacro.xacro_write.edited")
