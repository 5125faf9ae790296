"""Numbers and places of elements that may be broken: NaN and a fault where a reader would refuse."""

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from steelyard.check.parts import Fault, Place
from steelyard.model import Document, Element

SHOWN = 60  # characters of a value in a message
# rules that report what `model.references` says is wrong with a file
FILE_RULES = {"missing": "SY601", "unreadable": "SY602", "outside": "SY603", "unchecked": "SY604"}


@dataclass(eq=False)
class Reader:
    """Reads elements of one document and collects the faults it meets."""

    document: Document
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self):
        body = self.document.body
        self._starts = np.flatnonzero(np.frombuffer(body, dtype=np.uint8) == 10).tolist()

    def place(self, element: Element, text: str) -> Place:
        return Place(self.document.path, bisect_right(self._starts, element.start - 1) + 1, text)

    def fault(self, code: str, element: Element, text: str, message: str, *, file: str = ""):
        self.faults.append(Fault(code, self.place(element, text), message, file))

    def numbers(self, element: Element, name: str, count: int, text: str, *, default=None, code="SY104") -> np.ndarray:
        """Attribute as (count,) floats; NaN and a fault when missing without default, unreadable or not finite."""
        raw = element.attributes.get(name)
        unknown = np.full(count, np.nan)
        if raw is None:
            if default is None:
                self.fault("SY105" if code == "SY104" else code, element, text, f"<{element.tag}> has no '{name}'.")
                return unknown
            return np.asarray(default, dtype=float)
        try:
            values = np.array([float(word) for word in raw.split()])
        except ValueError:
            values = np.zeros(0)
        if values.size == count and np.isfinite(values).all():
            return values
        shown = raw if len(raw) <= SHOWN else f"{raw[:SHOWN]}... ({len(raw)} characters)"
        expected = "one finite number" if count == 1 else f"{count} finite numbers"
        self.fault(code, element, text, f'{name}="{shown}" where {expected} belong{"s" if count == 1 else ""}.')
        return unknown

    def number(self, element: Element, name: str, text: str, *, default: float | None = None, code="SY104") -> float:
        """Attribute as one float, like `numbers`."""
        given = None if default is None else [default]
        return float(self.numbers(element, name, 1, text, default=given, code=code)[0])
