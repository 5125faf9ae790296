"""What is known besides the data: masses, fixed and tied bodies, bounds, as words, as Python values and as constraints.

A piece of knowledge is written in three ways: `link7=0.73` on the command line and in a `Job`, `{"link7": 0.73}` in
Python, and labelled rows in a fit (paper B, sections IV and V). `knowledge_of` reads the options of a fit; the sets
that hold a body's mass are in `fit.volumes`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.fit.constraints import Constraint
from steelyard.fit.prior import REGULARIZERS, Regularizer, consistent_prior, effect_scale
from steelyard.fit.volumes import GEOMETRY, OTHERS, WORDS, around_prior, body_constraints, volumes
from steelyard.fit.whitening import known_noise
from steelyard.inertia import Ellipsoid, pseudo
from steelyard.inertia.body_set import moments
from steelyard.information import Information
from steelyard.model import Robot
from steelyard.model.side import read_known, side_path
from steelyard.model.side_known import SideKnown as SideFacts
from steelyard.terms import ParameterLayout

MIRRORS = ("x", "y", "z")
PARTS = ("mass", "com", "inertia")
MASS_FORM = "expected LINK=KG, LINK1+LINK2=KG for their sum, or all=KG for the whole robot; such as link7=0.73"
FIX_FORM = "expected LINK=all, or LINK= and any of mass,com,inertia with commas; such as link7=mass,com"
TIE_FORM = (
    "expected LEFT=RIGHT for equal links, or LEFT=RIGHT:y for mirror images along the y axis (or x, z) of their frames"
)


@dataclass(frozen=True)
class Tied:
    """Two bodies with the same parameters in their own frames, or mirror images of each other.

    mirror: "x", "y" or "z", the axis of the body frames normal to the mirror plane; None for identical bodies.
    """

    first: str
    second: str
    mirror: str | None = None


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a fit takes as known besides the data."""

    prior: np.ndarray  # (nb, 10) consistent inertial parameters that the fit stays near
    constraints: tuple[Constraint, ...]  # equalities first
    notes: tuple[str, ...]  # what was assumed or repaired
    regularizer: Regularizer  # and `weight`: how the prior counts
    weight: float
    noise: np.ndarray | None = None  # (g,) standard deviations of the row groups where they are known [N m or N]
    lower_bounds: np.ndarray | None = None  # (p,) of friction and armature, -inf where there is none

    def without_margins(self) -> "Knowledge":
        """Without the margins that keep bodies off the border: an entropic cost does, however near data drives them."""
        return replace(self, constraints=tuple(each for each in self.constraints if not each.definite))


@dataclass(frozen=True, eq=False)
class Known:
    """All that a fit is told besides the data: the options of `fit.consistent`.

    Attributes:
        prior: a Robot or (nb, 10) array, the model's own values by default; repaired where it is not consistent, and
            noted.
        within: sets that hold a body's mass, by name: an `Ellipsoid`, a list of ellipsoids (their union), or any set of
            `sy.inertia`; others are physically consistent (`J >= eps J0`). "geometry" stands
            for an ellipsoid around what the model file shows of a body: within="geometry" for all bodies, or
            {"all": "geometry", "link3": ellipsoid, "link4": "consistent"}; bodies of which nothing is shown are noted.
        centers: ellipsoids that hold a body's centre of mass, by name, beside its set of `within`.
        masses: known masses [kg], {"link1": 2.5, ("link2", "link3"): 7.0, "all": 18.0}.
        fixed: what keeps the prior's values, {"link1": "mass", "link2": ("com", "inertia"), "link3": "all"}.
        tied: bodies that are equal or mirrored, see `Tied`.
        bounds: {"joint1.viscous": (0, 5), "offset": (-1, 1)}; viscous and Coulomb friction and armature are not
            negative unless bounds say so.
        regularizer: "pullback" (quadratic, coordinate invariant), "entropic" (its barrier: never on the boundary) or
            "euclidean" (on theta in SI units, beside a pullback prior of weight 1e-8: to SI units a body of a gram
            weighs nothing).
        weight: how much the prior counts; with 1 like one standard deviation for a relative change of one in every
            second moment.
        noise: (g,) standard deviations of the row groups where they are known [N m or N], used as they are.
    """

    prior: Any = None
    within: str | Mapping[str, object] | None = None
    centers: Mapping[str, Ellipsoid] | None = None
    masses: Mapping | None = None
    fixed: Mapping[str, str | Iterable[str]] | None = None
    tied: Iterable[Tied] = ()
    bounds: Mapping[str, tuple[float, float]] | None = None
    regularizer: str = "pullback"
    weight: float = 1.0
    noise: Any = None

    def of_model(self, info: Information) -> "Known":
        """The same with what the model's files know, where the Information brings that."""
        if not info.model_facts or info.robot is None:
            return self
        source = info.robot.source
        side = None if source is None else side_path(source.path)
        told = {name: given for name in FACTS if (given := getattr(self, name))}
        file, rotors = side if side is not None and side.is_file() else None, bool(info.layout.rotor_names)
        return replace(self, **model_facts(info.robot, file, rotors=rotors, **told))


