"""Words of the documentation that are written by hand: `python tools/words.py`.

Generated pages and tables are left out, and so are blocks of code, which tests run.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENERATED = ("docs/README.md", "docs/troubleshooting.md", "docs/gallery.md", "docs/evidence/**/*.md")
LIMIT = 30_000


def by_hand() -> dict[str, int]:
    """Words of each page; what stands between bars, backticks and brackets counts, too."""
    left_out = {path for pattern in GENERATED for path in ROOT.glob(pattern)}
    pages = [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.md") if path not in left_out)]
    return {str(page.relative_to(ROOT)): len(re.findall(r"\S*\w\S*", written(page))) for page in pages}


def written(page: Path) -> str:
    """A page without code, without the tables that a tool puts between its marks, and without those of options."""
    text = re.sub(r"<!-- [\w.: /]+ -->.*?<!-- end[ \w]* -->", "", page.read_text("utf-8"), flags=re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^\| `-.*\n", "", text, flags=re.MULTILINE)


if __name__ == "__main__":
    words = by_hand()
    for page, count in sorted(words.items(), key=lambda item: item[1]):
        print(f"{count:7,} {page}")
    print(f"{sum(words.values()):7,} of at most {LIMIT:,}")
