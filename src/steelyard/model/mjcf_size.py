"""How much MuJoCo would make of an MJCF file, counted before it is asked: a few words can stand for a million bodies.

A file can also attach itself, over which MuJoCo ends the process; such a count has no end but the limit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from lxml import etree

from steelyard.errors import ModelError
from steelyard.model.xml import parse

# MuJoCo 4.0 compiles any of these in about 5 s on one core; its time grows with the square of the first two
MOST_BODIES = 6_000  # and joints
MOST_ELEMENTS = 30_000
MOST_SAMPLES = 2**26  # pixels of textures and heights of height fields
FACES = 6  # of a texture that is a cube, one above the other
DEFAULT_COUNT = "10 10 10"  # of <flexcomp>


@dataclass(eq=False)
class _Tally:
    """What an MJCF file and everything that it names come to. files: roots by path, each read once."""

    main: Path
    bodies: int = 0
    elements: int = 0
    samples: int = 0
    files: dict[Path, etree._Element] = field(default_factory=dict)

    def root(self, path: Path) -> etree._Element:
        if path not in self.files:
            self.files[path] = parse(path)
        return self.files[path]

    def add(self, element, times: int) -> None:
        """Count an element that is made so many times. Raises ModelError at a limit."""
        self.elements += times
        if element.tag in ("body", "joint", "freejoint"):
            self.bodies += times
        elif element.tag in ("flexcomp", "composite"):
            self.bodies += times * prod(_counts(element.get("count", DEFAULT_COUNT)))
        elif element.tag in ("hfield", "texture"):
            self.samples += _samples(element)
        elif element.tag == "size":
            self.elements += sum(_counts(element.get("nkey", "")))
        for count, most, what in (
            (self.bodies, MOST_BODIES, "bodies and joints"),
            (self.elements, MOST_ELEMENTS, "elements"),
            (self.samples, MOST_SAMPLES, "pixels and heights"),
        ):
            if count > most:
                raise ModelError(
                    f"{self.main} stands for more than {most:,} {what}, counting what it replicates, includes and "
                    "attaches; such models are not read. Give the robot alone, without its surroundings."
                )


def require_bounded(path: Path) -> None:
    """Raise ModelError for an MJCF file that MuJoCo would need minutes or all memory for, or never end with."""
    tally = _Tally(path)
    included: set[Path] = set()
    stack = [(tally.root(path), 1, path)]
    while stack:
        element, times, file = stack.pop()
        if not isinstance(element.tag, str):  # a comment
            continue
        tally.add(element, times)
        if element.tag == "include":
            other = _found(element.get("file"), file, path)
            if other is not None and other not in included:  # MuJoCo refuses a second time
                included.add(other)
                stack.append((tally.root(other), times, other))
        elif element.tag in ("model", "attach"):
            stack += [(part, times, other) for part, other in _attached(element, file, tally)]
        inner = times * max(prod(_counts(element.get("count", "1"))), 1) if element.tag == "replicate" else times
        stack += [(child, inner, file) for child in element]


def _attached(element, file: Path, tally: _Tally) -> Iterator[tuple]:
    """The other model that `<model>` has MuJoCo read, or the part of it that `<attach>` puts into this one."""
    named = element
    if element.tag == "attach":
        models = tally.root(file).iter("model")
        named = next((each for each in models if _name(each) == element.get("model")), element)
    folders = {each.get(key, "") for each in tally.root(file).iter("compiler") for key in ("assetdir", "meshdir")}
    other = _found(named.get("file"), file, *(file.parent / folder / "x" for folder in sorted(folders)))
    if other is None:
        return
    root = tally.root(other)
    asked = element.get("body") if element.tag == "attach" else None
    yield next((each for each in root.iter("body") if asked and each.get("name") == asked), root), other


def _name(model) -> str:
    return model.get("name") or Path(model.get("file", "")).stem


def _found(text: str | None, *beside: Path) -> Path | None:
    """The file of that name beside one of the others."""
    places = [file.parent / text for file in beside] if text and "\0" not in text else []
    return next((place.resolve() for place in places if place.is_file()), None)


def _samples(element) -> int:
    """Pixels of a texture or heights of a height field that its attributes ask for."""
    keys = ("nrow", "ncol") if element.tag == "hfield" else ("width", "height")
    columns, rows = (sum(_counts(element.get(key, ""))) for key in keys)
    if element.tag == "texture" and element.get("type", "cube") != "2d":
        rows = max(rows, FACES * columns)
    return columns * rows


def _counts(text: str) -> list[int]:
    """The whole numbers in an attribute; what is none is left to MuJoCo to refuse."""
    try:
        return [max(int(float(word)), 0) for word in text.split()]
    except (ValueError, OverflowError):
        return []
