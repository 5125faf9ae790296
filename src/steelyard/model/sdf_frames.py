"""Named frames of an SDF file: the scope of a model or world, what its names mean, and where they are.

Each link, joint, frame and model has a pose relative to one other name of its scope, so that a frame is found by
following one chain. Names of a nested model are reached as `model::name`. What a name is attached to, a link or the
world, is another such chain.

Source: SDFormat specification 1.7 to 1.12, "Pose Frame Semantics"; poses of 1.6 and before are the special case in
which nothing is named.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from steelyard.errors import choices
from steelyard.model.xml import Document, Element, Reader
from steelyard.spatial import Pose, identity, inverse, rotation_from_quaternion, rotation_from_rpy, then

MODEL_FRAME, WORLD_FRAME = "__model__", "world"
SEPARATOR = "::"
STATED = "SY104"  # code of what an inertial states
TRUE = ("true", "1")


@dataclass(eq=False)
class SdfUse:
    """One use of an SDF file: the model's own, or that of an `<include>`, which is an element of the sheet `above`."""

    document: Document
    reader: Reader
    version: tuple[int, int]  # that it declares
    above: "SdfUse | None" = None
    include: Element | None = None


@dataclass(eq=False)
class Item:
    """What a scope has a name for."""

    kind: str  # "link", "joint", "frame" or "model"
    name: str
    sheet: SdfUse
    element: Element
    pose: Pose  # in the frame that `relative` names
    relative: str
    attached: str = ""  # the name that a joint or frame moves with
    model_frame: str = MODEL_FRAME  # what the frame of its own model is called, for names in it
    scope: "FrameScope | None" = None  # of a model, its own
    placement: str = ""  # the name in there whose pose it is

    @property
    def label(self) -> str:
        return f"{self.kind} '{self.name}'"

    def fault(self, message: str, remedy: str | None = "") -> None:
        """Note that it cannot be understood; remedy: None where it is read in spite of that."""
        self.sheet.reader.fault("SY506", self.element, self.label, f"{self.label} {message}", remedy=remedy)


