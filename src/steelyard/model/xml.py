"""Reading XML model files: as lenient as the formats' own readers, with the bytes at which everything stands.

URDF, MJCF and SDF are read by parsers that know no namespaces, pass over a declaration of any version and over what
stands before it, take `--` in comments, and take bytes as they are. So do we, and say so in a note where it matters. A
`Document` is a file and where its elements and attribute values lie; a `Reader` takes numbers from it for a sketch.
"""

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from math import isfinite
from pathlib import Path
from xml.parsers import expat

import numpy as np

from steelyard.arguments import shown
from steelyard.errors import ModelError
from steelyard.model.document import read_bytes
from steelyard.model.sketch import Place, ScanFault, SketchJoint
from steelyard.numbers import NEGLIGIBLE, to_float

BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Atomic: a comment ends at its first -->, or files with many comments and no declaration take for ever.
DECLARATION = re.compile(rb"((?>\s+|<!--.*?-->)*+)(<\?xml\s[^>]*\?>)", re.DOTALL)
STATED = re.compile(rb"""\s(version|encoding)\s*=\s*(["'])([^"']*)\2""")
DEEPEST = 256  # elements in each other
LONGEST = 10_000_000  # characters of a start tag
HEAD = re.compile(rb"""<[^\s/<>]++(?:(?:\s+|(?<=["']))[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>""")
ATTRIBUTE = re.compile(rb"""(?:(?<!\s)\s+|(?<=["']))([^\s=]+)\s*=\s*(["'])(.*?)\2""", re.DOTALL)
ENCLOSED = ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"))
MARKS = re.compile(r"""["';]+(?=\s|$)""")  # behind a number, at which readers of the formats stop
LENIENT = "iso-8859-1"  # has a character for every byte, so nothing is lost where UTF-8 was promised and not kept


def decoded(content: bytes, path: Path) -> tuple[bytes, str, bytes, int, tuple[str, ...]]:
    """Body, encoding, byte order mark, start of what a parser is to see (behind the declaration) and notes of a file's
    bytes, as of a `Document`. Raises ModelError for an encoding that is unknown or cannot be kept exactly."""
    bom, marked = next(((bom, name) for bom, name in BOMS if content.startswith(bom)), (b"", None))
    rest = content[len(bom) :]
    head = DECLARATION.match(rest)
    stated = {} if head is None else {key: value.decode("latin-1") for key, _, value in STATED.findall(head[2])}
    # without declaration, by where its first bytes are zero (XML 1.0, appendix F)
    by_zeros = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}.get(rest[:2], "utf-8")
    encoding, notes = marked or stated.get(b"encoding") or by_zeros, []
    text = _kept(rest, encoding)
    if text is None and codecs_name(encoding) == "utf-8":
        line = rest[: _undecodable(rest)].count(b"\n") + 1
        notes.append(f"{path.name}, line {line}: not UTF-8; it was read as Latin-1.")
        encoding, text = LENIENT, rest.decode(LENIENT)
    if text is None:
        raise ModelError(
            f"{path} is written in '{encoding[:40]}', which cannot be read and written again without changes. Save it "
            "as UTF-8 and try again."
        )
    body = text.encode()
    head = DECLARATION.match(body)
    if head is None:
        return body, encoding, bom, 0, tuple(notes)
    if head[1]:
        said = "A comment stands" if head[1].strip() else "White space stands"
        line = head[1].count(b"\n") + 1
        notes.append(f"{path.name}, line {line}: {said} before the XML declaration; it was passed over.")
    version = stated.get(b"version", "none")
    if not version.startswith("1."):
        notes.append(f"{path.name}: XML version {version[:20]} does not exist; it was read as 1.0.")
    return body, encoding, bom, head.end(), tuple(notes)


def codecs_name(encoding: str) -> str | None:
    """The name of an encoding in the same spelling for all its names; None for an unknown one."""
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return None


def _kept(content: bytes, encoding: str) -> str | None:
    """Text of bytes, None unless it encodes to the very same bytes again."""
    try:
        text = content.decode(encoding)
        return text if text.encode(encoding) == content else None
    except (LookupError, UnicodeError, ValueError):
        return None


