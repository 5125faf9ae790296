"""Writing a robot of a xacro file back: the URDF that it stands for, and copies of its sources that expand to that.

A value goes back to where it came from, an attribute, a property or a scalar of YAML, if that place alone decides it:
the edited sources are expanded again, and nothing else may differ.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.errors import ModelError, choices
from steelyard.model import urdf_write
from steelyard.model.changes import Draft
from steelyard.model.robot import Robot
from steelyard.model.urdf_geometry import label_of
from steelyard.model.xacro.expansion import expand
from steelyard.model.xacro.nodes import Node
from steelyard.model.xacro.scope import Piece
from steelyard.model.xacro.values import Spot
from steelyard.model.xacro.xacro_document import XacroDocument
from steelyard.model.xml import Element, parsed
from steelyard.model.xml_edit import Edit, apply
from steelyard.numbers import to_float

OWNERS = ("link", "joint")
FILES = ("mesh", "texture", "compiler")  # whose attributes name files, which are written as seen from the new folder
SUFFIX = ".new"  # of copies of sources: they are no models of their own


@dataclass(frozen=True)
class Change:
    """An attribute with its new value. index: of its element in document order; owner: label of its link or joint."""

    index: int
    name: str
    value: str
    owner: str


def edited(model: XacroDocument, robot: Robot, reference: Robot, target: Path) -> Draft:
    """As of `ModelDocument.edited`."""
    draft = urdf_write.edited(model, robot, reference, target)
    notes = [f"{model.path.name} was expanded: {target.name} holds its values, not its macros."]
    changes = list(_changes(model, draft.files[-1][1]))
    copies, placed = _placed_back(model, changes)
    files = [(target.with_name(f"{target.stem}.{path.name}{SUFFIX}"), content) for path, content in copies.items()]
    if files:
        names = choices(f"{name.name} (for {path})" for (name, _), path in zip(files, copies, strict=True))
        notes.append(f"With {names} {model.path.name} expands to the same values of {choices(sorted(placed))}.")
    left = sorted({each.owner for each in changes} - placed)
    if left:
        notes.append(
            f"Values of {choices(left)} are made by expressions, or shared: they are in {target.name} alone, not in "
            "the sources."
        )
    return replace(draft, files=(*files, *draft.files), notes=(*notes, *draft.notes))


def _changes(model: XacroDocument, content: bytes) -> Iterator[Change]:
    """Attributes in which an edited file differs from the expansion. An element that one of the two does not have
    differs as a whole."""
    old = list(model.xml.root.walk())
    new = list(parsed(model.path, content).root.walk())
    if [each.tag for each in old] != [each.tag for each in new]:
        differing = [label_of(each) for each in old if each.tag in OWNERS and _texts(each) not in map(_texts, new)]
        yield from (Change(-1, "", "", label) for label in differing)
        return
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        for name, value in after.attributes.items():
            if before.attributes.get(name) != value and before.tag not in FILES:
                yield Change(index, name, value, _owner(before))


def _texts(element: Element) -> list:
    return [(each.tag, each.attributes) for each in element.walk()]


def _owner(element: Element) -> str:
    while element.parent is not None and element.tag not in OWNERS:
        element = element.parent
    return label_of(element)


def _placed_back(model: XacroDocument, changes: list[Change]) -> tuple[dict[Path, bytes], set[str]]:
    """Sources with as many links and joints in them as have places, by real path, and the labels of these."""
    nodes = list(model.expanded.root.walk())
    spots: dict[str, dict[Spot, str]] = {}
    for owner in dict.fromkeys(each.owner for each in changes):
        found: dict[Spot, str] | None = {}
        for change in (each for each in changes if each.owner == owner):
            pieces = nodes[change.index].pieces.get(change.name, ()) if change.index >= 0 else ()
            texts = _by_spot(pieces, change.value)
            found = None if texts is None or found is None else _joined(found, texts)
        if found:
            spots[owner] = found
    kept: list[str] = []
    for group in ([*spots], *([owner] for owner in spots)):
        if set(group) - set(kept) and _expands_to(model, nodes, changes, {*kept, *group}, spots):
            kept = list(dict.fromkeys((*kept, *group)))
    return (_sources(model, kept, spots) or {}) if kept else {}, set(kept)


def _joined(one: dict[Spot, str], other: dict[Spot, str]) -> dict[Spot, str] | None:
    """Texts of both; None where a spot would get two values."""
    clash = any(to_float(one[spot]) != to_float(text) for spot, text in other.items() if spot in one)
    return None if clash else one | other


def _by_spot(pieces: tuple[Piece, ...], value: str) -> dict[Spot, str] | None:
    """What the spots of an attribute's pieces have to say for it to have a value; None where they cannot."""
    if len(pieces) == 1 and pieces[0][1] is not None:
        return {pieces[0][1]: value}
    words, slots = value.split(), []
    for text, spot in pieces:
        slots += (
            [(word, spot) for word in text.split()] if spot is None or len(text.split()) == 1 else [("", None)] * 99
        )
    stated = "".join(text for text, _ in pieces).split()
    if len(words) != len(slots) or stated != [word for word, _ in slots]:
        return None
    found: dict[Spot, str] | None = {}
    for (stands, spot), word in zip(slots, words, strict=True):
        if spot is not None:
            found = None if found is None else _joined(found, {spot: word})
        elif to_float(stands) != to_float(word):
            return None
    return found or None


