"""Expansion of a xacro file: every element of xacro is replaced by what it stands for, in document order.

Source: xacro 2.1 (wiki.ros.org/xacro): lazy properties, dynamic scope, blocks evaluated where they are given and again
where they are inserted, macros local to the scope that defines them.
"""

import keyword
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import ModelError
from steelyard.model.xacro.files import Files
from steelyard.model.xacro.functions import namespaces
from steelyard.model.xacro.macros import Macro, macro_of
from steelyard.model.xacro.nodes import Node, node_of
from steelyard.model.xacro.scope import Scope, Texts, spot_of
from steelyard.model.xacro.substitutions import Substitutions
from steelyard.model.xacro.values import Budget, Unevaluable, dotted, require_name, text_of, truth
from steelyard.model.xacro.yaml_files import values_of

PREFIX = "xacro:"
DEEPEST = 100  # macros and elements of xacro in each other
WORK_OF_ELEMENT = 40
MOST_NOTES = 20


@dataclass(frozen=True, eq=False)
class Expanded:
    """What a file stands for. notes: of the expansion; files: real paths of what was read, the main file first; homes:
    folders of packages that it named."""

    root: Node
    notes: tuple[str, ...]
    files: dict[Path, bytes]
    homes: tuple[Path, ...]


def expand(
    path: Path, folders: tuple[Path, ...], arguments: Mapping[str, str], instead: Mapping[Path, bytes] | None = None
) -> Expanded:
    """The tree that a xacro file stands for.

    Args:
        path: of the file.
        folders: in which files that it names may lie.
        arguments: of its `<xacro:arg>`, by name.
        instead: contents that stand for those of files, by real path.

    Returns:
        The tree, with what was read.

    Raises:
        ModelError: with file and line, for what xacro refuses, for files outside the folders, and for what takes more
            than a robot needs.
    """
    return _Expansion(path, folders, arguments, instead or {}).result()


@dataclass(frozen=True, eq=False)
class _Around:
    """What an element sees: macros and properties."""

    macros: ChainMap[str, Any]
    names: Scope


