"""MuJoCo's compiler, called so that no file can take the process with it."""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from steelyard.errors import ModelError
from steelyard.model.mjcf_files import Files, read_files
from steelyard.model.mjcf_limits import require_bounded

_lock = Lock()
_listeners: list[list[str]] = []  # MuJoCo has one handler a process
_before: Any = None


@contextmanager
def captured_warnings() -> Iterator[list[str]]:
    """The warnings of MuJoCo while this is open, those of other threads included. A handler of the user is restored."""
    import mujoco

    global _before
    told: list[str] = []
    with _lock:
        if not _listeners:
            _before = mujoco.get_mju_user_warning()
            mujoco.set_mju_user_warning(_tell)
        _listeners.append(told)
    try:
        yield told
    finally:
        with _lock:
            _listeners[:] = [each for each in _listeners if each is not told]
            if not _listeners:
                mujoco.set_mju_user_warning(_before)


def _tell(message: str) -> None:
    for told in tuple(_listeners):
        told.append(message)


def compile_file(path, folders: tuple[Path, ...], change: Callable = lambda spec: None):
    """MuJoCo model of an MJCF file, and MuJoCo's warnings about it.

    Args:
        path: of the file.
        folders: in which files that it names may lie, as of `allowed_folders`.
        change: is given the MjSpec before it is compiled.

    Returns:
        (MjModel, warnings).

    Raises:
        ModelError: the file does not compile; MuJoCo's own error is the cause.
    """
    return compile_files(read_files(Path(path), folders), change)


def compile_files(files: Files, change: Callable = lambda spec: None):
    """`compile_file` of files that were read."""
    for _ in files.named():  # none is outside the folders
        pass
    require_bounded(files)
    # After an exception that it did not foresee, MuJoCo (4.0) leaves its handler of warnings behind, one a thread, and
    # the next warning in that thread calls itself for ever. A thread of its own takes the handler with it.
    with ThreadPoolExecutor(1, "mujoco") as apart:
        return apart.submit(_compiled, files.main.path, change).result()


def _compiled(path: Path, change: Callable):
    import mujoco

    with warnings.catch_warnings(record=True) as caught, captured_warnings() as told:
        warnings.simplefilter("always")
        try:
            spec = mujoco.MjSpec.from_file(str(path))
            change(spec)
            m = spec.compile()
        except (ValueError, RuntimeError) as error:  # the latter where MuJoCo fails within
            raise ModelError(f"MuJoCo cannot compile {path}: {str(error).strip()}") from error
    return m, [*(str(each.message) for each in caught), *told]