def _undecodable(content: bytes) -> int:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(content)


@dataclass(frozen=True, eq=False)
class Element:
    """An element and its bytes: `start:head_end` is its start tag, `start:end` all of it.

    spans: attribute -> (start, value start, value end, end); the start includes the blank before it.
    """

    tag: str
    attributes: dict[str, str]
    spans: dict[str, tuple[int, int, int, int]]
    start: int
    head_end: int
    parent: "Element | None"
    children: list["Element"] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    chunks: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Characters directly inside it, those of its children and comments left out."""
        return "".join(self.chunks)

    @property
    def end(self) -> int:
        return self.ends[0]

    @property
    def empty(self) -> bool:
        return self.end == self.head_end

    def find(self, tag: str) -> "Element | None":
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator["Element"]:
        """The element and all below it, in document order."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack += reversed(element.children)

    def every(self, *tags: str) -> Iterator["Element"]:
        """Those of these tags among `walk`."""
        return (each for each in self.walk() if each.tag in tags)


@dataclass(frozen=True, eq=False)
class Document:
    """An XML file."""

    path: Path
    body: bytes  # its text as UTF-8 without byte order mark, whatever its own encoding; spans count in it
    encoding: str
    bom: bytes
    root: Element
    notes: tuple[str, ...] = ()  # what is odd about the file

    @cached_property
    def _line_ends(self) -> list[int]:
        return [found.start() for found in re.finditer(b"\n", self.body)]

    def line(self, element: Element) -> int:
        return bisect_right(self._line_ends, element.start - 1) + 1

    def source(self, element: Element) -> tuple[Path, int]:
        """File and line where an element is written."""
        return self.path, self.line(element)

    def where(self, element: Element) -> str:
        """`file:line <tag name="...">`, to start a refusal with; of an element without a name, what it is in, too."""
        tags, owner = [], element
        while owner is not None and owner.parent is not None:
            name = owner.attributes.get("name") or owner.attributes.get("link")
            tags.append(f'<{owner.tag} name="{name}">' if name else f"<{owner.tag}>")
            owner = None if name else owner.parent
        path, line = self.source(element)
        return f"{path}:{line} {' in '.join(tags) or f'<{element.tag}>'}"


def read(path) -> Document:
    """Index a model file: no entities, no network, bounded size and depth. Raises ModelError that names the file, and
    line and remedy where they are known."""
    path = Path(path)
    return parsed(path, read_bytes(path))


def has_root(path: Path, tags: tuple[str, ...]) -> bool:
    """Whether a file starts with an element of one of these tags. Raises ModelError as `read`."""
    return read(path).root.tag in tags


def rooted(path, title: str, *tags: str) -> Document:
    """`read`, of a format of that title. Raises ModelError for a root of another tag."""
    document = read(path)
    if document.root.tag not in tags:
        raise ModelError(
            f"{path}:{document.line(document.root)}: the root element is <{document.root.tag[:60]}>; {title} starts "
            f"with <{tags[0]}>."
        )
    return document


@lru_cache(maxsize=4)  # a model is looked at several times on its way to a robot
def parsed(path: Path, content: bytes) -> Document:
    """`read`, of a file's bytes."""
    body, encoding, bom, start, notes = decoded(content, path)
    root, glued = _index(body, start, path)
    if glued:
        line = body.count(b"\n", 0, start + glued[0]) + 1
        notes += (f"{path.name}, line {line}: a blank is missing between attributes; it was read as if it were there.",)
    return Document(path, body, encoding, bom, root, notes)


