"""What URDF files hold beyond the format: leftovers of xacro, loops of other tools, Drake's implicit `world`.

What cannot change the tree of links and joints is passed over with a note; what may is refused or reported.
"""

from collections.abc import Iterator

from steelyard.errors import ModelError
from steelyard.model.urdf_geometry import CLOSED, label_of
from steelyard.model.xml import Document, Element, Reader

XACRO = "xacro"
# what xacro itself removes: a file that has one was not expanded; other names are macros that nothing defined
OF_XACRO = ("arg", "attribute", "call", "element", "if", "include", "insert_block", "macro", "property", "unless")
DRAWN = ("visual", "collision")
WORLD_LINK = "world"
LOOPS = ("loop_joint", "loop")


def leftovers(document: Document) -> tuple[str, ...]:
    """A note for each element that xacro left behind where it can change no link and no joint.

    Raises ModelError for a file that was not expanded, and for a leftover that may stand for an inertial or a joint.
    """
    prefixes = _prefixes(document.root)
    found = (element for element in document.root.walk() if element.tag.partition(":")[0] in prefixes)
    return tuple(_leftover(document, element) for element in found if ":" in element.tag)


def _prefixes(root: Element) -> set[str]:
    bound = (name for name, value in root.attributes.items() if name.startswith("xmlns:") and XACRO in value.lower())
    return {XACRO, *(name.partition(":")[2] for name in bound)}


def _leftover(document: Document, element: Element) -> str:
    (path, line), name = document.source(element), element.tag.partition(":")[2]
    above = list(_above(element))
    if name in OF_XACRO:
        raise ModelError(
            f"{path}, line {line}: <{element.tag}> belongs to xacro, so the file is not expanded. Name it {path.stem}"
            f".urdf.xacro to have it expanded as it is read, or expand it into another file: xacro {path.name} > "
            f"{path.stem}_expanded.urdf"
        )
    if above and above[-1].tag in ("link", "joint") and not any(each.tag in DRAWN for each in above):
        raise ModelError(
            f"{path}, line {line}: <{element.tag}>, a macro that xacro did not know, stands in {label_of(above[-1])} "
            "and may stand for its inertial or axis. Put what it stands for in its place, or delete the element."
        )
    where = f"in {label_of(above[-1])}" if above else "at the top; links and joints that it stood for are missing"
    return f"{path.name}, line {line}: <{element.tag}>, a macro that xacro did not know, was passed over {where}."


def _above(element: Element) -> Iterator[Element]:
    owner = element.parent
    while owner is not None and owner.parent is not None:
        yield owner
        owner = owner.parent


def implicit_world(reader: Reader, links: dict[str, Element], joints: dict[str, Element]) -> None:
    """Take `world` for a link, the first, where joints hang on it and the file has none, as Drake does."""
    hung = next((joint for joint in joints.values() if _end(joint, "parent") == WORLD_LINK), None)
    if WORLD_LINK in links or hung is None or not links:
        return
    root, others = reader.document.root, dict(links)
    ground = Element("link", {"name": WORLD_LINK}, {}, root.start, root.head_end, root, ends=[root.head_end])
    links.clear()
    links |= {WORLD_LINK: ground, **others}
    said = f"{label_of(hung)} hangs on 'world', which is no link of the file; it was taken for the ground."
    reader.fault("SY510", hung, label_of(hung), said)


def reflected_inertias(reader: Reader) -> dict[str, float]:
    """Armature of joints, kg m^2 or kg, by name: the rotor inertias that Drake's dialect states of their actuators.

    Source: Drake, multibody/parsing, drake:rotor_inertia and drake:gear_ratio; reflected inertia is J n^2.
    """
    found: dict[str, float] = {}
    for transmission in reader.document.root.every("transmission"):
        joint, actuator = transmission.find("joint"), transmission.find("actuator")
        if joint is None or actuator is None:
            continue
        rotor, gear = (actuator.find(f"drake:{name}") for name in ("rotor_inertia", "gear_ratio"))
        if rotor is None:
            continue
        label = f"transmission of joint '{joint.attributes.get('name', '')[:60]}'"
        inertia = reader.number(rotor, "value", label)
        ratio = 1.0 if gear is None else reader.number(gear, "value", label)
        found[joint.attributes.get("name", "")] = inertia * ratio**2
    return found


def unread_loops(reader: Reader, links: dict[str, Element], roots: set[str]) -> None:
    """Report each loop that the file closes in a dialect. roots: links that no joint carries."""
    for element in reader.document.root.walk():
        if not _is_loop(element):
            continue
        one, other = _end(element, "link1", "parent"), _end(element, "link2", "child")
        fixes_base = one == WORLD_LINK and other in roots
        if fixes_base or not {one, other} <= {*links, WORLD_LINK}:
            continue
        kind = CLOSED.get(element.attributes.get("type", ""), "connect")
        said = (
            f"{label_of(element)} closes a loop between links '{one}' and '{other}', which is not read: the robot is "
            f"an open tree here. Close it in {reader.document.path.stem}.steelyard.toml by a [[loop]] with "
            f'kind = "{kind}", link = "{one}", other = "{other}", and position and axis of the pin.'
        )
        reader.fault("SY509", element, label_of(element), said)


def _is_loop(element: Element) -> bool:
    inside = element.parent is not None and element.parent.parent is not None
    return element.tag in LOOPS or (element.tag == "joint" and inside)


def _end(element: Element, *tags: str) -> str:
    """The link that the first child of one of the tags names, by attribute or as text."""
    child = next((child for child in element.children if child.tag in tags), None)
    return "" if child is None else child.attributes.get("link", child.text.strip())
