"""Machine code that Numba keeps is stale once a file it was inlined from has changed: Numba looks at one file only."""

from pathlib import Path

import steelyard


def pytest_configure():
    root = Path(steelyard.__file__).parent
    for cache in root.glob("*/__pycache__"):
        indices = list(cache.glob("*.nbi"))
        newest = max((source.stat().st_mtime for source in cache.parent.glob("*.py") if _compiled(source)), default=0.0)
        for index in indices:
            if index.stat().st_mtime < newest:
                index.unlink(missing_ok=True)


def _compiled(source: Path) -> bool:
    return "from numba import" in source.read_text()
