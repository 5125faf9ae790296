"""How the program ends: exit statuses, refusals, signals, and a standard output that takes no more.

Where the world outside ends it, the status is that of shells: 128 and the number of the signal.
"""

import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from steelyard.errors import REFUSED, SteelyardError

SIGNALS = ("SIGTERM", "SIGHUP")  # a Ctrl-C already is an exception
READER_GONE = 141  # 128 + SIGPIPE
STOPPED = (129, 130, 143)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def refusals() -> Iterator[None]:
    """One readable message and exit status 2 for input that cannot be used. Other exceptions are faults: they pass."""
    try:
        yield
    except SteelyardError as error:
        typer.echo(f"steelyard: {error}", err=True)
        raise typer.Exit(REFUSED) from error


@contextmanager
def endings() -> Iterator[None]:
    """Drafts are cleared up when the program is told to stop; no traceback for that, or for an output that is closed or
    full; characters that the output's encoding lacks are shown as escapes."""
    for number in (getattr(signal, name, None) for name in SIGNALS):
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _stop)
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in (sys.stdout, sys.stderr))  # None where it is closed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except SystemExit as ended:
        if _reader_gone(ended):
            _silence()
            raise SystemExit(READER_GONE) from None
        if ended.code in STOPPED:
            _say("stopped before the end.")
        raise
    except BrokenPipeError:
        _silence()
        raise SystemExit(READER_GONE) from None
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        _silence()
        _say(f"standard output cannot be written: {error.strerror}.")
        raise SystemExit(REFUSED) from None


def _nowhere():
    return Path(os.devnull).open("w", encoding="utf-8")


def _stop(number, frame):
    raise SystemExit(128 + number)


def _reader_gone(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, BrokenPipeError):
        error = error.__context__
    return error is not None


def _say(text: str):
    try:
        sys.stderr.write(f"steelyard: {text}\n")
    except OSError:  # the terminal has gone, too
        return


def _silence():
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