TOLD_NOTHING = Known()
FACTS = ("within", "centers", "masses", "fixed", "tied")  # of a Known, that the files of a model may state too


def knowledge_of(info: Information, known: Known) -> Knowledge:
    """What a fit is told, checked and read. Raises OptionError and what `fit.build` raises."""
    size, noise = np.ones(info.layout.size), known_noise(info, known.noise)
    size[info.layout.inertial.stop :] = effect_scale(info)
    lower, upper = effect_bounds(info.layout, known.bounds or {})
    bodies = knowledge_of_bodies(info.robot, info.layout, known)
    constraints = (*bodies.constraints, *bound_constraints(info.layout, lower, upper, size))
    return replace(bodies, constraints=constraints, noise=noise, lower_bounds=lower)


def knowledge_of_bodies(robot: Robot | None, layout: ParameterLayout, known: Known) -> Knowledge:
    """`knowledge_of` without what concerns friction and data."""
    if known.regularizer not in REGULARIZERS:
        raise OptionError(f"Unknown regularizer {known.regularizer!r}. Choose from {choices(REGULARIZERS)}.")
    if not (np.isfinite(known.weight) and known.weight > 0):
        raise OptionError(f"weight is a positive number (it decides what the data leaves open); got {known.weight!r}.")
    fixed, tied = known.fixed or {}, tuple(known.tied)
    theta0, notes = consistent_prior(known.prior, robot, len(layout.bodies))
    held = around_prior(volumes(known.within, robot), theta0, layout.bodies, fixed)
    _require_bodies(layout, replace(known, tied=tied), held.sets)
    constraints = (
        *mass_constraints(layout, known.masses or {}),
        *fixed_constraints(layout, theta0, fixed),
        *tied_constraints(layout, theta0, tied),
        *body_constraints(layout, theta0, held, known.centers or {}),
    )
    return Knowledge(theta0, constraints, (*notes, *held.notes), REGULARIZERS[known.regularizer], known.weight)


def _require_bodies(layout: ParameterLayout, known: Known, sets: Iterable[str]):
    """Raise OptionError for knowledge about a body that there is not. sets: names of `within`."""
    masses = [(names,) if isinstance(names, str) else names for names in known.masses or () if names != "all"]
    named = {
        "masses": [name for names in masses for name in names],
        "fixed": known.fixed or (),
        "tied": [name for tie in known.tied if isinstance(tie, Tied) for name in (tie.first, tie.second)],
        "within": sets,
        "centers": known.centers or (),
    }
    for option, names in named.items():
        for name in names:
            if name not in layout.bodies:
                raise OptionError(f"{option}: no body '{name}'; there are {choices(layout.bodies)}.")


