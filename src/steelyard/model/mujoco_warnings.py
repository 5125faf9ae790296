"""MuJoCo's warnings, kept from the terminal and from a file MUJOCO_LOG.TXT in the user's folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()
_listeners: list[list[str]] = []  # MuJoCo has one handler a process
_before: Any = None


@contextmanager
def heard() -> Iterator[list[str]]:
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