def _index(body: bytes, begin: int, path: Path, glued: Sequence[int] = ()) -> tuple[Element, Sequence[int]]:
    """Root element, and where blanks between attributes are missing. begin: of what the parser sees, so that its own
    offsets and lines start there; glued: where it is to see blanks that the file lacks."""
    open_elements: list[Element] = []
    roots: list[Element] = []
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    seen, added = _with_plain_comments(body[begin:]), [at + k for k, at in enumerate(glued)]
    if glued:
        seen = b" ".join(seen[a:b] for a, b in pairwise([0, *glued, len(seen)]))

    def here() -> int:
        """Where the parser is in the body."""
        return begin + parser.CurrentByteIndex - bisect_left(added, parser.CurrentByteIndex)

    def on_doctype(*_):
        raise ModelError(
            f"{path}: document type declarations and entities are not accepted in model files. Remove <!DOCTYPE>."
        )

    def on_start(tag, attributes):
        start = here()
        head = HEAD.match(body, start)
        if head is None:
            raise ModelError(f"{path}: the start tag <{tag[:60]}> cannot be located for editing.")
        if len(open_elements) == DEEPEST or head.end() - start > LONGEST:
            line = body.count(b"\n", 0, start) + 1
            raise ModelError(
                f"{path}, line {line}: elements are nested more than {DEEPEST} deep, or one is longer than "
                f"{LONGEST // 10**6} MB. No robot needs that; it was not read."
            )
        spans = {
            m[1].decode(): (m.start(), m.start(3), m.end(3), m.end())
            for m in ATTRIBUTE.finditer(body, start + 1 + len(tag.encode()), head.end())
        }
        parent = open_elements[-1] if open_elements else None
        element = Element(tag, attributes, spans, start, head.end(), parent)
        (parent.children if parent else roots).append(element)
        open_elements.append(element)

    def on_end(_):
        element = open_elements.pop()
        closed = body[element.head_end - 2 : element.head_end] == b"/>"
        element.ends.append(element.head_end if closed else body.index(b">", here()) + 1)

    def on_text(data):
        open_elements[-1].chunks.append(data)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = on_start, on_end, on_text
    parser.StartDoctypeDeclHandler = on_doctype
    try:
        parser.Parse(seen, True)
    except expat.ExpatError as error:
        if not glued and (missing := _missing_blanks(seen)):
            return _index(body, begin, path, missing)
        line = body.count(b"\n", 0, begin) + error.lineno
        said = expat.ErrorString(error.code)
        raise ModelError(
            f"{path}, line {line}: not well-formed XML ({said}). Correct the file and try again."
        ) from error
    return roots[0], glued


def _missing_blanks(seen: bytes) -> list[int]:
    """Where the formats' own readers see an attribute begin right behind the quote that ends another."""
    found = (each for head in HEAD.finditer(seen) for each in ATTRIBUTE.finditer(seen, *head.span()))
    return [each.start() for each in found if each.start() == each.start(1)]


def _with_plain_comments(body: bytes) -> bytes:
    """The body, of the same length, with comments that XML takes too: `--` in them, as in options of a command, is
    taken by the formats' own readers."""
    kept, last, at = [], 0, body.find(b"<!")
    while at >= 0:
        opening, closing = next((each for each in ENCLOSED if body.startswith(each[0], at)), (b"<!", b""))
        start = at + len(opening)
        end = body.find(closing, start)
        if end < 0:
            break
        inner = body[start:end]
        if opening == b"<!--" and (b"--" in inner or inner.endswith(b"-")):
            kept += [body[last:start], inner.replace(b"-", b"_")]
            last = end
        at = body.find(b"<!", end)
    return b"".join([*kept, body[last:]]) if kept else body


