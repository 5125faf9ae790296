"""Text of a USD layer: where its prims and their attributes stand, and edits that leave every other byte."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(
    r'(?P<string>"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|(?P<asset>@@@.*?@@@|@[^@\n]*@)|(?P<comment>\#[^\n]*)|(?P<target><[^<>\n]*>)"
    r"|(?P<plain>\[[^\[\]\"'@#<>]*\])|(?P<mark>[{}()\[\]=;])|(?P<end>\n)|(?P<word>[^\s{}()\[\]=;\"'@#<>]+)",
    re.DOTALL,
)
SPECIFIERS = ("def", "over", "class")
INDENT = "    "


@dataclass(eq=False)
class PrimText:
    """A prim in a text, by offsets. values: of each attribute that has a default, from its first character to behind
    its last."""

    line: int  # its first
    head: int  # where its metadata may start, just behind its name
    begin: int  # behind its "{"
    depth: int  # prims above it
    meta: int | None = None  # that of "(" of its metadata, None where it has none
    schemas: int | None = None  # behind "[" of its apiSchemas, None where there are none
    values: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Opinion:
    """A value of an attribute."""

    name: str
    type: str  # as USD calls it
    text: str  # the value as USD writes it
    value: Any  # what Python's Sdf takes


@dataclass(eq=False)
class Opinions:
    """What is written on prims by path: opinions by name, and schemas that have to be applied."""

    values: dict[str, dict[str, Opinion]] = field(default_factory=dict)
    schemas: dict[str, list[str]] = field(default_factory=dict)

    def add(self, path: str, *opinions: Opinion):
        self.values.setdefault(path, {}).update({each.name: each for each in opinions})

    def apply(self, path: str, schema: str):
        found = self.schemas.setdefault(path, [])
        if schema not in found:
            found.append(schema)

    @property
    def paths(self) -> list[str]:
        return list(dict.fromkeys((*self.values, *self.schemas)))


@dataclass(eq=False)
class _OpenBrace:
    """A "{" that is not closed yet. path: of its prim, None in variants and dictionaries."""

    path: str | None
    prim: PrimText | None


def prims_of(text: str) -> dict[str, PrimText]:
    """Prims of the text of a layer that OpenUSD reads, by path; those in variants are left out."""
    found: dict[str, PrimText] = {}
    scopes = [_OpenBrace("", None)]
    statement: list[re.Match] = []
    nested = 0
    line, seen = 1, 0
    for token in TOKEN.finditer(text):
        kind, words = token.lastgroup, token[0]
        if kind == "comment":
            continue
        if words in ("(", "[") and kind == "mark":
            nested += 1
        elif words in (")", "]") and kind == "mark":
            nested -= 1
        elif nested == 0 and (kind == "end" or words == ";"):
            first = statement[0][0] if statement else ""
            if not (first in (*SPECIFIERS, "variantSet") or (statement and statement[0].lastgroup == "string")):
                _attribute(scopes[-1], statement)
                statement = []
            continue
        elif nested == 0 and words == "{" and kind == "mark":
            path, prim = None, None
            if statement and statement[0][0] in SPECIFIERS and scopes[-1].path is not None:
                line += text.count("\n", seen, statement[0].start())
                seen = statement[0].start()
                path, prim = _prim(scopes, statement, line, token.end())
                found.setdefault(path, prim)
            scopes.append(_OpenBrace(path, prim))
            statement = []
            continue
        elif nested == 0 and words == "}" and kind == "mark":
            _attribute(scopes[-1], statement)
            statement = []
            if len(scopes) > 1:
                scopes.pop()
            continue
        if kind != "end":
            statement.append(token)
    return found


def _prim(scopes: list[_OpenBrace], statement: list[re.Match], line: int, begin: int) -> tuple[str, PrimText]:
    at = next(i for i, token in enumerate(statement) if token.lastgroup == "string")
    prim = PrimText(line, statement[at].end(), begin, len(scopes) - 1)
    rest = statement[at + 1 :]
    if rest and rest[0][0] == "(":
        prim.meta = rest[0].end()
        for k, token in enumerate(rest[:-2]):
            taken_away = k > 0 and rest[k - 1][0] in ("delete", "reorder")
            if token[0] == "apiSchemas" and not taken_away and rest[k + 2][0].startswith("["):
                prim.schemas = rest[k + 2].start() + 1
    return f"{scopes[-1].path}/{statement[at][0][1:-1]}", prim


def _attribute(scope: _OpenBrace, statement: list[re.Match]):
    """Note where the default of an attribute stands. statement: "[custom] [uniform] type name = value [(...)]"."""
    equals = next((i for i, token in enumerate(statement) if token[0] == "=" and token.lastgroup == "mark"), None)
    if scope.prim is None or equals is None or equals < 2 or equals + 1 == len(statement):
        return
    first, depth = statement[equals + 1], 0
    for token in statement[equals + 1 :]:
        if token.lastgroup == "mark":
            depth += (token[0] in "([") - (token[0] in ")]")
        if depth == 0:
            scope.prim.values[statement[equals - 1][0]] = first.start(), token.end()
            return


def edited_text(text: str, opinions: Opinions, moved: Callable[[str], str | None]) -> tuple[str, list[str]]:
    """Text of a layer with other opinions, and nothing else of it changed; and the new paths. moved: of the path of an
    asset, its new one, None where it stays."""
    prims = prims_of(text)
    edits: list[tuple[int, int, str]] = []
    absent = []
    for path in opinions.paths:
        if path in prims:
            edits += _in_prim(text, prims[path], opinions, path)
        else:
            absent.append(path)
    edits += _overs(text, prims, absent, opinions)
    renamed = []
    for token in TOKEN.finditer(text):
        if token.lastgroup == "asset":
            quotes = "@@@" if token[0].startswith("@@@") else "@"
            new = moved(token[0].strip("@"))
            if new is not None:
                edits.append((token.start(), token.end(), f"{quotes}{new}{quotes}"))
                renamed.append(new)
    for start, end, new in sorted(edits, key=lambda each: each[:2], reverse=True):
        text = text[:start] + new + text[end:]
    return text, list(dict.fromkeys(renamed))


def _end_of_line(text: str, at: int, depth: int) -> str:
    """What has to follow lines that are put behind a "{": nothing where a line ends there anyway."""
    return "" if text[at:].lstrip(" \t\r").startswith("\n") else f"\n{INDENT * depth}"


def _in_prim(text: str, prim: PrimText, opinions: Opinions, path: str) -> Iterable[tuple[int, int, str]]:
    lines = ""
    for opinion in opinions.values.get(path, {}).values():
        if opinion.name in prim.values:
            yield (*prim.values[opinion.name], opinion.text)
        else:
            lines += f"\n{INDENT * (prim.depth + 1)}{opinion.type} {opinion.name} = {opinion.text}"
    if lines:
        yield prim.begin, prim.begin, lines + _end_of_line(text, prim.begin, prim.depth)
    names = ", ".join(f'"{each}"' for each in opinions.schemas.get(path, []))
    if not names:
        return
    margin = INDENT * prim.depth
    if prim.schemas is not None:
        yield prim.schemas, prim.schemas, f"{names}, "
    elif prim.meta is not None:
        yield prim.meta, prim.meta, f"\n{margin}{INDENT}prepend apiSchemas = [{names}]"
    else:
        yield prim.head, prim.head, f" (\n{margin}{INDENT}prepend apiSchemas = [{names}]\n{margin})"


def _overs(text: str, prims: dict[str, PrimText], absent: list[str], opinions: Opinions):
    """Overs of prims that the layer says nothing of, below the nearest one that it does."""
    hosts: dict[str, dict] = {}
    for path in absent:
        names = path.strip("/").split("/")
        known = next((k for k in range(len(names), 0, -1) if "/" + "/".join(names[:k]) in prims), 0)
        level = hosts.setdefault("/" + "/".join(names[:known]) if known else "", {})
        for name in names[known:]:
            level = level.setdefault(name, {})
    for host, tree in hosts.items():
        prim = prims.get(host)
        body = "".join(
            _over(name, below, host, 0 if prim is None else prim.depth + 1, opinions) for name, below in tree.items()
        )
        at = len(text) if prim is None else prim.begin
        if prim is not None:
            yield at, at, "\n" + body.rstrip("\n") + _end_of_line(text, at, prim.depth)
        else:
            yield at, at, ("" if text.endswith("\n") else "\n") + "\n" + body


def _over(name: str, below: dict, host: str, depth: int, opinions: Opinions) -> str:
    path, margin = f"{host}/{name}", INDENT * depth
    names = ", ".join(f'"{each}"' for each in opinions.schemas.get(path, []))
    meta = f" (\n{margin}{INDENT}prepend apiSchemas = [{names}]\n{margin})" if names else ""
    values = opinions.values.get(path, {}).values()
    lines = "".join(f"{margin}{INDENT}{each.type} {each.name} = {each.text}\n" for each in values)
    inner = "".join(_over(each, more, path, depth + 1, opinions) for each, more in below.items())
    return f'{margin}over "{name}"{meta}\n{margin}{{\n{lines}{inner}{margin}}}\n'
