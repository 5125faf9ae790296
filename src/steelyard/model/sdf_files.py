"""The files of an SDF model: the scopes of its worlds and models, with what their includes stand for.

Each `<include>` is read as a use of its file of its own, a `SdfUse`, since it may give name, pose and whether the model
is static. Files are looked for in the folders of the model only, and neither circles nor nests of includes explode.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.references import MOST_FILES, SCHEMES, Resolved, resolve
from steelyard.model.sdf_frames import MODEL_FRAME, TRUE, WORLD_FRAME, FrameScope, Item, SdfUse, raw_pose, text_of
from steelyard.model.sketch import FILE_RULES, ScanFault
from steelyard.model.xml import Document, Element, Reader, rooted
from steelyard.spatial import inverse, then

ROOT = "sdf"
NEWEST = (1, 12)  # version that a file without one is taken for
DEEPEST = 32  # models in each other
WORLD_GRAVITY = (0.0, 0.0, -9.8)  # of a world that states none
CONFIG = "model.config"
WHOLE = (".sdf", ".world", ".xml")  # suffixes of a URI that names a file, not the folder of a model
SHADOW = "\0"  # in no name of a file


@dataclass(eq=False)
class SdfFiles:
    """An SDF file with what it includes.

    world: the scope of its models; a file without a world is taken for one that holds its models.
    """

    main: Document
    folders: tuple[Path, ...]
    model: str = ""  # that is the robot, where it is said
    faults: list[ScanFault] = field(default_factory=list)  # and `refusals`: as of a `Reader`, of all files together
    refusals: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what is odd
    missing: list[str] = field(default_factory=list)
    sheets: list[SdfUse] = field(default_factory=list)
    gravity: tuple[float, float, float] | None = None  # (3,) of the world, m/s^2, None without one
    world: FrameScope = field(default_factory=lambda: FrameScope("", WORLD_FRAME))
    _read: dict[Path, Document] = field(default_factory=dict)

    def __post_init__(self):
        sheet = self._sheet(self.main)
        worlds = [each for each in self.main.root.children if each.tag == "world"]
        for further in worlds[1:]:
            sheet.reader.refuse(further, "the file has more than one world.", "Keep the one that the robot is in.")
        for element in worlds:
            self._fill(self.world, sheet, element)
            self.gravity = self._gravity(sheet, element)
        self._fill(self.world, sheet, self.main.root)

    def _sheet(self, document: Document, above: SdfUse | None = None, include: Element | None = None) -> SdfUse:
        reader = Reader(document, self.faults, self.refusals)
        stated = document.root.attributes.get("version", "")
        version = _version(stated)
        if version == (0, 0):
            said = f"states version '{stated[:20]}'" if stated else "states no version"
            self.notes.append(f"{document.path.name}: <sdf> {said}; it was read as 1.{NEWEST[1]}.")
        sheet = SdfUse(document, reader, NEWEST if version == (0, 0) else version, above, include)
        self.sheets.append(sheet)
        self.notes += [note for note in document.notes if note not in self.notes]
        return sheet

    def _gravity(self, sheet: SdfUse, world: Element):
        home = world
        if world.find("gravity") is None and sheet.version < (1, 6):
            home = world.find("physics") or world
        values = sheet.reader.content(home, "gravity", 3, "world > gravity", default=WORLD_GRAVITY, code="SY506")
        return tuple(values.tolist())

    def _fill(self, scope: FrameScope, sheet: SdfUse, element: Element) -> None:
        """Take up the children of a world or model. Raises ModelError for what cannot be read at all."""
        for child in element.children:
            if child.tag in ("link", "joint", "frame"):
                self._add(scope, self._item(scope, sheet, child))
            elif child.tag == "model":
                self._add(scope, self._model(scope, sheet, child, None))
            elif child.tag == "include":
                self._include(scope, sheet, child)
            elif child.tag == "drake:joint":
                said = f"Drake's own joint '{child.attributes.get('name', '')}' is not read."
                label = f"joint '{child.attributes.get('name', '')}'"
                sheet.reader.fault("SY506", child, label, said, remedy="Write it as joints of SDF.")

    def _add(self, scope: FrameScope, item: Item) -> None:
        where, name = item.sheet.reader, item.name
        other = scope.items.get(name)
        if not name:
            where.fault("SY505", item.element, item.kind, f"<{item.element.tag}> has no name.", remedy="")
        elif other is None:
            scope.items[name] = item
        elif other.kind == item.kind:
            said = f"{item.label} is already defined in line {other.sheet.document.line(other.element)}."
            where.fault("SY505", item.element, item.label, said, remedy="Give each its own name.")
        else:
            # allowed before 1.7; libsdformat gives the frame of the later one another name, which nothing can mean
            said = f"{item.label} has the name of a {other.kind}, so that no pose can be relative to it."
            where.fault("SY505", item.element, item.label, said)
            item.name = name
            scope.items[f"{name}{SHADOW}{item.kind}"] = item

    def _item(self, scope: FrameScope, sheet: SdfUse, element: Element) -> Item:
        name = element.attributes.get("name", "").strip()
        pose, relative = raw_pose(sheet, element, f"{element.tag} '{name}'")
        attached = ""
        if element.tag == "joint":
            attached = text_of(element, "child")
        elif element.tag == "frame":
            attached = element.attributes.get("attached_to", "").strip() or scope.frame
        relative = relative or attached or scope.frame
        return Item(element.tag, name, sheet, element, pose, relative, attached, scope.frame)

    def _model(
        self, scope: FrameScope, sheet: SdfUse, element: Element, include: tuple[SdfUse, Element] | None
    ) -> Item:
        """A model in a scope. include: the sheet and element that put it there, which say of it what they say."""
        own_name = element.attributes.get("name", "").strip()
        giver, given = include or (sheet, element)
        name = (text_of(given, "name") if include else "") or own_name
        label = f"model '{name}'"
        placed = (giver, given) if given.find("pose") is not None else (sheet, element)
        pose, relative = raw_pose(*placed, label)
        placement = element.attributes.get("placement_frame", "").strip()
        static = text_of(element, "static")
        if include:
            placement = text_of(given, "placement_frame") or placement
            static = text_of(given, "static") or static
        if len(scope.path) >= DEEPEST:
            raise ModelError(
                f"{sheet.document.where(element)}: models are nested more than {DEEPEST} deep. No robot needs that; it "
                "was not read."
            )
        inner = FrameScope(
            name,
            MODEL_FRAME,
            scope.static or static.lower() in TRUE,
            scope,
            element.attributes.get("canonical_link", "").strip(),
        )
        self._fill(inner, sheet, element)
        item = Item("model", name, sheet, element, pose, relative or scope.frame, scope=inner, placement=placement)
        if placement and inner.find(placement) is None:
            item.fault(f"has placement_frame '{placement[:60]}', which is no frame in it.", inner.known)
            item.placement = ""
        return item

    def _include(self, scope: FrameScope, sheet: SdfUse, element: Element) -> None:
        uri, reader = text_of(element, "uri"), sheet.reader
        label = f"include '{uri[:60]}'"
        if any(each.tag.startswith("experimental:params") for each in element.children):
            said = "its <experimental:params> change the included model, which is not read."
            reader.fault("SY506", element, label, said, remedy="Include a file that has these changes.")
        found = self.named(sheet, element)
        if found.path is None:
            said = f"Included {found.message}" if uri else "<include> has no <uri>."
            ways = "Put the model beside the file, or name its folder: --folder DIR."
            # what a world includes beside the robot, such as a sun by its address, is not missed
            needed = scope.frame != WORLD_FRAME or found.problem == "outside"
            reader.fault(FILE_RULES[found.problem], element, label, said, file=uri, remedy=ways if needed else None)
            if not needed:
                self.missing.append(f"{said} {ways}")
                self.notes.append(f"{sheet.document.path.name}, line {sheet.document.line(element)}: {said}")
            return
        document = self._document(found.path, sheet, element)
        models = [each for each in document.root.children if each.tag == "model"]
        if not models:
            if not any(each.tag in ("light", "actor") for each in document.root.children):
                reader.fault("SY505", element, label, f"{document.path.name} holds no model.", remedy="")
            return
        used = self._sheet(document, sheet, element)
        for further in models[1:]:
            used.reader.refuse(further, "an included file has more than one model.", "Keep one a file.")
        item = self._model(scope, used, models[0], (sheet, element))
        if element.attributes.get("merge", "").strip().lower() in TRUE:
            self._merge(scope, item)
        else:
            self._add(scope, item)

    def _document(self, path: Path, sheet: SdfUse, element: Element) -> Document:
        """An included file. Raises ModelError for circles, for too many uses, and for what is no SDF."""
        use: SdfUse | None = sheet
        while use is not None:
            if use.document.path.samefile(path):
                raise ModelError(f"{sheet.document.where(element)}: {path.name} includes itself. Break the circle.")
            use = use.above
        if len(self.sheets) > MOST_FILES:
            raise ModelError(
                f"{sheet.document.where(element)}: files are included more than {MOST_FILES} times. No robot needs "
                "that; it was not read."
            )
        if path not in self._read:
            self._read[path] = rooted(path, "an SDF", ROOT)
        return self._read[path]

    def named(self, sheet: SdfUse, include: Element) -> Resolved:
        """The file that an `<include>` names: itself, or that of the model whose folder it names."""
        uri = text_of(include, "uri")
        starts = [sheet.document.path.parent, self.main.path.parent]
        if not uri:
            return Resolved(None, "missing", "")
        remote = "://" in uri and not uri.startswith((*SCHEMES, "file://"))
        if remote or uri.lower().endswith(WHOLE):
            return resolve(uri, starts, self.folders)
        home = uri.rstrip("/")
        config = resolve(f"{home}/{CONFIG}", starts, self.folders)
        name = "model.sdf"
        if config.path is not None:
            offered = rooted(config.path, "a model.config", "model").root.every("sdf")
            versions = [
                (_version(each.attributes.get("version", "1.0")), each.text.strip())
                for each in offered
                if each.text.strip()
            ]
            name = max((each for each in versions if each[0] <= NEWEST), default=((0, 0), name))[1]
        elif config.problem != "missing":
            return config
        return resolve(f"{home}/{name}", starts, self.folders)

    def _merge(self, scope: FrameScope, item: Item) -> None:
        """Put the contents of an included model into the scope itself, around a frame that stands for its own."""
        inner = item.scope
        assert inner is not None
        proxy = f"_merged__{item.name}__model__"
        if scope.frame == WORLD_FRAME and inner.of("link"):
            item.fault("is merged into a world, which has no links.", "Include it without merge.")
        pose = item.pose
        if item.placement:
            pose = then(pose, inverse(inner.pose(item.placement)))
        first = inner.canonical or next((each.name for each in (*inner.of("link"), *inner.of("model"))), "")
        frame = Item("frame", proxy, item.sheet, item.element, pose, item.relative, first, scope.frame)
        self._add(scope, frame)

        def mapped(name: str) -> str:
            return proxy if name == MODEL_FRAME else name

        for each in inner.items.values():
            each.relative, each.attached = mapped(each.relative), mapped(each.attached)
            each.model_frame = proxy
            if each.scope is not None:
                each.scope.above = scope
            self._add(scope, each)


def _version(text: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"\s*1\.(\d{1,3})\s*", text)
    return (1, int(numbers[1])) if numbers else (0, 0)