@dataclass(eq=False)
class FrameScope:
    """A model or a world: names, and poses in its own frame, which is called `frame`."""

    name: str
    frame: str
    static: bool = False
    above: "FrameScope | None" = None  # the scope that it is in, under its name
    canonical: str = ""  # the link or model that its frame moves with, empty for the first one
    items: dict[str, Item] = field(default_factory=dict)
    _poses: dict[str, Pose] = field(default_factory=dict)
    _carriers: dict[str, "tuple[FrameScope, Item] | None"] = field(default_factory=dict)

    @property
    def path(self) -> tuple[str, ...]:
        """Names of it and of the models around it."""
        return () if self.above is None else (*self.above.path, self.name)

    def of(self, kind: str) -> list[Item]:
        """Items of a kind, in file order."""
        return [item for item in self.items.values() if item.kind == kind]

    def find(self, name: str) -> tuple["FrameScope", str] | None:
        """The scope that a name, perhaps one of a nested model, belongs to, and the name in there; None for none."""
        scope = self
        while name not in scope.items and name != scope.frame:
            head, _, rest = name.partition(SEPARATOR)
            item = scope.items.get(head)
            if not rest or item is None or item.scope is None:
                return None
            scope, name = item.scope, rest
        return scope, name

    def pose(self, name: str) -> Pose:
        """Pose of a name that `find` finds, in the frame of this scope. A chain without an end is a fault."""
        chain: dict[str, tuple[Pose, Item | None]] = {}
        while name != self.frame and name not in self._poses:
            if name in chain:
                item = next(each for _, each in reversed(chain.values()) if each is not None)
                names = choices([*list(chain)[list(chain).index(name) :], name])
                item.fault(f"has no place: {names} are relative to each other in a circle.")
                name = self.frame
                break
            chain[name], name = self._step(name)
        found = self._poses.get(name) or identity()
        for each, (pose, _) in reversed(chain.items()):
            found = then(found, pose)
            self._poses[each] = found
        return found

    def _step(self, name: str) -> tuple[tuple[Pose, Item | None], str]:
        """Pose of a name in another one, its item, and the other name."""
        item = self.items.get(name)
        if item is None:  # of a nested model
            head, _, rest = name.partition(SEPARATOR)
            inner = self.items[head].scope
            assert inner is not None  # `find`
            return (inner.pose(rest), None), head
        pose = item.pose
        if item.placement and item.scope is not None:
            pose = then(pose, inverse(item.scope.pose(item.placement)))
        return (pose, item), self._base(item)

    def _base(self, item: Item) -> str:
        """The name that the pose of an item is relative to; its scope's frame where there is no such name."""
        if self.find(item.relative) is not None:
            return item.relative
        item.fault(f"is relative to '{item.relative[:60]}', which is no frame of its model.", self.known)
        return self.frame

    @property
    def known(self) -> str:
        """Which names there are, for a message."""
        return f"Names there: {choices(self.items)}." if self.items else "There are no names."

    @cached_property
    def origin(self) -> Pose:
        """Pose of its frame in that of the outermost scope."""
        return identity() if self.above is None else self.above.absolute(self.name)

    def absolute(self, name: str) -> Pose:
        """Pose of a name in the outermost scope."""
        return then(self.origin, self.pose(name))

    def carrier(self, name: str) -> "tuple[FrameScope, Item] | None":
        """The link that a name moves with, and its scope; None for the world. A chain without an end is a fault."""
        scope, passed, last, end = self, {}, None, None
        while (scope, name) not in passed and name not in scope._carriers:
            passed[scope, name] = None
            found = scope.find(name)
            if found is None and last is not None:
                last.fault(f"is attached to '{name[:60]}', which is no frame of its model.", scope.known)
            scope, name = found if found is not None else (scope, scope.frame)
            item = scope.items.get(name)
            if scope.static or (item is None and scope.frame == WORLD_FRAME):
                break
            if item is not None and item.kind == "link":
                end = scope, item
                break
            if item is None:
                name = scope.canonical or next((each.name for each in (*scope.of("link"), *scope.of("model"))), "")
                if not name:
                    break
            elif item.scope is not None:
                scope, name = item.scope, item.scope.frame
            else:
                last, name = item, item.attached
        else:
            end = scope._carriers.get(name)
            if name not in scope._carriers and last is not None:
                last.fault("is attached to itself, not to a link.")
        for each, called in passed:
            each._carriers[called] = end
        return end


def raw_pose(sheet: SdfUse, element: Element, label: str, *, code: str = "SY506") -> tuple[Pose, str]:
    """Pose that the `<pose>` of an element states, and the name it is relative to, empty where it says none."""
    stated = element.find("pose")
    if stated is None:
        return identity(), ""
    label = f"{label} > pose"
    named = stated.attributes.get("relative_to", "")
    if sheet.version < (1, 7):  # it was called otherwise
        named = named or stated.attributes.get("frame", "")
    if stated.attributes.get("rotation_format") == "quat_xyzw":
        values = sheet.reader.content(element, "pose", 7, label, default=(0, 0, 0, 0, 0, 0, 1), code=code)
        length = np.linalg.norm(values[3:])
        if length == 0:
            sheet.reader.fault(code, stated, label, "the quaternion is zero: it has no direction.", remedy="")
        rotation = rotation_from_quaternion(values[3:] / (length or 1.0))
    else:
        values = sheet.reader.content(element, "pose", 6, label, default=np.zeros(6), code=code)
        degrees = stated.attributes.get("degrees", "").strip().lower() in TRUE
        if not degrees:
            sheet.reader.require_radians(values[3:], stated, label)
        rotation = rotation_from_rpy(np.radians(values[3:]) if degrees else values[3:])
    pose = rotation, values[:3]
    if code != STATED and not all(np.isfinite(each).all() for each in pose):
        pose = identity()  # it is reported once, then ignored
    return pose, named.strip()


def text_of(element: Element, tag: str) -> str:
    """Text of the first child of a tag, without the blanks around it; empty where there is none."""
    child = element.find(tag)
    return "" if child is None else child.text.strip()
