"""Mutation of the members of a zip archive, so that inputs get past its check sums."""

import io
import random
import zipfile
from collections.abc import Callable

RAW = 0.2  # share of the mutations that are of the archive as bytes


def mutated(data: bytes, max_size: int, seed: int, mutate: Callable[[bytes, int], bytes]) -> bytes:
    """The archive with one member mutated, stored without compression; what is no archive is mutated as bytes."""
    chance = random.Random(seed)
    members = _members(data)
    if not members or chance.random() < RAW:
        return mutate(data, max_size)
    which = chance.choice(list(members))
    spare = max(64, max_size - len(data))
    members[which] = bytes(mutate(members[which], len(members[which]) + spare))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()[:max_size]


def _members(data: bytes) -> dict[str, bytes]:
    """Content by name; empty for what is no whole archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # zipfile raises whatever damage makes it stumble over
        return {}
