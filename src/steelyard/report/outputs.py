"""Files that appear as a whole or not at all, alone or all together.

Locks are the operating system's (`flock`), so that they end with their process, however that ends; where there are
none (Windows, some network drives), folders are used without.
"""

import glob
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from steelyard import storage
from steelyard.errors import OptionError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

SEALS = ("fleet.json", "summary.json")
NEW = 60.0  # s: younger folders may be about to be locked


def write_file(path, content: bytes, *, what: str, inputs: Sequence[Path] = ()) -> Path:
    """Write one file, making its folders. what: a word for messages. Raises OptionError if it cannot be written, or is
    one of `inputs`."""
    path = Path(path)
    require_other(path, inputs)
    with storage.placed(path, what), storage.whole(path) as draft:
        draft.write_bytes(content)
    return path


def require_other(path, inputs: Sequence[Path]):
    """Before the work: raises OptionError where an output is one of the inputs."""
    if os.path.realpath(path) in [os.path.realpath(each) for each in inputs]:
        raise OptionError(f"{path} is an input of this run and would be overwritten. Choose another name.")


@contextmanager
def staged(out, *, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """A new folder beside `out` whose files move to `out` when the block ends well; otherwise `out` stays as it was.

    Files of the same name in `out` are replaced, but never one of `inputs`. A summary goes first and comes last: a
    folder that has one holds files of one run, even where the process was killed between two files. Runs that write
    one folder at the same time take turns; files beside a summary are refused where another run replaced it during the
    block. Raises OptionError when the files cannot be written.
    """
    out = storage.require_folder(out)
    stage = out.parent / f".{out.name}.{secrets.token_hex(4)}.part"
    before = _summaries(out)
    try:
        with storage.folders_above(stage):
            try:
                stage.mkdir()
                with _locked(stage):
                    _sweep(out)
                    yield stage
                    _publish(stage, out, [Path(os.path.realpath(path)) for path in inputs], before)
            finally:
                shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        raise OptionError(f"Output folder {out} cannot be written: {error.strerror or error}.") from error


def _summaries(out: Path) -> list[tuple]:
    """What tells the summaries in a folder from others of the same name."""
    states = [(out / name).stat() for name in SEALS if (out / name).exists()]
    return [(state.st_ino, state.st_mtime_ns) for state in states]


def _publish(stage: Path, out: Path, inputs: Sequence[Path], before: list[tuple]):
    if not out.exists():
        try:
            stage.rename(out)
            return
        except OSError:
            if not out.is_dir():  # another run was first
                raise
    with _locked(out):
        files = sorted(path for path in stage.rglob("*") if path.is_file())
        moves = [(path, out / path.relative_to(stage)) for path in files]
        if not any(path.name in SEALS for path in files) and _summaries(out) != before:
            raise OptionError(
                f"Another run wrote {out} in the meantime, so these files would not be of its result. Try again."
            )
        for _, target in moves:
            if Path(os.path.realpath(target)) in inputs:
                raise OptionError(f"{target} is an input of this run and would be overwritten. Choose another folder.")
            if target.is_dir():
                raise OptionError(f"{target} is a folder where a file is to be written. Choose another folder.")
        _replace(moves, stage / secrets.token_hex(4))


def _replace(moves: list[tuple[Path, Path]], backup: Path):
    """Put every file at its target; what was there goes to the folder `backup`, and comes back if anything fails."""
    moves = sorted(moves, key=lambda move: move[1].name in SEALS)
    backup.mkdir()
    undo: list[tuple[Path, Path]] = []
    try:
        for k, (_, target) in reversed(list(enumerate(moves))):
            if target.exists():
                target.replace(backup / str(k))
                undo.append((backup / str(k), target))
        for path, target in moves:
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
            undo.append((target, path))
    except BaseException:
        for now, before in reversed(undo):
            now.replace(before)
        raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
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


def _sweep(out: Path) -> None:
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