def equality(label: str, A, b) -> Constraint:
    """`A x = b`. A: (r, p), b: (r,)."""
    return Constraint(label, A, np.zeros((len(b), 0)), b, (("zero", len(b)),))


def model_facts(
    robot: Robot, side: Path | None, *, rotors: bool, within=GEOMETRY, centers=None, masses=None, fixed=None, tied=()
) -> dict:
    """What the files of a model know of its bodies, as options of `consistent`: geometry and side file; what else is
    known counts more. rotors: whether they are bodies of the fit. Raises OptionError for another word, ModelError for a
    side file."""
    if isinstance(within, str) and within not in WORDS:
        raise OptionError(f"within is {within!r}. Choose from {choices(WORDS)}.")
    known = SideFacts() if side is None else read_known(side, robot)
    own = {OTHERS: within} if isinstance(within, str) else within
    known = known if rotors else known.without_rotors(robot)
    return {
        "within": {OTHERS: GEOMETRY} | known.ellipsoids | own,
        "centers": known.centers | (centers or {}),
        "masses": known.masses | (masses or {}),
        "fixed": known.fixed | (fixed or {}),
        "tied": tuple(dict.fromkeys((*(Tied(*tie) for tie in known.tied), *tied))),
    }


def masses_from(words: Iterable[str]) -> dict:
    """Known masses {"link1": 2.5, ("link2", "link3"): 7.0} from words: `link1=2.5`, `link2+link3=7`. Raises
    OptionError."""
    found = {}
    for word in words:
        names, number = _split(word, "mass", MASS_FORM)
        try:
            mass = float(number)
        except ValueError:
            raise OptionError(f"mass '{word}': '{number}' is no number of kilograms; {MASS_FORM}.") from None
        if not 0 < mass < float("inf"):
            raise OptionError(f"mass '{word}': a known mass is positive and finite; {MASS_FORM}.")
        links = tuple(name.strip() for name in names.split("+"))
        if not all(links):
            raise OptionError(f"mass '{word}': a link's name is missing beside '+'; {MASS_FORM}.")
        _add(found, links[0] if len(links) == 1 else links, mass, f"mass '{word}'")
    return found


def mass_words(masses: Mapping | Iterable[str]) -> tuple[str, ...]:
    """The words of known masses; words stay as they are."""
    if not isinstance(masses, Mapping):
        return _words(masses)
    return tuple(f"{n if isinstance(n, str) else '+'.join(n)}={mass}" for n, mass in masses.items())


def mass_constraints(layout: ParameterLayout, masses: Mapping) -> list[Constraint]:
    """Known masses: {"link1": 2.5} of a body, {("link1", "link2"): 7.0} of several, {"all": 18.0} of the whole."""
    made = []
    for names, mass in masses.items():
        if not (isinstance(mass, int | float | np.floating) and np.isfinite(mass) and mass > 0):
            raise OptionError(f"masses[{names!r}] is a positive number of kilograms; got {mass!r}.")
        bodies = layout.bodies if names == "all" else (names,) if isinstance(names, str) else tuple(names)
        row = np.zeros((1, layout.size))
        for name in bodies:
            row[0, layout.body(layout.bodies.index(name)).start] = 1.0
        title = "all bodies together" if names == "all" else " + ".join(bodies)
        made.append(equality(f"mass of {title} is {mass:g} kg", row / float(mass), np.ones(1)))
    return made


def fixed_from(words: Iterable[str]) -> dict[str, str | tuple[str, ...]]:
    """What keeps the model's values, {"link2": ("mass", "com"), "link3": "all"}, from words: `link2=mass,com`,
    `link3=all`. Raises OptionError."""
    found = {}
    for word in words:
        name, listed = _split(word, "fix", FIX_FORM)
        parts = tuple(part.strip() for part in listed.split(","))
        if parts != ("all",) and any(part not in PARTS for part in parts):
            raise OptionError(f"fix '{word}': {FIX_FORM}.")
        _add(found, name, "all" if parts == ("all",) else parts, f"fix '{word}'")
    return found


