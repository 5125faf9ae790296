"""A xacro file as the URDF that it stands for, every element with the file and line where it is written.

xacro itself expands it, in a process that opens nothing (`xacro_process`): files and packages are looked up here.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import iglob
from itertools import islice
from pathlib import Path
from threading import Timer
from typing import Any, ClassVar

from steelyard.cards import LINES
from steelyard.errors import ModelError, choices
from steelyard.model.changes import Draft
from steelyard.model.document import MAX_BYTES, read_bytes
from steelyard.model.meshes import Meshes
from steelyard.model.references import MOST_FILES, WAYS, is_inside, package_folder, remedy
from steelyard.model.robot import Robot
from steelyard.model.urdf import ROOT, UrdfDocument
from steelyard.model.xml import Document, Element, parsed

OLD = ("include", "macro", "if", "unless", "property")  # elements of xacro before it had a prefix
PACKAGE = "package://"  # what `$(find NAME)` becomes where that package is nowhere
MAGIC = re.compile(r"[*?\[]")
SECONDS = 30


class _Refused(Exception):
    """A name is not looked up; says why."""


@dataclass(eq=False)
class Files:
    """What a xacro file names: includes and YAML, found in its package, beside it, or where the user says."""

    main: Path  # the file itself
    folders: tuple[Path, ...]  # in which others may lie, as of `allowed_folders`
    read: dict[Path, bytes] = field(default_factory=dict)  # real paths with what was read
    homes: dict[str, Path | None] = field(default_factory=dict)  # folders of packages that were named

    def package(self, name: str) -> str:
        """The folder that `$(find NAME)` stands for."""
        if name not in self.homes:
            self.homes[name] = package_folder(name, self.folders, self.main.parent)
        home = self.homes[name]
        return f"{PACKAGE}{name}" if home is None else str(home)

    def matching(self, name: str) -> list[str]:
        self._checked(os.path.dirname(name[: MAGIC.search(name).start()]))  # type: ignore[union-attr]  # noqa: PTH120
        return [str(self._checked(each)) for each in sorted(islice(iglob(name), MOST_FILES))]  # noqa: PTH207

    def tree(self, name: str) -> list | None:
        """Root of an XML file: tag, line, attributes, text and children of each element. None where it is missing."""
        path = self._checked(name)
        if not os.path.exists(path):  # noqa: PTH110  False for names that cannot be
            return None
        document = parsed(path, self._content(path))

        def listed(element: Element) -> list:
            inner = [listed(each) for each in element.children]
            return [element.tag, document.line(element), element.attributes, element.text, inner]

        return listed(document.root)

    def text(self, name: str) -> str:
        try:
            return self._content(self._checked(name)).decode("utf-8-sig")
        except UnicodeError as error:
            raise _Refused(f"{name[:120]} is not UTF-8") from error

    def _checked(self, name: str) -> Path:
        """A file that may be opened. Raises _Refused for one outside the folders of the model and of its packages."""
        if PACKAGE in name:
            package = name.partition(PACKAGE)[2].partition("/")[0]
            raise _Refused(f"package '{package[:80]}' is neither beside the model nor installed. {WAYS}")
        homes = (Path(os.path.realpath(home)) for home in self.homes.values() if home is not None)
        if "\0" in name or not (name == str(self.main) or is_inside((*self.folders, *homes), name)):
            raise _Refused(
                f"'{name[:120]}' lies outside the model's folder ({self.folders[0].name}); it was not opened. "
                f"{remedy(name) if chr(0) not in name else ''}".strip()
            )
        return Path(name)

    def _content(self, path: Path) -> bytes:
        real = Path(os.path.realpath(path))
        if real not in self.read:
            if len(self.read) == MOST_FILES:
                raise _Refused(f"more than {MOST_FILES} files are included")
            try:
                self.read[real] = read_bytes(real)
            except ModelError as error:
                raise _Refused(str(error)) from error
        return self.read[real]


@dataclass(frozen=True, eq=False)
class Expanded(Document):
    """What a file stands for. files: what was looked up for it; places: element -> file and line."""

    files: Files = field(kw_only=True)
    places: Mapping[Element, tuple[Path, int]] = field(kw_only=True)

    def source(self, element: Element) -> tuple[Path, int]:
        return self.places.get(element, (self.path, 1))


@dataclass(frozen=True, eq=False)
class XacroDocument(UrdfDocument):
    """A xacro file."""

    format: ClassVar[str] = "xacro"

    @cached_property
    def _outcome(self) -> "Expanded | ModelError":
        try:
            return _expanded(self.path, self.folders, self.arguments)
        except ModelError as error:  # which may have taken its time
            return error

    @cached_property
    def xml(self) -> Expanded:
        document = self._outcome
        if isinstance(document, ModelError):
            raise document
        root = document.root
        if root.tag != ROOT:
            raise ModelError(f"{self.path} expands to <{root.tag[:60]}>; a xacro file of a robot expands to <{ROOT}>.")
        old = next((each for each in root.children if each.tag in OLD), None)
        if old is not None:
            path, line = document.source(old)
            raise ModelError(f"{path}, line {line}: <{old.tag}> has no prefix. Write <xacro:{old.tag}>.")
        return document

    @property
    def whole(self) -> bool:
        return self.xml.root.find("link") is not None

    def referenced(self) -> Iterator[Path]:
        yield from (path for path in self.xml.files.read if not path.samefile(self.path))
        yield from super().referenced()

    @property
    def meshes(self) -> Meshes:
        homes = (home for home in self.xml.files.homes.values() if home is not None)
        return Meshes(self.path.parent, (*self.folders, *homes))

    def edited(self, robot: Robot, reference: Robot, target: Path) -> Draft:
        draft = super().edited(robot, reference, target)
        note = f"{self.path.name} was expanded: {target.name} holds its values, not its macros; the sources stay."
        return replace(draft, notes=(note, *draft.notes))


def _expanded(path: Path, folders: tuple[Path, ...], arguments: Mapping[str, str]) -> Expanded:
    """What a file stands for. Raises ModelError, with file, line and element, for what xacro refuses, for files outside
    the folders, for arguments that the file does not have, and for what takes more than a robot needs."""
    files = Files(path, folders)
    said = _said_by_xacro(files, arguments)
    if "refused" in said:
        raise ModelError(said["refused"])
    unknown = sorted(arguments.keys() - set(said["arguments"]))
    if unknown:
        has = f"It has {choices(said['arguments'])}." if said["arguments"] else "It has none."
        raise ModelError(f"{path} has no argument {choices(unknown)}. {has}")
    made = parsed(path, said["text"].encode())
    notes = tuple(f"{path.name}: {each[:200]}" for each in dict.fromkeys(said["notes"]))[:LINES]
    written = ((Path(file), line) for file, line in said["places"])
    places = dict(zip(made.root.walk(), written, strict=False))
    return Expanded(path, made.body, made.encoding, made.bom, made.root, notes, files=files, places=places)


def _said_by_xacro(files: Files, arguments: Mapping[str, str]) -> dict[str, Any]:
    """The answer of the process, whose questions are answered meanwhile."""
    command = [sys.executable, "-I", str(Path(__file__).with_name("xacro_process.py"))]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdin and process.stdout and process.stderr
        clock = Timer(SECONDS, process.kill)
        clock.start()
        said: Any = {"search": sys.path, "path": str(files.main), "arguments": dict(arguments), "seconds": SECONDS}
        try:
            while True:
                process.stdin.write(json.dumps(said).encode() + b"\n")
                process.stdin.flush()
                asked = json.loads(process.stdout.readline(MAX_BYTES))
                if isinstance(asked, dict):
                    return asked
                said = _answer(files, *asked)
        except (json.JSONDecodeError, OSError) as error:  # its end
            process.kill()
            why = process.stderr.read().decode(errors="replace").strip().rpartition("\n")[2][:200]
            raise ModelError(
                f"{files.main}: xacro did not expand it ({why or f'it takes more than {SECONDS} s or its memory'})."
            ) from error
        finally:
            clock.cancel()
            process.kill()


def _answer(files: Files, kind: str, name: str) -> dict[str, Any]:
    answers = {"package": files.package, "matching": files.matching, "tree": files.tree, "text": files.text}
    try:
        return {"given": answers[kind](name)}
    except _Refused as error:
        return {"refused": str(error)}
