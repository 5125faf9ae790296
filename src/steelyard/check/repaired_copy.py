"""Repair: a copy of the model with repaired inertials, verified before it appears."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard import storage
from steelyard.check.catalog import BY_CODE, ERRORS, destinations_of, look, repairable, selected
from steelyard.check.inertial_repair import InertialChange, repair_inertials
from steelyard.check.rule import Findings
from steelyard.dynamics import inverse_dynamics
from steelyard.errors import ModelError
from steelyard.identifiable.numeric_rank import robot_states
from steelyard.model import load
from steelyard.model.document import ModelDocument
from steelyard.model.formats import BY_NAME, BY_SUFFIX, opened, read_sketch
from steelyard.model.sketch import Inertial, Sketch
from steelyard.numbers import NEGLIGIBLE

SAMPLES = 200


@dataclass(frozen=True, eq=False)
class Effect:
    """Torques of one degree of freedom over random motions: rms before, and rms of the change, N m or N."""

    joint: str
    before: float
    change: float


def effect(before: Path, after: Path, folders, arguments=()) -> tuple[Effect, ...] | None:
    """Effect of a repair on every degree of freedom; None when one of the files cannot be used as a robot."""
    try:
        old, new = load(before, folders=folders, arguments=arguments), load(after, folders=folders)
    except ModelError:
        return None
    q, v, a = (x.T for x in robot_states(old, SAMPLES, seed=0))
    q = np.clip(q, old.lower, old.upper)
    tau, tau_new = inverse_dynamics(old, q, v, a), inverse_dynamics(new, q, v, a)
    rms, change = (np.sqrt(np.mean(np.square(x), axis=0)) for x in (tau, tau_new - tau))
    return tuple(Effect(*row) for row in zip(old.dof_names, rms.tolist(), change.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Repair:
    """What was written.

    source, path: the model and its repaired copy. files: every file written. changes: one a repaired link, its name in
    `names`. effects: torques before and after a degree of freedom, None when the source cannot be used as a robot.
    remaining: what a second check still finds.
    """

    source: Path
    path: Path
    files: tuple[Path, ...]
    names: tuple[str, ...]
    changes: tuple[InertialChange, ...]
    effects: tuple[Effect, ...] | None
    remaining: Findings

    @property
    def left(self) -> tuple[str, ...]:
        """Codes of findings that remain and that a repair asked for them would repair."""
        rules = (BY_CODE[code] for code in self.remaining.codes)
        return tuple(rule.code for rule in rules if rule.repairs)


def copy_suffix(path: Path) -> str:
    """Suffix of repaired copies of a model: its own, or that of what a xacro file stands for."""
    own = BY_SUFFIX.get(path.suffix.lower())
    return (own and own.copies) or path.suffix


def repair(
    path, out, *, fix: str | Iterable[str] = ERRORS, select=(), ignore=(), folders=(), arguments=(), destination=()
) -> Repair:
    """Write a repaired copy of a model to `out`; the file itself is never changed, all else in it stays byte for byte.

    fix: what is repaired: "errors", which no body can have; "all", warnings too, which a right model may have (a
    counterweight that is not drawn); or rule codes and beginnings of codes. select, ignore: rules that look, as for
    `run`, and so are folders, arguments and destination. The copy of a xacro file is the URDF that it stands for. A
    copy without changes is written when nothing can be repaired. Raises ModelError, with nothing written, for an
    unreadable model and for a result that does not read back as planned.
    """
    path, out = Path(path).absolute(), Path(out).absolute()
    suffix = copy_suffix(path)
    if out.suffix.lower() != suffix.lower() or os.path.isdir(out):  # noqa: PTH112  False for names that cannot be
        raise ModelError(f"{out}: the repaired copy of {path.name} needs a file name that ends in {suffix}.")
    if os.path.exists(out) and out.samefile(path):  # noqa: PTH110
        raise ModelError(f"{out} is the model itself; input files are never changed. Choose another name.")
    destinations = destinations_of(destination)
    rules = selected(select, ignore, destinations)
    wanted = repairable(fix, destinations)
    document = opened(path, folders, arguments)
    allowed, sketch = document.folders, document.sketch()
    repaired, changes = repair_inertials(sketch, rules, wanted)
    _require_finite(sketch, changes)
    inertials = {index: change.after for index, change in changes.items()}
    files = _write(document, sketch, repaired, inertials, out)
    remaining = look(read_sketch(out, folders=allowed), rules)
    names = tuple(sketch.parts[i].name for i in changes)
    effects = effect(path, out, allowed, arguments) if changes else ()
    return Repair(path, out, files, names, tuple(changes.values()), effects, remaining)


def _require_finite(sketch: Sketch, changes: dict[int, InertialChange]):
    for index, change in changes.items():
        if not np.isfinite(change.after.tensor_in_part).all():
            raise ModelError(
                f"{sketch.path}: the inertial of '{sketch.parts[index].name}' is beyond what numbers hold. Correct its "
                "mass."
            )


def _write(
    document: ModelDocument, sketch: Sketch, repaired: Sketch, inertials: dict[int, Inertial], out: Path
) -> tuple[Path, ...]:
    final = document.with_inertials(sketch, inertials, out)
    with storage.placed(out, refusal=ModelError), storage.temporary_files() as temporary:
        trial = storage.draft_of(out)
        for name, content in document.with_inertials(sketch, inertials, trial):
            temporary.append(name)
            name.write_bytes(content)
        _verify(repaired, read_sketch(trial, meshes=False, folders=document.folders), out)
        for (target, content), name in zip(final, temporary, strict=True):
            name.write_bytes(content)
            name.replace(target)
    return tuple(target for target, _ in final)


def _verify(planned: Sketch, found: Sketch, out: Path):
    """Raise ModelError unless every inertial reads back as planned, those of untouched parts included."""
    if [p.name for p in planned.parts] != [p.name for p in found.parts]:
        raise ModelError(f"{out} was not written: it would not read back with each {planned.word} where it was.")
    same = max(NEGLIGIBLE, BY_NAME[planned.format].precision)
    for part, other in zip(planned.parts, found.parts, strict=True):
        if not _same(part.inertial, other.inertial, same):
            raise ModelError(f"{out} was not written: the inertial of '{part.name}' would not read back as planned.")


def _same(a: Inertial | None, b: Inertial | None, same: float) -> bool:
    if a is None or b is None:
        return a is b
    pairs = ((a.mass, b.mass), (a.com, b.com), (a.tensor_in_part, b.tensor_in_part))
    return all(
        np.allclose(x, y, rtol=same, atol=same * float(np.nanmax(np.abs(x), initial=0.0)), equal_nan=True)
        for x, y in pairs
    )
