"""Mutation of the members of a zip archive, past its check sums; and archives that stand for folders."""

import io
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from evidence.parsers import nested

RAW = 0.2  # share of the mutations that are of the archive as bytes


def mutated(data: bytes, max_size: int, seed: int, mutate: Callable[[bytes, int], bytes]) -> bytes:
    """The archive with one member mutated, stored without compression; what is no archive is mutated as bytes.

    Members that hold JSON or XML are mutated as such.
    """
    chance = random.Random(seed)
    members = _members(data)
    if not members or chance.random() < RAW:
        return mutate(data, max_size)
    which = chance.choice(list(members))
    room = len(members[which]) + max(64, max_size - len(data))
    members[which] = bytes(nested.for_name(which)(members[which], room, chance.getrandbits(32), mutate))
    return packed(members)[:max_size]


def packed(members: dict[str, bytes]) -> bytes:
    """An archive of files by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def folder_of(path: Path) -> Path:
    """A folder with the files of an archive; names that lead out of it are left out, as by any unpacker."""
    folder = path.with_name("unpacked")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in _members(path.read_bytes()).items():
        target = folder / name
        if target.resolve().is_relative_to(folder.resolve()) and not target.exists() and "\0" not in name:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            except OSError:  # a name that no file can have
                continue
    return folder


def _members(data: bytes) -> dict[str, bytes]:
    """Content by name; empty for what is no whole archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # zipfile raises whatever damage makes it stumble over
        return {}
