"""Where the mass of bodies may be (`within` of a fit): sets by name, geometry of the model, and their constraints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.cards import MEMBERS
from steelyard.errors import OptionError, choices
from steelyard.fit.constraints import Constraint
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.inertia import (
    ComInEllipsoid,
    Ellipsoid,
    EllipsoidRealizable,
    UnionRealizable,
    cones,
    is_realizable,
    pseudo,
)
from steelyard.inertia.body_set import BodySet, moments
from steelyard.inertia.cones import ConeRows
from steelyard.model import Robot
from steelyard.model.bounding import INFLATE, NOTHING, bounding_ellipsoids
from steelyard.terms import ParameterLayout

CAN_EXIST = "is physically consistent (a body that can exist)"
CONSISTENT, GEOMETRY = WORDS = ("consistent", "geometry")
OTHERS = "all"  # stands for the bodies that are not named, or for all


@dataclass(frozen=True)
class Volumes:
    """sets: what holds a body's mass, by name; geometric: names of those from the model's geometry; notes: what was
    assumed.
    """

    sets: Mapping[str, object]
    geometric: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def volumes(within: str | Mapping[str, object] | None, robot: Robot | None) -> Volumes:
    """Sets of `fit.consistent(within=...)`. Raises OptionError for words that it does not know and geometry of no
    robot, ModelError where the model file can no longer be read.
    """
    given = {OTHERS: within} if isinstance(within, str) else dict(within or {})
    for name, each in given.items():
        if (isinstance(each, str) or name == OTHERS) and not (isinstance(each, str) and each in WORDS):
            where = "within" if name == OTHERS else f"within['{name}']"
            raise OptionError(f"{where} is {each!r}. Words: {choices(WORDS)}; sets and ellipsoids go by body name.")
    others = given.pop(OTHERS, CONSISTENT)
    sets = {name: each for name, each in given.items() if not isinstance(each, str)}
    words = [others, *(each for each in given.values() if isinstance(each, str))]
    if GEOMETRY not in words:
        return Volumes(sets)
    if robot is None:
        raise OptionError("within: a raw regression has no geometry; give sets by body name.")
    unknown = [name for name in given if name not in robot.body_names and isinstance(given[name], str)]
    if unknown:
        raise OptionError(f"within: no body '{unknown[0]}'; there are {choices(robot.body_names)}.")
    meant = [name for name in robot.body_names if name not in sets and given.get(name, others) == GEOMETRY]
    ellipsoids, gaps = bounding_ellipsoids(robot)
    found = {name: ellipsoids[name] for name in meant if name in ellipsoids}
    return Volumes(sets | found, frozenset(found), tuple(_notes(meant, found, gaps)))


def _notes(meant, found, gaps):
    if found:
        yield (
            f"Assumed: the mass of {_counted(len(found), len(meant))} lies inside the geometry that the model shows "
            f"(enclosing ellipsoids, {INFLATE - 1:.0%} larger)."
        )
    missing = [name for name in meant if name not in found]
    if missing and all(gaps[name] == NOTHING for name in missing):
        yield f"Assumed: the mass of {choices(missing)} may lie anywhere, as the model shows none of their geometry."
    elif missing:
        alike: dict[str, list[str]] = {}
        for name in missing:
            alike.setdefault(gaps[name], []).append(name)
        told, rest = list(alike.items())[:MEMBERS], list(alike.values())[MEMBERS:]
        reasons = "; ".join(f"{choices(names)} ({reason})" for reason, names in told)
        if rest:
            more = [name for names in rest for name in names]
            reasons += f"; and {len(more)} more: {choices(more)}"
        yield f"Not bounded by geometry, physically consistent only: {reasons}."


def _counted(some: int, whole: int) -> str:
    if whole == 1:
        return "the one link"
    return f"all {whole} links" if some == whole else f"{some} of {whole} links"


def around_prior(held: Volumes, theta0, bodies: Sequence[str], fixed: Mapping[str, str | Iterable[str]]) -> Volumes:
    """The same for bodies whose own inertia no mass inside their geometry has; one that keeps more than its mass
    (`fixed`) is not bounded: what somebody says counts more than a picture."""
    found = [
        name
        for name, theta in zip(bodies, theta0, strict=True)
        if name in held.geometric and not is_realizable(theta, held.sets[name])
    ]
    free = [name for name in found if name in fixed and fixed[name] != "mass" and tuple(fixed[name]) != ("mass",)]
    notes = list(held.notes)
    if found:
        notes.append(f"The model's own inertia of {choices(found)} cannot come from mass inside its geometry.")
    if free:
        notes.append(f"Values of the model are kept for {choices(free)}: mass may lie outside the geometry there.")
    kept = {name: each for name, each in held.sets.items() if name not in free}
    return Volumes(kept, held.geometric.difference(free), tuple(notes))


def body_constraints(layout: ParameterLayout, theta0, volumes: Volumes, centers: Mapping) -> list[Constraint]:
    """Each body in its set; bodies without one are consistent. And centres of mass in ellipsoids, by body.

    Wherever a set asks for `J > 0`, that is written as `J >= THRESHOLDS.eigenvalue J0` with the prior J0, which is free
    of units.
    """
    made = []
    for i, (name, theta) in enumerate(zip(layout.bodies, theta0, strict=True)):
        body_set = as_set(volumes.sets[name], name) if name in volumes.sets else None
        definite, rest = (True, None) if body_set is None else _set_rows(body_set, theta[0])
        if definite:
            rows, label = _near_prior(theta), f"{name} {CAN_EXIST}"
        else:  # no mass at all would satisfy such a set
            rows = cones.rows(np.eye(10)[:1] / theta[0], [("nonnegative", 1)], np.array([-THRESHOLDS.eigenvalue]))
            label = f"mass of {name} is positive"
        made.append(_on_body(layout, i, rows, label, definite=definite))
        if rest is not None:
            what = "inside its geometry" if name in volumes.geometric else f"in its {type(body_set).__name__}"
            made.append(_on_body(layout, i, rest, f"{name} is {what}"))
    for name, each in centers.items():
        if not isinstance(each, Ellipsoid):
            raise OptionError(f"centers['{name}'] is an Ellipsoid; got {type(each).__name__}.")
        i = layout.bodies.index(name)
        rows = ComInEllipsoid(each).cone_rows(0.0)
        rows = ConeRows(rows.A_theta / theta0[i, 0], rows.A_aux, rows.b, rows.cones)
        made.append(_on_body(layout, i, rows, f"centre of mass of {name} is in its ellipsoid"))
    return made


def as_set(given, name: str) -> BodySet:
    """The BodySet that an entry of `within` means."""
    if isinstance(given, BodySet):
        return given
    if isinstance(given, Ellipsoid):
        return EllipsoidRealizable(given)
    if isinstance(given, Sequence) and given and all(isinstance(each, Ellipsoid) for each in given):
        return UnionRealizable(tuple(given))
    raise OptionError(
        f"within['{name}'] is a set of sy.inertia.sets, an Ellipsoid, or a list of ellipsoids whose union holds the "
        f"body; got {type(given).__name__}."
    )


def _near_prior(theta) -> ConeRows:
    """`L^-1 J L^-T >= THRESHOLDS.eigenvalue` with the prior's `J0 = L L^T`."""
    inverse = np.linalg.inv(np.linalg.cholesky(pseudo.to_matrix(theta)))
    relative = inverse @ moments() @ inverse.T
    return cones.rows(cones.triangle(relative).T, [("psd", 4)], -THRESHOLDS.eigenvalue * cones.triangle(np.eye(4)))


