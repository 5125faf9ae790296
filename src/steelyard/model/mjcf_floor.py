"""What a robot stands and walks on in MJCF: contact parameters of the geoms that stand still, read and edited.

A contact has numbers of both geoms. Where the geoms that stand have a higher priority than all others, theirs alone
count, so that a few elements say what every contact with them has.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from steelyard.model.mjcf_files import GENERATORS, WRAPPERS, Made, MjcfFiles, Node, bodies
from steelyard.model.robot import Contact
from steelyard.model.xml_edit import set_numbers

NUMBERS = ("friction", "solref", "solimp")


def standing(m: Any) -> np.ndarray:
    """Geoms of a compiled model that touch and stand still.

    Args:
        m: the MjModel.

    Returns:
        Their numbers.
    """
    return np.flatnonzero((m.body_weldid[m.geom_bodyid] == 0) & _touching(m))


def floor_of(m: Any) -> Contact | None:
    """What all contacts with the floor have.

    Args:
        m: the MjModel.

    Returns:
        The Contact; None where the floor does not say so alone, in the same numbers everywhere.
    """
    own = standing(m)
    if not len(own) or m.npair or m.geom_priority[own].min() <= _highest(m):
        return None
    found = {_contact(m, geom) for geom in own}
    return found.pop() if len(found) == 1 else None


def floor_nodes(files: MjcfFiles, m: Any) -> dict[int, Node]:
    """Elements that say what contacts with the floor have.

    Args:
        files: of the model.
        m: the MjModel of the files.

    Returns:
        Those of all geoms that stand, by number; none where one is no element of its own, or `<pair>` says what
        contacts have.
    """
    own, listed, nodes = standing(m), bodies(files)[0], {}
    for body in dict.fromkeys(m.geom_bodyid[own].tolist()):
        sections = files.sections("worldbody") if body == 0 else [each.node for each in listed[body - 1 : body]]
        elements = [geom for section in sections for geom in _geoms(files, section)]
        if m.npair or len(elements) != m.body_geomnum[body]:
            return {}
        nodes |= {geom: elements[geom - m.body_geomadr[body]] for geom in own[m.geom_bodyid[own] == body].tolist()}
    return nodes


def floor_edits(files: MjcfFiles, m: Any, contact: Contact) -> Iterator[Made]:
    """Edits that give every contact with the floor its parameters.

    Args:
        files, m: as of `floor_nodes`.
        contact: the parameters.

    Returns:
        Edits of each element.
    """
    nodes, highest = floor_nodes(files, m), _highest(m)
    numbers = {name: getattr(contact, name) for name in NUMBERS} | {"condim": (contact.condim,)}
    for geom, node in nodes.items():
        before = {name: np.atleast_1d(getattr(m, f"geom_{name}")[geom]) for name in (*numbers, "priority")}
        own = numbers | {"priority": (max(int(before["priority"][0]), highest + 1),)}
        edits = [
            edit
            for name, values in own.items()
            for edit in set_numbers(node.document, node.element, name, values, default=before[name].tolist())
        ]
        yield node, edits, "what contacts with it have"


def _touching(m) -> np.ndarray:
    return (m.geom_contype | m.geom_conaffinity) > 0


def _highest(m) -> int:
    """Priority of the other geoms that touch."""
    others = _touching(m)
    others[standing(m)] = False
    return int(m.geom_priority[others].max(initial=0))


def _contact(m, geom: int) -> Contact:
    numbers = (tuple(getattr(m, f"geom_{name}")[geom].tolist()) for name in NUMBERS)
    return Contact(*numbers, condim=int(m.geom_condim[geom]))


def _geoms(files: MjcfFiles, section: Node) -> Iterator[Node]:
    """Geoms of a body, in order, none where one is made by a generator."""
    for child in files.children(section):
        if child.element.tag == "geom":
            yield child
        elif child.element.tag in WRAPPERS:
            yield from _geoms(files, child)
        elif child.element.tag in GENERATORS:
            return