class _Expansion:
    def __init__(self, path: Path, folders: tuple[Path, ...], arguments: Mapping[str, str], instead):
        self.path = path
        self.files = Files(path, folders, instead)
        self.budget = Budget()
        self.substitutions = Substitutions(self.files, arguments, self.budget)
        self.notes: list[str] = []
        self.depth = 0
        own = {
            "load_yaml": self._yaml,
            "abs_filename": self.files.absolute,
            "arg": self.substitutions.argument,
            "message": lambda *words, **_: "",
            "warning": self._note,
            "error": self._note,
            "fatal": self._fatal,
            "print_location": lambda: "",
        }
        self.texts = Texts(namespaces(own), self.substitutions.value, self.budget)

    def result(self) -> Expanded:
        self.files.stack.append(self.path)
        try:
            template = node_of(self.files.document(self.path))
            if "xacro:targetNamespace" in template.attributes:
                template.attributes["xmlns"] = template.attributes.pop("xacro:targetNamespace")
            root = self._plain(template, _Around(ChainMap(), Scope(self.texts)))
        except Unevaluable as error:
            raise ModelError(f"{self.path}: {error}.") from error
        except RecursionError as error:
            raise ModelError(f"{self.path}: macros or elements are nested too deeply.") from error
        self.substitutions.require_known(self.path)
        homes = tuple(home for home in self.files.homes.values() if home is not None)
        notes = (*self.notes, *self.substitutions.notes)[:MOST_NOTES]
        return Expanded(root, tuple(f"{self.path.name}: {each}" for each in notes), self.files.read, homes)

    def _note(self, *words, **_) -> str:
        self.notes.append(" ".join(map(text_of, words))[:200])
        return ""

    def _fatal(self, *words) -> None:
        raise Unevaluable(f"the file stops here: {' '.join(map(text_of, words))[:200]}")

    def _yaml(self, name: str):
        path = self.files.matching(text_of(name))[0]
        return dotted(values_of(path, self.files.content(path)))

    def _plain(self, node: Node, around: _Around) -> Node:
        """An element with its attributes and all below it evaluated."""
        made = Node(node.tag, node.place)
        for name, value in node.attributes.items():
            if name.startswith(PREFIX) or name == "xmlns:xacro":
                continue
            made.attributes[name], made.pieces[name] = value, node.pieces.get(name, ((value, None),))
            if "$" in value:
                made.pieces[name] = self.texts.pieces(value, around.names)
                made.attributes[name] = self.texts.joined([text for text, _ in made.pieces[name]])
        self._fill(made, node, around)
        return made

    def _fill(self, out: Node, node: Node, around: _Around) -> None:
        """Put what is in an element, evaluated, into another one."""
        for child in node.children:
            self._element(out, child, around)
        if node.text.strip():
            out.text += text_of(self.texts.value(node.text, around.names))

    def _inside(self, node: Node, around: _Around) -> Node:
        """What is in an element, evaluated, in an element of its own."""
        out = Node(node.tag, node.place)
        self._fill(out, node, around)
        return out

    def _element(self, out: Node, node: Node, around: _Around) -> None:
        """What an element stands for, put into another one. Raises ModelError with its place."""
        self.depth += 1
        try:
            self.budget.spend(WORK_OF_ELEMENT + sum(map(len, node.attributes.values())) // 16)
            if not node.tag.startswith(PREFIX):
                out.children.append(self._plain(node, around))
                return
            if self.depth > 4 * DEEPEST:
                raise Unevaluable(f"macros and elements are nested more than {4 * DEEPEST} deep")
            handle = _HANDLERS.get(node.tag.removeprefix(PREFIX), _Expansion._call)
            handle(self, out, node, around)
        except Unevaluable as error:
            path, line = node.place
            raise ModelError(f"{path}, line {line}, <{node.tag}>: {error}.") from error
        finally:
            self.depth -= 1

    def _value(self, node: Node, name: str, around: _Around, default: str | None = None) -> Any:
        """Value of an attribute. Raises Unevaluable for a missing one without default."""
        text = node.attributes.get(name, default)
        if text is None:
            raise Unevaluable(f"it has no attribute '{name}'")
        return self.texts.value(text, around.names)

    def _insert(self, out: Node, node: Node, around: _Around) -> None:
        name = node.attributes.get("name", "")
        for stars in ("**", "*"):
            if stars + name not in around.names:
                continue
            block = around.names(stars + name)
            if stars == "**":
                out.take(self._inside(block, around))
            else:
                out.children.append(self._plain(block, around))
            return
        raise Unevaluable(f"there is no block '{name[:60]}'")

    def _include(self, out: Node, node: Node, around: _Around) -> None:
        inner = around
        if "ns" in node.attributes:
            space = text_of(self._value(node, "ns", around))
            inner = _Around(ChainMap(), Scope(self.texts, around.names, namespace=True))
            around.macros[space] = inner.macros
            around.names.set(space, inner.names, lazy=False)
        optional = truth(node.attributes.get("optional", False), "optional")
        for path in self.files.matching(text_of(self._value(node, "filename", around))):
            if optional and not path.exists():
                continue
            if len(self.files.stack) > DEEPEST:
                raise Unevaluable(f"files include each other, more than {DEEPEST} deep")
            document = self.files.document(path)
            self.files.stack.append(path)
            made = self._plain(node_of(document), inner)
            self.files.stack.pop()
            _lift_namespaces(out, made.attributes)
            out.take(made)

    def _property(self, out: Node, node: Node, around: _Around) -> None:
        name = text_of(self._value(node, "name", around))
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
            raise Unevaluable(f"a property cannot be named '{name[:60]}'")
        value, default = node.attributes.get("value"), node.attributes.get("default")
        remove = truth(self._value(node, "remove", around, "false"), "remove")
        if (value is not None) + (default is not None) + remove > 1:
            raise Unevaluable(f"property '{name}' has several of value, default and remove")
        if remove:
            around.names.remove(name)
            return
        if default is not None:
            if name in around.names:
                return
            value = default
        lazy = truth(self._value(node, "lazy_eval", around, "true"), "lazy_eval")
        target = _target(around.names, node.attributes.get("scope"))
        if value is None:
            target.set(f"**{name}", node, lazy=False)
            return
        spot = node.pieces.get("value", ((value, None),))[0][1]
        found: Any = spot_of(value, spot)
        if target is not around.names or node.attributes.get("scope") == "global":
            lazy = False
        if not lazy:
            found = self.texts.value(found, around.names)
        target.set(name, found, lazy=lazy)

    def _macro(self, out: Node, node: Node, around: _Around) -> None:
        macro = macro_of(node)
        around.macros[macro.name] = macro

    def _arg(self, out: Node, node: Node, around: _Around) -> None:
        name = node.attributes.get("name", "")
        if name in self.substitutions.arguments:
            self.substitutions.declared.add(name)
        else:
            self.substitutions.declare(name, text_of(self._value(node, "default", around)))

    def _named(self, out: Node, node: Node, around: _Around) -> None:
        tag = require_name(text_of(self._value(node, "xacro:name", around)), "element")
        rest = {name: value for name, value in node.attributes.items() if name != "xacro:name"}
        self._element(out, Node(tag, node.place, rest, node.text, node.children, node.pieces), around)

    def _attribute(self, out: Node, node: Node, around: _Around) -> None:
        name = require_name(text_of(self._value(node, "name", around)), "attribute")
        out.attributes[name] = text_of(self._value(node, "value", around))
        out.pieces.pop(name, None)

    def _condition(self, out: Node, node: Node, around: _Around) -> None:
        value = self._value(node, "value", around)
        if truth(value, node.attributes["value"]) is (node.tag == "xacro:if"):
            out.take(self._inside(node, around))

    def _dynamic(self, out: Node, node: Node, around: _Around) -> None:
        name = text_of(self._value(node, "macro", around))
        rest = {key: value for key, value in node.attributes.items() if key != "macro"}
        self._call(out, Node(PREFIX + name, node.place, rest, node.text, node.children, node.pieces), around)

    def _call(self, out: Node, node: Node, around: _Around) -> None:
        macro, found = _resolved(node.tag.removeprefix(PREFIX), around)
        inner = _Around(found.macros.new_child(), Scope(self.texts, found.names))
        left = {each.name: each for each in macro.parameters}
        for name, text in node.attributes.items():
            if left.pop(name, None) is None:
                raise Unevaluable(f"macro '{macro.name}' has no parameter '{name[:60]}'")
            spot = node.pieces.get(name, ((text, None),))[0][1]
            inner.names.set(name, self.texts.value(spot_of(text, spot), around.names), lazy=False)
        blocks = iter(self._inside(node, around).children)
        for each in [each for each in left.values() if each.block]:
            block = next(blocks, None)
            if block is None:
                raise Unevaluable(f"macro '{macro.name}' gets no element for its block '{each.name}'")
            inner.names.set(each.name, block, lazy=False)
            left.pop(each.name)
        if (extra := next(blocks, None)) is not None:
            raise Unevaluable(f"macro '{macro.name}' has no block for <{extra.tag}>")
        for each in left.values():
            if each.forward and each.name in around.names:
                value = around.names(each.name)
            elif each.default is not None:
                value = self.texts.value(each.default, around.names)
            else:
                raise Unevaluable(f"macro '{macro.name}' gets no value for its parameter '{each.name}'")
            inner.names.set(each.name, value, lazy=False)
        made = self._inside(macro.body, inner)
        _lift_namespaces(out, macro.body.attributes)
        out.take(made)


_HANDLERS: dict[str, Callable[[_Expansion, Node, Node, _Around], None]] = {
    "insert_block": _Expansion._insert,
    "include": _Expansion._include,
    "property": _Expansion._property,
    "macro": _Expansion._macro,
    "arg": _Expansion._arg,
    "element": _Expansion._named,
    "attribute": _Expansion._attribute,
    "if": _Expansion._condition,
    "unless": _Expansion._condition,
    "call": _Expansion._dynamic,
}


def _target(names: Scope, word: str | None) -> Scope:
    """The scope in which a property is defined."""
    if word == "global":
        return names.top()
    if word != "parent":
        return names
    target = names.parent
    while target is not None and target.namespace and not names.namespace:
        target = target.parent
    if target is None:
        raise Unevaluable("there is no scope around this one")
    return target


def _resolved(name: str, around: _Around) -> tuple[Macro, _Around]:
    """A macro, and what its body sees. Raises Unevaluable for an unknown one."""
    *spaces, last = [name] if name in around.macros else name.split(".")
    macros: Any = around.macros
    names: Any = around.names
    try:
        for space in spaces:
            macros, names = macros[space], names(space)
        found = macros[last]
    except (KeyError, TypeError):
        found = None
    if not isinstance(found, Macro):
        raise Unevaluable(f"macro '{name[:80]}' is not defined")
    return found, _Around(macros, names)


def _lift_namespaces(parent: Node, attributes: Mapping[str, str]) -> None:
    """Declarations of namespaces in a macro or a file belong to what they are put into."""
    for name, value in attributes.items():
        if name.startswith("xmlns:") and name != "xmlns:xacro":
            parent.attributes.setdefault(name, value)
