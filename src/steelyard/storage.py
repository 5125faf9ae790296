"""Files on any file system: paths of this machine, and URLs that fsspec knows (`s3://`, `gs://`, `memory://`, ...).

A file appears whole or not at all: local files are renamed into place, object stores publish an upload at its end.
"""

import glob
import os
import re
import secrets
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from steelyard.errors import OptionError, SteelyardError
from steelyard.extras import extra, require_extra

URL = "://"
SCHEMA_VERSION = 1  # of JSON for other programs
OLD = 3600.0  # s: drafts that nothing was written to for so long were left by killed processes


def is_url(path) -> bool:
    return URL in str(path)


def read_bytes(path) -> bytes:
    """The whole of a file. Raises OSError, FileNotFoundError among them, as the file system does."""
    if not is_url(path):
        return Path(path).read_bytes()
    system, inner = _system(path)
    return system.cat_file(inner)


def write_bytes(path, content: bytes):
    """Write a file, making its folders; an interrupted write leaves what was there."""
    if is_url(path):
        system, inner = _system(path)
        system.makedirs(inner.rpartition("/")[0], exist_ok=True)
        system.pipe_file(inner, content)
        return
    path = Path(path)
    with folders_above(path), whole(path) as draft:
        draft.write_bytes(content)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A draft of `path`, for a file that takes its place when the block ends, and is removed if the block fails."""
    draft = draft_of(path)
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """A hidden name beside `path`, of the same suffix. Drafts that killed processes left there are removed."""
    words = [glob.escape(each) for each in (path.stem, path.suffix)]
    with suppress(OSError):  # a folder that may be written to and not read
        for left in path.parent.glob(f".{words[0]}.{'[0-9a-f]' * 8}.part{words[1]}"):
            if time.time() - left.stat().st_mtime > OLD:
                left.unlink()
    return path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")


@contextmanager
def folders_above(path: Path) -> Iterator[None]:
    """Makes the folders above a path; those made go again if the block fails. Raises OSError."""
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # another run may have put something there by now
                folder.rmdir()
        raise


@contextmanager
def placed(path: Path, what: str = "", refusal: type[SteelyardError] = OptionError) -> Iterator[None]:
    """`folders_above` a file that the block writes, and the error for the user where it cannot. what: a word for it."""
    try:
        with folders_above(path):
            yield
    except OSError as error:
        raise refusal(f"{what} {path} cannot be written: {error.strerror or error}.".lstrip()) from error


def require_folder(out) -> Path:
    """Absolute path of a folder that exists or can be made. Raises OptionError when something else is in its place."""
    out = Path(os.path.realpath(out))
    try:
        existing = next(folder for folder in (out, *out.parents) if folder.exists())
    except OSError as error:  # a name the file system cannot have
        raise OptionError(f"Output folder {out} cannot be made: {error.strerror}. Choose another folder.") from error
    if not existing.is_dir():
        raise OptionError(f"Output folder {out} cannot be made: {existing} is a file. Choose another folder.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise OptionError(f"Output folder {out} cannot be written: no permission in {existing}. Choose another folder.")
    return out


def require_report_folder(out) -> Path:
    """The same of a folder for a report, before the work that it is of. Raises OptionError, also without the libraries
    that draw reports."""
    require_extra("Writing a report", "jinja2", "plotly")
    return require_folder(out)


@contextmanager
def temporary_files() -> Iterator[list[Path]]:
    """A list of files that are gone afterwards, whatever happens."""
    names: list[Path] = []
    try:
        yield names
    finally:
        for name in names:
            name.unlink(missing_ok=True)


def join(folder, *names: str) -> str:
    """A path below a folder or URL."""
    return "/".join([str(folder).rstrip("/"), *names]) if is_url(folder) else str(Path(folder, *names))


def exists(path) -> bool:
    if not is_url(path):
        return Path(path).exists()
    system, inner = _system(path)
    return system.exists(inner)


def size_and_version(path) -> tuple[int, str]:
    """Bytes of a file, and a word that changes when its content may have: nanoseconds, an entity tag or a date."""
    if not is_url(path):
        state = Path(path).stat()
        if not Path(path).is_dir():
            return state.st_size, str(state.st_mtime_ns)
        parts = sorted(part for part in Path(path).iterdir() if part.is_file())  # a ROS 2 bag is a folder
        return sum(part.stat().st_size for part in parts), ",".join(str(part.stat().st_mtime_ns) for part in parts)
    system, inner = _system(path)
    about = system.info(inner)
    stamp = next(
        (about[key] for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified", "created") if key in about), ""
    )
    return int(about["size"]), str(stamp)


def find(pattern: str) -> list[str]:
    """Files and folders that match a glob pattern (`**` for any depth), sorted by name."""
    if not is_url(pattern):
        return sorted(glob.glob(str(pattern), recursive=True))  # noqa: PTH207  patterns may be absolute
    system, inner = _system(pattern)
    return sorted(system.unstrip_protocol(each) for each in system.glob(inner))


@contextmanager
def local_copy(path) -> Iterator[Path]:
    """A path of this machine with the content of `path`: itself, or a temporary copy of what a URL names."""
    if not is_url(path):
        yield Path(path)
        return
    system, inner = _system(path)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / inner.rstrip("/").rpartition("/")[2]
        system.get(inner, str(copy), recursive=system.isdir(inner))
        yield copy


def _system(path):
    """fsspec's file system of a URL, and the path inside it. Raises OptionError without fsspec or for unknown ones."""
    with extra(f"{path} is a URL; reading it"):
        import fsspec
    try:
        return fsspec.core.url_to_fs(str(path))
    except (ImportError, ValueError) as error:
        raise OptionError(f"{path} cannot be reached: {error}") from error


class NewerFormat(UserWarning):
    """A file was written by a newer version, and what this one does not know in it was left aside."""


def require_readable(found, expected: str, path, error: type[SteelyardError]):
    """Check the format that a file states against the one that is read here.

    expected: a name with major and minor, `steelyard information 1.1`; found: what the file says ("1" is 1.0). Warns
    NewerFormat for a newer minor version; raises `error` for another name or a newer major one.
    """
    name, major, minor = _parsed(expected)
    given = _parsed(found)
    if given[0] != name:
        raise error(f"{path} has format '{found}'; expected '{expected}'.")
    if given[1] > major:
        raise error(
            f"{path} has format '{found}'; this version reads {name} up to version {major}. Upgrade steelyard to read "
            "it."
        )
    if given[1:] > (major, minor):
        warnings.warn(
            f"{path} has format '{found}', newer than '{expected}': fields that this version does not know are left "
            "aside.",
            NewerFormat,
            stacklevel=3,
        )


def _parsed(text) -> tuple[str, int, int]:
    """Name, major and minor; an empty name for anything else."""
    match = re.fullmatch(r"(steelyard [a-z ]+) (\d+)(?:\.(\d+))?", str(text))
    return ("", 0, 0) if match is None else (match[1], int(match[2]), int(match[3] or 0))