def _sources(model: XacroDocument, owners: Iterable[str], spots) -> dict[Path, bytes] | None:
    """Edited sources by real path; None where two links want different values in one place."""
    texts: dict[Spot, str] | None = {}
    for owner in owners:
        texts = None if texts is None else _joined(texts, spots[owner])
    if texts is None:
        return None
    found: dict[Path, bytes] = {}
    for path in dict.fromkeys(Path(os.path.realpath(spot.path)) for spot in texts):
        edits = {spot: text for spot, text in texts.items() if Path(os.path.realpath(spot.path)) == path}
        found[path] = _spliced(path, model.expanded.files[path], edits)
    return found


def _spliced(path: Path, content: bytes, texts: dict[Spot, str]) -> bytes:
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return apply(parsed(path, content), [Edit(spot.start, spot.end, text) for spot, text in texts.items()])
    mark = len(content) - len(content.removeprefix(b"\xef\xbb\xbf"))
    for spot in sorted(texts, key=lambda spot: -spot.start):
        text = " ".join(map(_yaml_number, texts[spot].split()))
        content = content[: mark + spot.start] + text.encode() + content[mark + spot.end :]
    return content


def _yaml_number(word: str) -> str:
    """A number with a point before its exponent, without which YAML 1.1 takes it for a text."""
    mantissa, e, exponent = word.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else word


def _expands_to(model: XacroDocument, nodes: list[Node], changes: list[Change], owners: set[str], spots) -> bool:
    """Whether the sources, edited for these links and joints, stand for the new values of these and the old of all
    others."""
    sources = _sources(model, owners, spots)
    if sources is None:
        return False
    try:
        found = list(expand(model.path, model.folders, model.arguments, sources).root.walk())
    except ModelError:
        return False
    wanted = {(each.index, each.name): each.value for each in changes if each.owner in owners}
    if [each.tag for each in found] != [each.tag for each in nodes]:
        return False
    return all(
        now.text == before.text
        and now.attributes.keys() == before.attributes.keys()
        and all(_same(now.attributes[name], wanted.get((i, name), text)) for name, text in before.attributes.items())
        for i, (now, before) in enumerate(zip(found, nodes, strict=True))
    )


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return [to_float(word) for word in one.split()] == [to_float(word) for word in other.split()]
    except ValueError:
        return False
