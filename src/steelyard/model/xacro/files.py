"""Files that a xacro file names: includes and YAML, found in its package, beside it, or where the user says."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from glob import iglob
from itertools import islice
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.document import read_bytes
from steelyard.model.references import WAYS, is_inside, package_folder, remedy
from steelyard.model.xacro.values import Unevaluable
from steelyard.model.xml import Document, parsed

PACKAGE = "package://"  # what `$(find NAME)` becomes where that package is nowhere
MOST_FILES = 500
MAGIC = re.compile(r"[*?\[]")


@dataclass(eq=False)
class Files:
    """What is read. main: the file itself; folders: in which others may lie, as of `allowed_folders`; instead: contents
    that stand for those of files, by real path.

    read: real paths with what was read; homes: folders of packages that were named.
    """

    main: Path
    folders: tuple[Path, ...]
    instead: Mapping[Path, bytes] = field(default_factory=dict)
    read: dict[Path, bytes] = field(default_factory=dict)
    homes: dict[str, Path | None] = field(default_factory=dict)
    stack: list[Path] = field(default_factory=list)

    def package(self, name: str) -> str:
        """The folder that `$(find NAME)` stands for."""
        if name not in self.homes:
            self.homes[name] = package_folder(name, self.folders, self.main.parent)
        home = self.homes[name]
        return f"{PACKAGE}{name}" if home is None else str(home)

    @property
    def allowed(self) -> tuple[Path, ...]:
        """Folders in which files may lie: those of the model, and packages that it named."""
        return (*self.folders, *(Path(os.path.realpath(home)) for home in self.homes.values() if home is not None))

    def absolute(self, name: str) -> str:
        """A file name as seen from the file that is being read."""
        return name if name.startswith(PACKAGE) or Path(name).is_absolute() else str(self.stack[-1].parent / name)

    def matching(self, name: str) -> list[Path]:
        """Files of a name, or of a pattern. Raises Unevaluable for one outside the folders."""
        name = self.absolute(name)
        found = MAGIC.search(name)
        if not found:
            return [self._checked(name)]
        self._checked(os.path.dirname(name[: found.start()]))  # noqa: PTH120
        return [self._checked(each) for each in sorted(islice(iglob(name), MOST_FILES))]  # noqa: PTH207

    def _checked(self, name: str) -> Path:
        if name.startswith(PACKAGE):
            package = name.removeprefix(PACKAGE).partition("/")[0]
            raise Unevaluable(f"package '{package[:80]}' is neither beside the model nor installed. {WAYS}")
        if "\0" in name or not is_inside(self.allowed, name):
            raise Unevaluable(
                f"'{name[:120]}' lies outside the model's folder ({self.folders[0].name}); it was not opened. "
                f"{remedy(name) if chr(0) not in name else ''}".strip()
            )
        return Path(name)

    def content(self, path: Path) -> bytes:
        """Bytes of a file. Raises Unevaluable where it cannot be read."""
        real = Path(os.path.realpath(path))
        if real not in self.read:
            if len(self.read) == MOST_FILES:
                raise Unevaluable(f"more than {MOST_FILES} files are included")
            if real not in self.instead and not os.path.exists(real):  # noqa: PTH110  False for names that cannot be
                raise Unevaluable(f"'{str(path)[:120]}' does not exist")
            try:
                self.read[real] = self.instead.get(real) or read_bytes(real)
            except ModelError as error:
                raise Unevaluable(str(error)) from error
        return self.read[real]

    def document(self, path: Path) -> Document:
        """An XML file. Raises ModelError for what is none."""
        return parsed(path, self.content(path))