@dataclass(eq=False)
class Reader:
    """Reads elements of one document and collects the faults it meets.

    refusals: for which a strict reader refuses the document, in its words; it stops at the first.
    """

    document: Document
    faults: list[ScanFault] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def line(self, element: Element) -> int:
        return self.document.source(element)[1]

    def place(self, element: Element, text: str) -> Place:
        return Place(*self.document.source(element), text)

    def fault(self, code: str, element: Element, text: str, message: str, *, file: str = "", remedy: str | None = None):
        """Note a fault; remedy: of one for which a strict reader refuses the document, if only to mend the place."""
        self.faults.append(ScanFault(code, self.place(element, text), message, file))
        if remedy is not None:
            self.refuse(element, message, remedy)

    def require_radians(self, rpy, element: Element, label: str):
        """Note angles beyond a turn that are degrees: whole or half numbers up to a turn."""
        beyond = rpy[np.abs(rpy) > 2 * np.pi]
        if beyond.size and (np.abs(beyond) <= np.degrees(2 * np.pi)).all() and (2 * rpy == np.round(2 * rpy)).all():
            said = f"rpy of {label} is {' '.join(f'{angle:g}' for angle in rpy)} rad, beyond a turn; degrees?"
            self.fault("SY511", element, label, said)

    def refuse(self, element: Element, message: str, remedy: str = ""):
        """Note what only a strict reader refuses."""
        self.refusals.append(f"{self.document.where(element)}: {message} {remedy}".strip())

    def numbers(self, element: Element, name: str, count: int, text: str, **options) -> np.ndarray:
        """Attribute as (count,) floats; NaN and a fault (code) when missing without default, unreadable or not finite,
        where a strict reader needs "finite" numbers, any "number", or "" for everything."""
        written = f"'{name}'", f'{name}="', '"'
        return self._numbers(element, element.attributes.get(name), written, count, text, **options)

    def number(self, element: Element, name: str, text: str, *, default: float | None = None, **options) -> float:
        """Attribute as one float, like `numbers`."""
        given = None if default is None else [default]
        return float(self.numbers(element, name, 1, text, default=given, **options)[0])

    def content(self, element: Element, tag: str, count: int, text: str, **options) -> np.ndarray:
        """Text of the first child of a tag as (count,) floats, like `numbers`; an empty child is a missing one."""
        child = element.find(tag)
        raw = (child and child.text.strip()) or None
        return self._numbers(child or element, raw, (f"<{tag}>", f"<{tag}>", f"</{tag}>"), count, text, **options)

    def amount(self, element: Element, tag: str, text: str, *, default: float | None = None, **options) -> float:
        """Text of the first child of a tag as one float, like `content`."""
        given = None if default is None else [default]
        return float(self.content(element, tag, 1, text, default=given, **options)[0])

    def direction(self, vector: np.ndarray, axis: Element, label: str) -> np.ndarray:
        """(3,) unit vector along that of a joint's axis, NaN and a fault where it has no direction."""
        length = np.linalg.norm(vector)
        if length >= NEGLIGIBLE or not np.isfinite(length):
            return vector / length
        said = "the joint's axis is zero: it has no direction."
        self.fault("SY506", axis, label, said, remedy="Give it a nonzero vector.")
        return np.full(3, np.nan)

    def joint(self, element: Element, name: str, kind: str, part: int | None, limits, limit, **others) -> SketchJoint:
        """A joint as a sketch has it. limit: the element that states the limits, None without."""
        place, label = self.place(element, f"joint '{name}'"), f"joint '{name}' > limit"
        known = {key: value if isfinite(value) else np.nan for key, value in limits.items()}
        stated = None if limit is None else self.place(limit, label)
        return SketchJoint(name, place, kind, part, known, stated, **others)

    def _numbers(
        self,
        element: Element,
        raw: str | None,
        written: tuple[str, str, str],
        count: int,
        text: str,
        *,
        default=None,
        code: str | None = "SY104",
        strict: str = "finite",
    ) -> np.ndarray:
        """Numbers of a text. written: what has them, in words, and what stands before and behind them."""
        expected = "one finite number" if count == 1 else f"{count} finite numbers"
        if raw is None:
            if default is not None:
                return np.asarray(default, dtype=float)
            said = f"<{element.tag}> has no {written[0]}; expected {expected}."
            code = "SY105" if code == "SY104" else code
            values = np.zeros(0)
        else:
            plain = raw if strict == "finite" else MARKS.sub("", raw)
            try:
                words = [to_float(word) for word in plain.split()]
            except ValueError:
                words = []
            values = np.array(words)
            if len(words) == count and all(map(isfinite, words)):
                if plain != raw:
                    said = f"{written[1]}{shown(raw)}{written[2]} was read up to the stray mark."
                    self.fault("SY606", element, text, said)
                return values
            said = f"{written[1]}{shown(raw)}{written[2]}; expected {expected}."
        taken = strict == "number" and values.size == count and not np.isnan(values).any()
        refused = bool(strict) and not taken
        if code is not None:
            self.fault(code, element, text, said, remedy="" if refused else None)
        elif refused:
            self.refuse(element, said)
        return values if taken else np.full(count, np.nan)
