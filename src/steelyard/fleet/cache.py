"""Finished work in a folder or at a URL, by fingerprint: what a killed run has done, the next one reads.

`KEEP/parts/ab/abcdef....npz` holds the sums of a partition, `KEEP/refused/ab/abcdef....json` why one was refused;
docs/files.md describes both.
"""

import json
from dataclasses import asdict
from typing import Any

from steelyard import storage
from steelyard.errors import FitError
from steelyard.fleet.evidence import Evidence, Fitness
from steelyard.fleet.partitions import FORMAT, FleetPart, Head, Samples
from steelyard.information.files import npz_bytes, packed, read_npz, require_shape, unpacked
from steelyard.information.gram import Squares
from steelyard.model import Robot
from steelyard.storage import require_readable

REFUSED = "steelyard refusal 1.0"
SUMS = ("gram", "moment", "energy", "counts")  # of the held-out samples, which share the rest with the fitted ones
HELD = "held_"


def part_path(keep, key: str) -> str:
    return storage.join(keep, "parts", key[:2], f"{key}.npz")


def refusal_path(keep, key: str) -> str:
    return storage.join(keep, "refused", key[:2], f"{key}.json")


def save_part(part: FleetPart, path):
    """Write the sums of a partition."""
    about, arrays = packed(part.fitted)
    head = part.head
    about |= {
        "format": FORMAT,
        "samples": asdict(head.samples),
        "findings": head.findings,
        "seconds": head.seconds,
        "unexplained": head.fitness.unexplained,
        "inflation": head.fitness.inflation,
    }
    arrays |= {HELD + name: getattr(part.held, name) for name in SUMS}
    arrays |= {"precision": head.evidence.precision, "pull": head.evidence.moment, "noise": head.fitness.noise}
    storage.write_bytes(path, npz_bytes(about, arrays))


def load_part(path, robot: Robot) -> FleetPart:
    """Read the sums of a partition. Raises FitError for another robot, another file or a newer major version."""
    from dataclasses import replace

    about, arrays = read_npz(path, FORMAT, "the sums of a run")
    fitted = unpacked(about, arrays, robot, path)
    try:
        for name, expected in {HELD + name: getattr(fitted, name) for name in SUMS}.items():
            require_shape(name, arrays[name], expected.shape)
        sums = {name: arrays[HELD + name] for name in SUMS}
        held = replace(fitted, squares=Squares.of(sums.pop("gram")), **sums)
        return FleetPart(_head(about, arrays, fitted.basis.count, len(fitted.group_names)), fitted, held)
    except (KeyError, TypeError, ValueError) as error:
        raise FitError(
            f"{path} does not hold the whole sums of a run ({type(error).__name__}: {error}). Remove it, and they are "
            "computed again."
        ) from error


def _head(about: dict[str, Any], arrays, count: int, groups: int) -> Head:
    for name, shape in {"precision": (count, count), "pull": (count,), "noise": (groups,)}.items():
        require_shape(name, arrays[name], shape)
    return Head(
        Samples(**{name: int(about["samples"][name]) for name in ("read", "fitted", "held")}),
        Evidence(arrays["precision"], arrays["pull"]),
        Fitness(arrays["noise"], float(about["unexplained"]), float(about["inflation"])),
        tuple(map(str, about["findings"])),
        float(about["seconds"]),
    )


def save_refusal(path, kind: str, reason: str):
    """Write why a log was refused: it will be again, as long as nothing changes."""
    text = json.dumps({"format": REFUSED, "kind": kind, "reason": reason}, ensure_ascii=False)
    storage.write_bytes(path, text.encode())


def load_refusal(path) -> tuple[str, str]:
    """Kind and reason. Raises FitError for another file or a newer major version."""
    try:
        about = json.loads(storage.read_bytes(path))
        found, kind, reason = about["format"], about["kind"], about["reason"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FitError(f"{path} does not say why a log was refused ({error}).") from error
    require_readable(found, REFUSED, path, FitError)
    return kind, reason
