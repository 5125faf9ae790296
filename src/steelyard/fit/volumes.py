"""What `within` of a fit says: sets given by name, and the geometry of the model for the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.errors import OptionError, choices
from steelyard.inertia import is_realizable
from steelyard.model import INFLATE, NOTHING, Robot, bounding_ellipsoids

CONSISTENT, GEOMETRY = WORDS = ("consistent", "geometry")
SHOWN = 4  # reasons why bodies have no volume that are spelled out in a note
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
    asked = [name for name in robot.body_names if name not in sets and given.get(name, others) == GEOMETRY]
    ellipsoids, gaps = bounding_ellipsoids(robot)
    found = {name: ellipsoids[name] for name in asked if name in ellipsoids}
    return Volumes(sets | found, frozenset(found), tuple(_notes(asked, found, gaps)))


def _notes(asked, found, gaps):
    if found:
        yield (
            f"Assumed: the mass of {_counted(len(found), len(asked))} lies inside the geometry that the model shows "
            f"(enclosing ellipsoids, {INFLATE - 1:.0%} larger)."
        )
    missing = [name for name in asked if name not in found]
    if missing and all(gaps[name] == NOTHING for name in missing):
        yield f"Assumed: the mass of {choices(missing)} may lie anywhere, as the model shows none of their geometry."
    elif missing:
        alike: dict[str, list[str]] = {}
        for name in missing:
            alike.setdefault(gaps[name], []).append(name)
        told, rest = list(alike.items())[:SHOWN], list(alike.values())[SHOWN:]
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
    """The same with what it means for bodies whose own inertia, of theta0 (nb, 10), no mass inside their geometry has.

    One that keeps more than its mass (`fixed`) is not bounded: what somebody says counts more than a picture.
    """
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
