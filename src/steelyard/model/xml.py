"""Text of XML model files, as lenient as the formats' own readers: size, encoding, and what stands before the root.

URDF and MJCF are read by parsers that know no namespaces, pass over a declaration of any version and over what stands
before it, and take bytes as they are. So do we, and say so in a note.
"""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from steelyard.arguments import shown
from steelyard.errors import ModelError

MAX_BYTES = 64 * 2**20
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Atomic: a comment ends at its first -->, or files with many comments and no declaration take for ever.
DECLARATION = re.compile(rb"((?>\s+|<!--.*?-->)*+)(<\?xml\s[^>]*\?>)", re.DOTALL)
STATED = re.compile(rb"""\s(version|encoding)\s*=\s*(["'])([^"']*)\2""")
LENIENT = "iso-8859-1"  # has a character for every byte, so nothing is lost where UTF-8 was promised and not kept


@dataclass(frozen=True)
class Text:
    """A file. body: as UTF-8 without byte order mark; `bom + body` in its encoding are the bytes of the file. start:
    of what a parser is to see: behind the declaration. notes: what is odd about it."""

    body: bytes
    encoding: str
    bom: bytes
    start: int
    notes: tuple[str, ...] = ()


def read_bytes(path) -> bytes:
    """Content of a model file. Raises ModelError when it is missing, unreadable, empty or too large."""
    require_path(path)
    path = Path(path)
    try:
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "missing" if not path.exists() else "not a regular file"
            raise ModelError(f"Model file {path} is {kind}. Give the path of a .urdf or MJCF .xml file.")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ModelError(
                f"Model file {path} has {size / 2**20:.0f} MB; model files up to {MAX_BYTES // 2**20} MB are read."
            )
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # the latter for a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"Model file {shown(path)} cannot be read: {reason}.") from error
    if not content.strip():
        raise ModelError(f"Model file {path} is empty.")
    return content


def decoded(content: bytes, path: Path) -> Text:
    """Text of a file's bytes. Raises ModelError for an encoding that is unknown or cannot be kept exactly."""
    bom, marked = next(((bom, name) for bom, name in BOMS if content.startswith(bom)), (b"", None))
    rest = content[len(bom) :]
    head = DECLARATION.match(rest)
    stated = {} if head is None else {key: value.decode("latin-1") for key, _, value in STATED.findall(head[2])}
    encoding, notes = marked or stated.get(b"encoding") or _by_zeros(rest), []
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
        return Text(body, encoding, bom, 0, tuple(notes))
    if head[1]:
        said = "A comment stands" if head[1].strip() else "White space stands"
        line = head[1].count(b"\n") + 1
        notes.append(f"{path.name}, line {line}: {said} before the XML declaration; it was passed over.")
    version = stated.get(b"version", "none")
    if not version.startswith("1."):
        notes.append(f"{path.name}: XML version {version[:20]} does not exist; it was read as 1.0.")
    return Text(body, encoding, bom, head.end(), tuple(notes))


def codecs_name(encoding: str) -> str | None:
    """The name of an encoding in the same spelling for all its names; None for an unknown one."""
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return None


def require_path(path):
    """Raise ModelError for the XML of a model in the place of its path."""
    if str(path).lstrip().startswith("<"):
        raise ModelError(
            f"XML text ({shown(path)}) stands in the place of a path. Write it to a .urdf or MJCF .xml file, and give "
            "the path of that."
        )


def _by_zeros(content: bytes) -> str:
    """Encoding of a file without declaration, by where its first bytes are zero (XML 1.0, appendix F)."""
    return {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}.get(content[:2], "utf-8")


def _kept(content: bytes, encoding: str) -> str | None:
    """Text of bytes, None unless it encodes to the very same bytes again."""
    try:
        text = content.decode(encoding)
        return text if text.encode(encoding) == content else None
    except (LookupError, UnicodeError, ValueError):
        return None


def _undecodable(content: bytes) -> int:
    """Index of the first byte that is no UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(content)
