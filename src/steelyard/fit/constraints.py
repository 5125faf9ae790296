"""What is known about the bodies, as labelled cone constraints on the parameters (paper B, sections IV and V).

Each piece of knowledge becomes one `Constraint` with a label in words, so that a contradiction can be named. Inequality
rows are divided by the size of what they bound: a tolerance of 1e-9 then means the same for a finger and for a torso.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.inertia import MOMENTS, BodySet, ConeRows, Ellipsoid, EllipsoidRealizable, UnionRealizable, cones, pseudo
from steelyard.terms import ParameterLayout

EPS = 1e-5  # smallest allowed eigenvalue of a pseudo-inertia, relative to the prior's
CAN_EXIST = "is physically consistent (a body that can exist)"
MIRRORS = {"x": (-1.0, 1.0, 1.0), "y": (1.0, -1.0, 1.0), "z": (1.0, 1.0, -1.0)}
PARTS = ("mass", "com", "inertia")


@dataclass(frozen=True, eq=False)
class Constraint:
    """Rows `b - A x - A_aux aux in K` on all parameters x (p,) in SI units, and what they say in words.

    definite: whether this is `J >= EPS J0` of a body, which an entropic cost implies.
    """

    label: str
    A: np.ndarray
    A_aux: np.ndarray
    b: np.ndarray
    cones: tuple[tuple[str, int], ...]
    definite: bool = False

    @property
    def equality(self) -> bool:
        """Whether this only states equalities among the parameters."""
        return all(kind == "zero" for kind, _ in self.cones) and self.A_aux.shape[1] == 0

    def depth(self, x, aux) -> float:
        """How far inside its cones a point lies: negative outside. Equalities count by their error."""
        return float(cones.smallest_eigenvalues(self.b - self.A @ x - self.A_aux @ aux, self.cones).min())


@dataclass(frozen=True)
class Tied:
    """Two bodies with the same parameters in their own frames, or mirror images of each other.

    mirror: "x", "y" or "z", the axis of the body frames normal to the mirror plane; None for identical bodies.
    """

    first: str
    second: str
    mirror: str | None = None


def body_constraints(layout: ParameterLayout, theta0, within: Mapping[str, object], geometric=()) -> list[Constraint]:
    """Each body in its set of `within` (a BodySet, an Ellipsoid, or several ellipsoids for their union).

    geometric: names of bodies whose set is their geometry in the model. Bodies without one are consistent. Wherever a
    set asks for `J > 0`, that is written as `J >= EPS J0` with the prior J0, which is free of units.
    """
    for name in within:
        _body(layout, name, "within")
    made = []
    for i, (name, theta) in enumerate(zip(layout.bodies, theta0, strict=True)):
        body_set = as_set(within[name], name) if name in within else None
        definite, rest = (True, None) if body_set is None else _set_rows(body_set, theta[0])
        if definite:
            label = f"{name} {CAN_EXIST}"
            made.append(_on_body(layout, i, _near_prior(theta), label, definite=True))
        else:  # no mass at all would satisfy such a set
            rows = cones.rows(np.eye(10)[:1] / theta[0], [("nonnegative", 1)], np.array([-EPS]))
            made.append(_on_body(layout, i, rows, f"mass of {name} is positive"))
        if rest is not None:
            what = "inside its geometry" if name in geometric else f"in its {type(body_set).__name__}"
            made.append(_on_body(layout, i, rest, f"{name} is {what}"))
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


def mass_constraints(layout: ParameterLayout, masses: Mapping) -> list[Constraint]:
    """Known masses: {"link1": 2.5} of a body, {("link1", "link2"): 7.0} of several, {"all": 18.0} of the whole."""
    made = []
    for names, mass in masses.items():
        if not (isinstance(mass, int | float | np.floating) and np.isfinite(mass) and mass > 0):
            raise OptionError(f"masses[{names!r}] is a positive number of kilograms; got {mass!r}.")
        bodies = layout.bodies if names == "all" else (names,) if isinstance(names, str) else tuple(names)
        row = np.zeros((1, layout.size))
        for name in bodies:
            row[0, layout.body(_body(layout, name, "masses")).start] = 1.0
        title = "all bodies together" if names == "all" else " + ".join(bodies)
        made.append(_equal(f"mass of {title} is {mass:g} kg", row / float(mass), np.ones(1)))
    return made


def fixed_constraints(layout: ParameterLayout, theta0, fixed: Mapping[str, str | Iterable[str]]) -> list[Constraint]:
    """Parts of bodies that keep the prior's values: "mass", "com", "inertia" (about the centre of mass), several, or
    "all".
    """
    made = []
    for name, parts in fixed.items():
        i = _body(layout, name, "fixed")
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
        made.append(_equal(f"{name}: {', '.join(parts)} as in the prior", A, b))
    return made


def tied_constraints(layout: ParameterLayout, theta0, tied: Iterable[Tied]) -> list[Constraint]:
    """Bodies that are equal to others, or their mirror images."""
    made = []
    for tie in tied:
        if not isinstance(tie, Tied) or (tie.mirror is not None and tie.mirror not in MIRRORS):
            raise OptionError(f"tied lists Tied(first, second, mirror='x'|'y'|'z'|None); got {tie!r}.")
        first, second = (_body(layout, name, "tied") for name in (tie.first, tie.second))
        if first == second:
            raise OptionError(f"tied: '{tie.first}' is tied to itself.")
        size = np.maximum(_sizes(theta0[first]), _sizes(theta0[second]))[:, None]
        A = np.zeros((10, layout.size))
        A[:, layout.body(first)] = _mirrored(tie.mirror) / size
        A[:, layout.body(second)] = -np.eye(10) / size
        how = "equals" if tie.mirror is None else f"is the {tie.mirror} mirror image of"
        made.append(_equal(f"{tie.second} {how} {tie.first}", A, np.zeros(10)))
    return made


def effect_bounds(layout: ParameterLayout, bounds: Mapping[str, tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (p,) of friction, armature and extras; infinite where free.

    bounds: by term ("viscous") or by column ("joint3.viscous"), the column's own counting more. Parameters that
    cannot be negative are not unless bounds say so.
    """
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
    """Bounds of single columns, one constraint each side and column, or an equality where both sides are the same.

    size: (p,) typical size of each column.
    """
    made = []
    for column in np.flatnonzero(lower == upper):
        row = np.eye(layout.size)[column : column + 1] / size[column]
        label = f"{layout.names[column]} is {lower[column]:g} {layout.units[column]}"
        made.append(_equal(label, row, lower[column : column + 1] / size[column]))
    for bound, sign, word in ((lower, 1.0, "at least"), (upper, -1.0, "at most")):
        for column in np.flatnonzero(np.isfinite(bound) & (lower != upper)):
            row = np.zeros((1, layout.size))
            row[0, column] = -sign / size[column]
            label = f"{layout.names[column]} {word} {bound[column]:g} {layout.units[column]}"
            b = np.array([-sign * bound[column] / size[column]])
            made.append(Constraint(label, row, np.zeros((1, 0)), b, (("nonnegative", 1),)))
    return made