def fixed_words(fixed: Mapping | Iterable[str]) -> tuple[str, ...]:
    """The words of what keeps the model's values; words stay as they are."""
    if not isinstance(fixed, Mapping):
        return _words(fixed)
    return tuple(f"{name}={parts if isinstance(parts, str) else ','.join(parts)}" for name, parts in fixed.items())


def fixed_constraints(layout: ParameterLayout, theta0, fixed: Mapping[str, str | Iterable[str]]) -> list[Constraint]:
    """Parts of bodies that keep the prior's values: "mass", "com", "inertia" (about it), several, or "all"."""
    made = []
    for name, parts in fixed.items():
        i = layout.bodies.index(name)
        parts = PARTS if parts == "all" else (parts,) if isinstance(parts, str) else tuple(parts)
        unknown = [part for part in parts if part not in PARTS]
        if unknown or not parts:
            raise OptionError(f"fixed['{name}'] lists {choices((*PARTS, 'all'))}; got {unknown or 'nothing'}.")
        if "inertia" in parts and "com" not in parts:
            raise OptionError(
                f"fixed['{name}']: the inertia about the centre of mass can be kept only where the centre of mass is "
                "kept too (it is not a linear condition otherwise). Give ('com', 'inertia')."
            )
        rows, b = _fixed_rows(theta0[i], parts)
        A = np.zeros((len(rows), layout.size))
        A[:, layout.body(i)] = rows
        made.append(equality(f"{name}: {', '.join(parts)} as in the prior", A, b))
    return made


def _fixed_rows(theta, parts) -> tuple[np.ndarray, np.ndarray]:
    """Rows (r, 10) and right-hand side of what stays, relative to the prior's own numbers."""
    mass, size, E = theta[0], _sizes(theta), np.eye(10)
    rows, b = [], []
    for part in ("mass", "com", "inertia"):
        if part not in parts:
            continue
        if part == "mass":
            rows.append(E[:1] / mass)
            b.append(np.ones(1))
        elif part == "com":  # h = m c
            rows.append((E[1:4] - np.outer(theta[1:4] / mass, E[0])) / size[1:4, None])
            b.append(np.zeros(3))
        else:  # I = Ic + m (|c|^2 1 - c c^T) with c fixed
            point = pseudo.to_parameters(np.outer(*[np.append(theta[1:4] / mass, 1.0)] * 2))[4:]
            rows.append((E[4:] - np.outer(point, E[0])) / size[4:, None])
            b.append((theta[4:] - mass * point) / size[4:])
    return np.concatenate(rows), np.concatenate(b)


def tied_from(words: Iterable[str]) -> tuple[Tied, ...]:
    """Ties of links from words: `left=right`, `left=right:y`. Raises OptionError."""
    found = []
    for word in words:
        first, second = _split(word, "tie", TIE_FORM)
        name, colon, mirror = second.rpartition(":")
        if not colon:
            name, mirror = second, None
        if not name or (colon and mirror not in MIRRORS):
            raise OptionError(f"tie '{word}': {TIE_FORM}.")
        found.append(Tied(first, name, mirror))
    return tuple(found)


def tied_words(tied: Iterable[Tied | str]) -> tuple[str, ...]:
    """The words of ties; words stay as they are."""
    if isinstance(tied, str):
        return (tied,)
    return tuple(
        each if isinstance(each, str) else f"{each.first}={each.second}" + (f":{each.mirror}" if each.mirror else "")
        for each in tied
    )


