"""Editing XML without touching a byte that was not meant: attribute values and elements are spliced in at byte offsets.

Functions make `Edit`s of a `Document`; `apply` splices them into a copy. Comments, quotes, order, white space, line
ends, encoding and byte order mark stay as they are.
"""

import re
from dataclasses import dataclass
from html import escape  # that of xml.sax loads a client of HTTP

from steelyard.model.xml import Document, Element
from steelyard.numbers import to_float

WORD = re.compile(rb"\S+")
TEXT = re.compile(rb"<!--.*?-->|<!\[CDATA\[(?P<plain>.*?)\]\]>|<\?.*?\?>|(?P<text>[^<]+)", re.DOTALL)
REMARK = re.compile(rb"[ \t]*<!--[^\n]*?-->")


@dataclass(frozen=True)
class Edit:
    """Bytes `start:end` of a document's body become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class NewElement:
    """An element to be written: tag, attributes in order, children or text."""

    tag: str
    attributes: dict[str, str]
    children: tuple["NewElement", ...] = ()
    text: str = ""


def assign(document: Document, element: Element, name: str, value: str) -> list[Edit]:
    """Give an attribute a value; a missing one is added behind the others."""
    if name in element.spans:
        _, start, end, _ = element.spans[name]
        quote = document.body[start - 1 : start].decode()
        return [Edit(start, end, _quoted(value, quote)[1:-1])]
    text = f" {name}={_quoted(value, _quote(document, element))}"
    where = max((span[3] for span in element.spans.values()), default=element.start + 1 + len(element.tag.encode()))
    return [Edit(where, where, text)]


def replace_attribute(document: Document, element: Element, old: str, name: str, value: str) -> list[Edit]:
    """Put another attribute where `old` stands."""
    start, value_start, _, end = element.spans[old]
    gap = document.body[start : value_start - 1].decode()
    blank = gap[: len(gap) - len(gap.lstrip())]
    return [Edit(start, end, f"{blank}{name}={_quoted(value, document.body[value_start - 1 : value_start].decode())}")]


def update(document: Document, element: Element, name: str, values, *, default=None) -> list[Edit]:
    """Give an attribute new numbers, unless its text (or, where it is absent, `default`) already says them exactly."""
    text = element.attributes.get(name)
    present = default if text is None else [to_float(word) for word in text.split()]
    if present is not None and list(present) == [float(value) for value in values]:
        return []
    return assign(document, element, name, number_text(values))


def set_numbers(document: Document, element: Element, name: str, values, *, default=None) -> list[Edit]:
    """New numbers for an attribute whatever stands there; untouched where it says them already."""
    try:
        return update(document, element, name, values, default=default)
    except ValueError:  # no numbers
        return assign(document, element, name, number_text(values))


def assign_text(document: Document, element: Element, text: str) -> list[Edit]:
    """Give an element without children another text; comments and blanks around the text stay."""
    if element.empty:
        before = len(document.body[: element.head_end - 2].rstrip())
        return [Edit(before, element.head_end, f">{escape(text, quote=False)}</{element.tag}>")]
    spans = [span for span in _texts(document, element) if span[1] > span[0]]
    if not spans:
        return [Edit(element.head_end, element.head_end, escape(text, quote=False))]
    first, *rest = spans
    return [Edit(*first, escape(text, quote=False)), *(Edit(*span, "") for span in rest)]


def set_text_numbers(document: Document, element: Element, values) -> list[Edit]:
    """Give an element the numbers of its text: those words change that say another number, where there are as many."""
    spans = [
        (start + word.start(), start + word.end(), word[0].decode())
        for start, end in _texts(document, element)
        for word in WORD.finditer(document.body[start:end])
    ]
    if len(spans) != len(values):
        return assign_text(document, element, number_text(values))
    edits = []
    for (start, end, word), value in zip(spans, values, strict=True):
        try:
            same = to_float(word) == float(value)
        except ValueError:  # no number
            same = False
        edits += [] if same else [Edit(start, end, number_text([value]))]
    return edits


def _texts(document: Document, element: Element) -> list[tuple[int, int]]:
    """Where texts of an element without children stand, blanks around them and comments left out."""
    if element.empty:
        return []
    close = document.body.rindex(b"</", element.head_end, element.end)
    found = []
    for each in TEXT.finditer(document.body, element.head_end, close):
        group = each.lastgroup  # None of a comment
        if group is not None and (text := each[group]).strip():
            start = each.start(group) + len(text) - len(text.lstrip())
            found.append((start, start + len(text.strip())))
    return found


def insert(document: Document, parent: Element, new: NewElement, *, last: bool = False) -> list[Edit]:
    """Add a child as the first (or last) one, indented like its surroundings."""
    line_end = "\r\n" if b"\r\n" in document.body else "\n"
    quote = _quote(document, parent)
    sibling = parent.children[-1 if last else 0] if parent.children else None
    outer = _indent(document, parent)
    inner = _indent(document, sibling) if sibling else None if outer is None else outer + _unit(document, parent)
    if inner is None:  # all on one line: so is the new element
        text, tail = _render(new, "", "", "", quote), ""
    else:
        unit = inner[len(outer) :] if outer is not None and inner.startswith(outer) and inner != outer else "  "
        text, tail = line_end + inner + _render(new, line_end, inner, unit, quote), line_end + (outer or "")
    if parent.empty:
        before = len(document.body[: parent.head_end - 2].rstrip())
        return [Edit(before, parent.head_end, f">{text}{tail}</{parent.tag}>")]
    if sibling and last:
        return [Edit(sibling.end, sibling.end, text)]
    remark = REMARK.match(document.body, parent.head_end)
    where = remark.end() if remark and inner is not None else parent.head_end
    close = document.body.rindex(b"</", where, parent.end)
    return [Edit(where, where, text if b"\n" in document.body[where:close] else text + tail)]


def substitute(document: Document, element: Element, new: NewElement) -> list[Edit]:
    """Put another element, without children, in the place of one."""
    return [Edit(element.start, element.end, _render(new, "", "", "", _quote(document, element)))]


def apply(document: Document, edits: list[Edit]) -> bytes:
    """Content of the file with the edits made, in its own encoding."""
    pieces, last = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        pieces += [document.body[last : edit.start], edit.text.encode()]
        last = edit.end
    text = b"".join([*pieces, document.body[last:]]).decode()
    return document.bom + text.encode(document.encoding, "xmlcharrefreplace")


def new_file(root: NewElement) -> bytes:
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + _render(root, "\n", "", "  ", '"') + "\n").encode()


def number_text(values) -> str:
    """Numbers as the shortest text that reads back as the same doubles."""
    return " ".join(_short(float(value)) for value in values)


def _short(value: float) -> str:
    text = repr(value + 0.0)  # + 0.0 spells minus zero as zero
    return text[:-2] if text.endswith(".0") else text


def _quote(document: Document, element: Element) -> str:
    owner: Element | None = element
    while owner is not None:
        if owner.spans:
            value_start = next(iter(owner.spans.values()))[1]
            return document.body[value_start - 1 : value_start].decode()
        owner = owner.parent
    return '"'


def _quoted(value: str, quote: str) -> str:
    return quote + escape(value, quote=False).replace(quote, "&quot;" if quote == '"' else "&apos;") + quote


def _indent(document: Document, element: Element) -> str | None:
    """The blank an element's line starts with, None when something else stands before the element."""
    line = document.body[document.body.rfind(b"\n", 0, element.start) + 1 : element.start].decode()
    return None if line.strip() else line


def _unit(document: Document, element: Element) -> str:
    """One step of indentation, as between an element and its parent."""
    inner, outer = _indent(document, element), _indent(document, element.parent) if element.parent else None
    if inner is None or outer is None or not inner.startswith(outer) or inner == outer:
        return "  "
    return inner[len(outer) :]


def _render(new: NewElement, line_end: str, indent: str, unit: str, quote: str) -> str:
    head = f"<{new.tag}" + "".join(f" {name}={_quoted(value, quote)}" for name, value in new.attributes.items())
    if not new.children:
        return f"{head}>{escape(new.text, quote=False)}</{new.tag}>" if new.text else head + "/>"
    lines = [line_end + indent + unit + _render(child, line_end, indent + unit, unit, quote) for child in new.children]
    return head + ">" + "".join(lines) + line_end + indent + f"</{new.tag}>"
