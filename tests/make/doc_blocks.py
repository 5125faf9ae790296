"""Fenced blocks of the documentation: where they are, what commands they hold, which names they take for granted."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")],
    key=lambda path: (path.parent != ROOT, str(path)),
)


@dataclass(frozen=True)
class Block:
    """page: path from the root folder; line: of the opening fence; text: without the fences."""

    page: str
    line: int
    language: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Each command of a console block, without `$` and comment, and the output shown below it."""
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        pairs = (part.split("\n", 1) for part in parts)
        return [(re.sub(r"\s+# .*", "", command).strip(), output) for command, output in pairs]


def blocks_of(path: Path) -> list[Block]:
    """The blocks of a page in order."""
    text = path.read_text("utf-8")
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL)
    page = str(path.relative_to(ROOT))
    return [Block(page, text[: hit.start()].count("\n") + 1, hit[2], hit[3]) for hit in found]


def names_used(code: str) -> set[str]:
    """Names that a block reads."""
    nodes = ast.walk(ast.parse(code))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
