"""Folders that one process at a time works on, and what killed processes left of theirs.

Locks are the operating system's (`flock`), so that they end with their process, however that ends; where there are
none (Windows, some network drives), folders are used without.
"""

import glob
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

NEW = 60.0  # s: younger folders may be about to be locked


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Waits until no other process has the folder, and holds it for the block."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sweep(out: Path) -> None:
    """Remove the unfinished folders `.OUT.*.part` beside `out` whose processes are gone."""
    for left in out.parent.glob(f".{glob.escape(out.name)}.{'[0-9a-f]' * 8}.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > NEW and _free(left):
                shutil.rmtree(left, ignore_errors=True)


def _free(folder: Path) -> bool:
    """Whether no process holds the folder. Raises OSError where that cannot be told."""
    if fcntl is None:
        return False
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