def _set_rows(body_set: BodySet, mass: float) -> tuple[bool, ConeRows | None]:
    """Whether a set asks for `J > 0`, and its other rows, divided by the mass where they are homogeneous."""
    whole = _without_equalities(body_set.cone_rows(0.0))
    definite, kept = False, []
    for kind, n, block in whole.blocks():
        if (kind, n) == ("psd", 4) and not whole.A_aux[block].any() and not whole.b[block].any():
            definite = True
            continue
        kept.append((kind, n, block))
    if not kept:
        return definite, None
    rows = whole.only(kept)
    size = np.concatenate(
        [np.full(each.stop - each.start, 1.0 if rows.b[each].any() else mass) for *_, each in rows.blocks()]
    )
    return definite, ConeRows(rows.A_theta / size[:, None], rows.A_aux / size[:, None], rows.b / size, rows.cones)


def _without_equalities(rows: ConeRows) -> ConeRows:
    """The same set with equalities of auxiliary variables solved for them: these then hold to rounding."""
    blocks = [(kind, n, block) for kind, n, block in rows.blocks()]
    tied = [np.arange(b.start, b.stop) for kind, _, b in blocks if kind == "zero" and rows.A_aux[b].any()]
    if not tied:
        return rows
    tied = np.concatenate(tied)
    inverse, rank = np.linalg.pinv(rows.A_aux[tied]), len(tied)
    free = np.linalg.svd(rows.A_aux[tied])[2][rank:].T
    own = rows.only([(kind, n, b) for kind, n, b in blocks if not np.isin(b.start, tied)])
    through = own.A_aux @ inverse  # aux = inverse (b_tied - A_tied theta) + free v
    A_theta, b = own.A_theta - through @ rows.A_theta[tied], own.b - through @ rows.b[tied]
    return ConeRows(A_theta, own.A_aux @ free, b, own.cones)


def _on_body(layout, i: int, rows: ConeRows, label: str, *, definite: bool = False) -> Constraint:
    A = np.zeros((len(rows.b), layout.size))
    A[:, layout.body(i)] = rows.A_theta
    return Constraint(label, A, rows.A_aux, rows.b, rows.cones, definite)