def _near_prior(theta) -> ConeRows:
    """`L^-1 J L^-T >= EPS` with the prior's `J0 = L L^T`."""
    inverse = np.linalg.inv(np.linalg.cholesky(pseudo.to_matrix(theta)))
    relative = inverse @ MOMENTS @ inverse.T
    return cones.rows(cones.triangle(relative).T, [("psd", 4)], -EPS * cones.triangle(np.eye(4)))


def _set_rows(body_set: BodySet, mass: float) -> tuple[bool, ConeRows | None]:
    """Whether a set asks for `J > 0`, and its other rows, divided by the mass where they are homogeneous."""
    whole = _without_equalities(body_set.cone_rows(0.0))
    definite, kept, size = False, [], np.ones(len(whole.b))
    for kind, n, block in whole.blocks():
        if (kind, n) == ("psd", 4) and not whole.A_aux[block].any() and not whole.b[block].any():
            definite = True
            continue
        kept.append((kind, n, block))
        size[block] = 1.0 if whole.b[block].any() else mass
    if not kept:
        return definite, None
    rows = np.concatenate([np.arange(block.start, block.stop) for _, _, block in kept])
    scale = size[rows, None]
    kinds = tuple((kind, n) for kind, n, _ in kept)
    return definite, ConeRows(whole.A_theta[rows] / scale, whole.A_aux[rows] / scale, whole.b[rows] / size[rows], kinds)


def _without_equalities(rows: ConeRows) -> ConeRows:
    """The same set with equalities of auxiliary variables solved for them: these then hold to rounding."""
    blocks = [(kind, n, block) for kind, n, block in rows.blocks()]
    tied = [np.arange(b.start, b.stop) for kind, _, b in blocks if kind == "zero" and rows.A_aux[b].any()]
    if not tied:
        return rows
    tied = np.concatenate(tied)
    inverse, rank = np.linalg.pinv(rows.A_aux[tied]), len(tied)
    free = np.linalg.svd(rows.A_aux[tied])[2][rank:].T
    kept = [(kind, n, b) for kind, n, b in blocks if not np.isin(b.start, tied)]
    index = np.concatenate([np.arange(b.start, b.stop) for _, _, b in kept])
    through = rows.A_aux[index] @ inverse  # aux = inverse (b_tied - A_tied theta) + free v
    return ConeRows(
        rows.A_theta[index] - through @ rows.A_theta[tied],
        rows.A_aux[index] @ free,
        rows.b[index] - through @ rows.b[tied],
        tuple((kind, n) for kind, n, _ in kept),
    )


def _on_body(layout, i: int, rows: ConeRows, label: str, *, definite: bool = False) -> Constraint:
    A = np.zeros((len(rows.b), layout.size))
    A[:, layout.body(i)] = rows.A_theta
    return Constraint(label, A, rows.A_aux, rows.b, rows.cones, definite)


def _equal(label: str, A, b) -> Constraint:
    return Constraint(label, A, np.zeros((len(b), 0)), b, (("zero", len(b)),))


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


def _sizes(theta) -> np.ndarray:
    """(10,) typical sizes of a body's parameters: mass, mass times extent, mass times extent squared."""
    J = pseudo.to_matrix(theta)
    extent = np.sqrt(np.trace(J[:3, :3]) / theta[0])
    return theta[0] * np.array([1.0] + [extent] * 3 + [extent**2] * 6)


def _mirrored(mirror: str | None) -> np.ndarray:
    """(10, 10) map of a body's parameters to its mirror image's."""
    S = np.diag([*(MIRRORS[mirror] if mirror else (1.0, 1.0, 1.0)), 1.0])
    return pseudo.to_parameters(S @ MOMENTS @ S).T


def _body(layout: ParameterLayout, name, option: str) -> int:
    if name not in layout.bodies:
        raise OptionError(f"{option}: no body '{name}'; there are {choices(layout.bodies)}.")
    return layout.bodies.index(name)