def tied_constraints(layout: ParameterLayout, theta0, tied: Iterable[Tied]) -> list[Constraint]:
    """Bodies that are equal to others, or their mirror images."""
    made = []
    for tie in tied:
        if not isinstance(tie, Tied) or (tie.mirror is not None and tie.mirror not in MIRRORS):
            raise OptionError(f"tied lists Tied(first, second, mirror='x'|'y'|'z'|None); got {tie!r}.")
        first, second = (layout.bodies.index(name) for name in (tie.first, tie.second))
        if first == second:
            raise OptionError(f"tied: '{tie.first}' is tied to itself.")
        size = np.maximum(_sizes(theta0[first]), _sizes(theta0[second]))[:, None]
        A = np.zeros((10, layout.size))
        A[:, layout.body(first)] = _mirrored(tie.mirror) / size
        A[:, layout.body(second)] = -np.eye(10) / size
        how = "equals" if tie.mirror is None else f"is the {tie.mirror} mirror image of"
        made.append(equality(f"{tie.second} {how} {tie.first}", A, np.zeros(10)))
    return made


def _mirrored(mirror: str | None) -> np.ndarray:
    """(10, 10) map of a body's parameters to its mirror image's."""
    S = np.diag([*(-1.0 if axis == mirror else 1.0 for axis in MIRRORS), 1.0])
    return pseudo.to_parameters(S @ moments() @ S).T


def _sizes(theta) -> np.ndarray:
    """(10,) typical sizes of a body's parameters: mass, mass times extent, mass times extent squared."""
    J = pseudo.to_matrix(theta)
    extent = np.sqrt(np.trace(J[:3, :3]) / theta[0])
    return theta[0] * np.array([1.0] + [extent] * 3 + [extent**2] * 6)


def effect_bounds(layout: ParameterLayout, bounds: Mapping[str, tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (p,) of friction, armature and extras, infinite where free, by term ("viscous") or,
    counting more, by column ("joint3.viscous"); what cannot be negative is not unless bounds say so."""
    lower, upper = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    lower[layout.nonnegative] = 0.0
    names = layout.names
    for name, pair in sorted(bounds.items(), key=lambda item: item[0] in names):
        columns = [names.index(name)] if name in names else layout.of_terms([name])
        columns = [column for column in columns if column >= layout.inertial.stop]
        if not columns:
            known = (*layout.terms, *names[layout.inertial.stop :])
            raise OptionError(f"bounds: no friction term or column '{name}'; there are {choices(known) or 'none'}.")
        low, high = (-np.inf if pair[0] is None else pair[0], np.inf if pair[1] is None else pair[1])
        if not low <= high:
            raise OptionError(f"bounds['{name}'] are (lower, upper) with lower <= upper; got {pair!r}.")
        lower[columns], upper[columns] = low, high
    return lower, upper


def bound_constraints(layout: ParameterLayout, lower, upper, size) -> list[Constraint]:
    """Bounds of single columns of typical size (p,), one constraint a side, or an equality where both are the same."""
    made = []
    for column in np.flatnonzero(lower == upper):
        row = np.eye(layout.size)[column : column + 1] / size[column]
        label = f"{layout.names[column]} is {lower[column]:g} {layout.units[column]}"
        made.append(equality(label, row, lower[column : column + 1] / size[column]))
    for bound, sign, word in ((lower, 1.0, "at least"), (upper, -1.0, "at most")):
        for column in np.flatnonzero(np.isfinite(bound) & (lower != upper)):
            row = np.zeros((1, layout.size))
            row[0, column] = -sign / size[column]
            label = f"{layout.names[column]} {word} {bound[column]:g} {layout.units[column]}"
            b = np.array([-sign * bound[column] / size[column]])
            made.append(Constraint(label, row, np.zeros((1, 0)), b, (("nonnegative", 1),)))
    return made


def _words(words) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


def _split(word: str, option: str, form: str) -> tuple[str, str]:
    left, equals, right = word.partition("=")
    if not (equals and left.strip() and right.strip()):
        raise OptionError(f"{option} '{word}': {form}.")
    return left.strip(), right.strip()


def _add(found: dict, key, value, where: str):
    if key in found:
        raise OptionError(f"{where}: already given above. Say it once.")
    found[key] = value
