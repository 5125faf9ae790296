"""Whether a Numba kernel is worth starting for a job, and on how many threads."""

import hashlib
import importlib.util
import os
import sys
from pathlib import Path

# Seconds of work under NumPy from which a kernel pays: already loaded, to be read from its cache, to be compiled.
LOADED, CACHED, COLD = 0.005, 2.0, 60.0
MOST_THREADS = 16


def kernel_pays(work: float, module: str, function: str) -> bool:
    """Whether a job gains by a kernel, its compilation included.

    Args:
        work: seconds that it takes under NumPy.
        module: of the kernel.
        function: of the kernel.

    Returns:
        True where the kernel is taken.
    """
    if work < LOADED or importlib.util.find_spec("numba") is None:
        return False
    if module in sys.modules:
        return True
    return work > (CACHED if compiled(module, function) else COLD)


def compiled(module: str, function: str) -> bool:
    """Whether an earlier run left a compiled kernel of this package where Numba caches it."""
    source = Path(__file__).with_name(f"{module.rpartition('.')[2]}.py")
    stored = [index for folder in _caches(source) for index in folder.glob(f"{source.stem}.{function}-*.nbi")]
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in stored)


def _caches(source: Path) -> list[Path]:
    """Numba's folders for a source file: in $NUMBA_CACHE_DIR if set, else beside it or, if read-only, the user's."""
    own = f"{source.parent.name}_{hashlib.sha1(str(source.parent.absolute()).encode()).hexdigest()}"
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given) / own]
    user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return [source.parent / "__pycache__", user / "numba" / own]


def threads() -> int:
    """Threads of a kernel: as many as cores may be used."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)
