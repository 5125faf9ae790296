"""What each column of a regression is: its name, unit and place, and the torque of friction and drive terms.

`TERMS` holds one record a term; `ParameterLayout` has all column arithmetic. Columns stand in the order `[10 per link |
10 per rotor | viscous | coulomb | offset | armature | extras]`, each term with one column per degree of freedom it acts
on; extras are couplings, springs and columns of the user, one by one.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from steelyard.cards import Card
from steelyard.errors import OptionError, choices
from steelyard.namespaces import array_namespace
from steelyard.weighed_columns import NUISANCES, SHAPED_FRICTION, SPRING_UNIT, WEIGHED, Extra

# Half-width of standstill, rad/s or m/s, of Coulomb friction `tanh(v / width)`: near zero speed the sign of a measured
# speed is noise. Blocked cross-validation on real logs (Panda, UR10, TX40) is flat between 0.02 and 0.1.
COULOMB_WIDTH = 0.05


@dataclass(frozen=True)
class Term:
    """A friction or drive term: what each driven degree of freedom adds to its torque, one parameter a degree.

    column: torque per unit of the parameter, function of v, a and the direction of motion (the smoothed sign of v),
    arrays of one shape. rates: derivatives of that torque with v and a, function of v, a, the direction and its slope
    over v. stated: the attribute of a Robot, and of MJCF joints, that keeps the value (URDF has `damping` and, as
    `friction`, `frictionloss`); None where no model file has a place for it. odd: whether the torque changes sign with
    the direction of time; odd torques dissipate, and no motion confuses them with those of bodies.
    """

    name: str  # in options, columns and summaries
    units: tuple[str, str]  # of the parameter where the joint turns and where it slides
    column: Callable[[Any, Any, Any], Any]
    rates: Callable[[Any, Any, Any, Any], tuple[Any, Any]]
    stated: str | None = None
    nonnegative: bool = True  # whether the parameter cannot be negative
    odd: bool = True
    inertial: bool = False  # whether the torque is the rate of a momentum `parameter * v`
    directed: bool = False  # whether the column depends on the direction of motion


def _constant(v, a, direction):
    return array_namespace(v).ones_like(v)


# In the order of their columns. A term is one record here: columns, fits, reports and the command line follow.
TERMS = {
    term.name: term
    for term in (
        Term(
            "viscous",
            units=("N m s/rad", "N s/m"),
            column=lambda v, a, direction: v,
            rates=lambda v, a, direction, slope: (1.0, 0.0),
            stated="damping",
        ),
        Term(
            "coulomb",
            units=("N m", "N"),
            column=lambda v, a, direction: direction,
            rates=lambda v, a, direction, slope: (slope, 0.0),
            stated="frictionloss",
            directed=True,
        ),
        Term(
            "offset",
            units=("N m", "N"),
            column=_constant,
            rates=lambda v, a, direction, slope: (0.0, 0.0),
            nonnegative=False,
            odd=False,
        ),
        Term(
            "armature",
            units=("kg m^2", "kg"),
            column=lambda v, a, direction: a,
            rates=lambda v, a, direction, slope: (0.0, 1.0),
            stated="armature",
            odd=False,
            inertial=True,
        ),
    )
}
COUPLED = ("armature", "viscous", "coulomb")  # columns of a coupling, in their order


def friction_terms() -> tuple[str, ...]:
    """Names of the terms that the option `friction` chooses from: all but those of inertia."""
    return tuple(term.name for term in TERMS.values() if not term.inertial)


def term_of(name: str) -> Term:
    """A term by name. Raises OptionError that lists the names."""
    if name not in TERMS:
        raise OptionError(f"Unknown friction term '{name}'. Choose from {choices(TERMS)}.")
    return TERMS[name]


def stated_values(robot) -> dict[str, Any]:
    """Values (nv,) that a robot's model states, by term; offsets and others without a place in a file are left out."""
    return {term.name: getattr(robot, term.stated) for term in TERMS.values() if term.stated}


@dataclass(frozen=True)
class UserColumn:
    """A column that the user defines. function(q, v, a), samples first, returns the torque (n, nv) per unit of its
    parameter. It is called with random states, too, to find what it has in common with other columns. joints: those it
    acts on (all by default; others must have zero). nonnegative: whether its parameter cannot be negative.
    """

    name: str
    function: Callable[[Any, Any, Any], Any]
    unit: str = "N m"
    joints: tuple[str, ...] | None = None
    nonnegative: bool = False


@dataclass(frozen=True, repr=False)
class ParameterLayout(Card):
    """Columns of a regression.

    dof_names, dofs: name and index in v of the degrees that friction and armature act on (not those of a free base).
    rotor_names: motor rotors that are bodies of the regression, ten columns each behind those of the links.
    """

    body_names: tuple[str, ...]  # one block of ten each
    dof_names: tuple[str, ...] = ()
    dofs: tuple[int, ...] = ()
    terms: tuple[str, ...] = ()  # the terms present, in the order of `TERMS`
    extras: tuple[Extra, ...] = ()  # one column each
    rotor_names: tuple[str, ...] = ()

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of all bodies: links, then rotors."""
        return self.body_names + self.rotor_names

    @property
    def inertial(self) -> slice:
        """Columns of all bodies, links and rotors."""
        return slice(0, 10 * len(self.bodies))

    @property
    def links(self) -> slice:
        """Columns of the links."""
        return slice(0, 10 * len(self.body_names))

    @property
    def rotors(self) -> slice:
        """Columns of the rotors."""
        return slice(self.links.stop, self.inertial.stop)

    def body(self, index: int) -> slice:
        """The ten columns of one of `bodies`."""
        return slice(10 * index, 10 * index + 10)

    def term(self, name: str) -> slice:
        """Columns of one term. Raises OptionError when the regression has no such term."""
        if name not in self.terms:
            raise OptionError(
                f"This regression has no '{name}' columns; it has {choices(self.terms) or 'none but bodies'}."
            )
        start = self.inertial.stop + self.terms.index(name) * len(self.dofs)
        return slice(start, start + len(self.dofs))

    @property
    def extra(self) -> slice:
        """Columns of all extras, the last ones."""
        start = self.inertial.stop + len(self.terms) * len(self.dofs)
        return slice(start, start + len(self.extras))

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.extra.stop

    def effects_of(self, dof: int) -> tuple[int, ...]:
        """Columns of the terms that act on one degree of freedom, in the order of `terms`."""
        if dof not in self.dofs:
            return ()
        place = self.dofs.index(dof)
        return tuple(self.term(name).start + place for name in self.terms)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name a column, such as `link2.Ixx` or `joint3.viscous`."""
        from steelyard.inertia.parameters import NAMES

        bodies = [f"{body}.{name}" for body in self.bodies for name in NAMES]
        terms = [f"{dof}.{term}" for term in self.terms for dof in self.dof_names]
        return tuple(bodies + terms + [extra.name for extra in self.extras])

    @cached_property
    def units(self) -> tuple[str, ...]:
        """One unit a column, of joints that turn."""
        from steelyard.inertia.parameters import UNITS

        effects = [TERMS[term].units[0] for term in self.terms for _ in self.dof_names]
        return (*UNITS * len(self.bodies), *effects, *(extra.unit for extra in self.extras))

    def __post_init__(self):
        for name in self.terms:
            term_of(name)

    def of_terms(self, names: Iterable[str]) -> list[int]:
        """Columns of the named terms, those of couplings included."""
        names = set(names)
        columns = [c for term in self.terms if term in names for c in range(*self.term(term).indices(self.size))]
        return columns + [self.extra.start + i for i, extra in enumerate(self.extras) if extra.kind in names]

    @property
    def nonnegative(self) -> list[int]:
        """Columns whose parameters cannot be negative, extras included."""
        names = [term.name for term in TERMS.values() if term.nonnegative]
        stated = [self.extra.start + i for i, extra in enumerate(self.extras) if extra.nonnegative]
        return sorted({*self.of_terms(names), *stated})

    @property
    def directed(self) -> bool:
        """Whether a column depends on the direction of motion of a degree or of a shared motor."""
        return any(TERMS[term].directed for term in self.terms) or bool(self.coupled_directions)

    @property
    def coupled_directions(self) -> tuple[int, ...]:
        """Which extras depend on the direction of motion of a shared motor."""
        return tuple(i for i, extra in enumerate(self.extras) if extra.kind in TERMS and TERMS[extra.kind].directed)

    def of_kind(self, kind: str) -> list[int]:
        """Columns of the extras of a kind."""
        return [self.extra.start + i for i, extra in enumerate(self.extras) if extra.kind == kind]

    @cached_property
    def plain(self) -> "ParameterLayout":
        """The same columns but for those whose size evidence tells."""
        kept = tuple(extra for extra in self.extras if not extra.weighed)
        return self if len(kept) == len(self.extras) else replace(self, extras=kept)

    @property
    def in_plain(self) -> list[int]:
        """Columns of this layout that are those of `plain`, in its order."""
        kept = [self.extra.start + i for i, extra in enumerate(self.extras) if not extra.weighed]
        return [*range(self.extra.start), *kept]

    @property
    def without_extras(self) -> "ParameterLayout":
        """The same columns but for the extras."""
        return replace(self, extras=())


RATIO = r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+"


def ratios_of(group, names: Collection[str]) -> dict[str, float]:
    """Ratio of each joint of a coupling. names: of the joints there are, which a text may refer to.

    Raises OptionError for a text that names other joints, or for fewer than two joints or a ratio of zero.
    """
    if isinstance(group, str):
        ratios = _parsed(group, names)
    else:
        ratios = dict(group) if isinstance(group, Mapping) else dict.fromkeys(group, 1.0)
    if len(ratios) < 2 or not all(ratios.values()):
        raise OptionError(f"A coupling needs two joints or more, with ratios that are not zero; got {group!r}.")
    return {joint: float(ratio) for joint, ratio in ratios.items()}


def text_of(group) -> str:
    """A coupling as text; a text stays as it is."""
    if isinstance(group, str):
        return group
    ratios = dict(group) if isinstance(group, Mapping) else dict.fromkeys(group, 1.0)
    parts = (
        f"{'-' if ratio < 0 else '+'}{'' if abs(ratio) == 1 else f'{abs(ratio)!r}*'}{joint}"
        for joint, ratio in ratios.items()
    )
    return "".join(parts).removeprefix("+")


def motor_of(ratios: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """The same whatever the order in which its joints were given."""
    return tuple(sorted((joint, float(ratio)) for joint, ratio in ratios.items()))


def _parsed(text: str, names: Collection[str]) -> dict[str, float]:
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    term = re.compile(rf"\s*([+-]?)\s*(?:({RATIO})\*)?({known})\s*(?=[+-]|$)")
    ratios, at = {}, 0
    while at < len(text):
        found = term.match(text, at)
        if found is None or (at > 0 and not found[1]) or found[3] in ratios:
            raise OptionError(
                f"coupling '{text}' is not understood at '{text[at:]}': expected joints with signs between them, such "
                f"as A+B, A-B or A-0.5*B, each once. The robot's driven joints: {choices(names)}."
            )
        ratios[found[3]] = (-1.0 if found[1] == "-" else 1.0) * float(found[2] or 1.0)
        at = found.end()
    return ratios


def layout_of(
    robot,
    *,
    friction=(),
    armature: bool = False,
    coupling=(),
    springs=(),
    extra: Iterable[UserColumn] = (),
    rotors: bool = False,
    nuisances: Iterable[str] = (),
) -> ParameterLayout:
    """Layout of a robot's regression.

    friction: any of `friction_terms` and of `SHAPED_FRICTION`. coupling: groups of joints that share a motor beside
    their own, each a sequence of names, {name: ratio} or a text such as joint5-joint6 (see `coupling`); three columns
    each. springs: names of joints with a linear spring. extra: the user's columns. rotors: whether the robot's motor
    rotors are bodies with columns of their own. nuisances: any of `NUISANCES`, for the joints that can have them.
    Raises OptionError for another name, or for rotors of a robot that has none described.
    """
    friction = (friction,) if isinstance(friction, str) else tuple(friction or ())
    known = (*friction_terms(), *SHAPED_FRICTION)
    if unknown := [name for name in friction if name not in known]:
        raise OptionError(f"Unknown friction term '{unknown[0]}'. Choose from {choices(known)}, or () for none.")
    if unknown := [name for name in nuisances if name not in NUISANCES]:
        raise OptionError(f"Unknown nuisance '{unknown[0]}'. Choose from {choices(NUISANCES)}, or () for none.")
    if rotors and not robot.rotors:
        raise OptionError(
            f"rotors: robot '{robot.name}' has none. Describe its motors in a side file *.steelyard.toml and read it "
            "with read_side, or leave rotors out (armature=True estimates their inertia at the joints)."
        )
    actuated = robot.driven_dofs
    names = {robot.dof_names[i]: i for i in actuated}
    wanted = {*friction, *(("armature",) if armature else ())}
    return ParameterLayout(
        body_names=robot.body_names,
        dof_names=tuple(robot.dof_names[i] for i in actuated),
        dofs=actuated,
        terms=tuple(term for term in TERMS if term in wanted),
        extras=(
            *_couplings(names, coupling),
            *_springs(robot, names, springs),
            *_users(robot, names, extra),
            *_weighed(robot, names, {*friction, *nuisances}, springs),
        ),
        rotor_names=tuple(rotor.name for rotor in robot.rotors) if rotors else (),
    )


def _couplings(names: dict[str, int], coupling):
    for group in (coupling,) if isinstance(coupling, str | Mapping) else coupling:
        ratios = ratios_of(group, names)
        dofs = tuple(_found(names, joint, "coupling") for joint in ratios)
        label = "".join(f"{'-' if ratio < 0 else '+'}{joint}" for joint, ratio in ratios.items()).removeprefix("+")
        for kind in COUPLED:
            yield Extra(f"{label}.{kind}", TERMS[kind].units[0], kind, dofs, tuple(ratios.values()))


def _springs(robot, names: dict[str, int], springs):
    for joint in _listed(springs, "springs"):
        dof = _found(names, joint, "springs")
        if joint not in robot.joint_names:
            raise OptionError(
                f"springs: '{joint}' is one of several degrees of a joint; only simple joints have springs."
            )
        yield Extra(f"{joint}.spring", SPRING_UNIT, "spring", (dof,))


def _weighed(robot, names: dict[str, int], kinds: Collection[str], springs):
    """Columns whose size evidence tells: friction joint by joint, then mistakes of the robot and its simple joints."""
    simple = {joint: dof for joint, dof in names.items() if dof in robot.scalar_positions}
    for part, joints in (("friction", names), ("robot", {} if robot.floating else {"": robot.nv}), ("joint", simple)):
        for joint, dof in joints.items():
            for kind, record in WEIGHED.items():
                if record.part == part and kind in kinds and not (kind == "spring" and joint in springs):
                    yield from record.made(joint, dof, robot.nv)


def _users(robot, names: dict[str, int], extra):
    for column in extra:
        if not isinstance(column, UserColumn):
            raise OptionError(f"extra lists UserColumn(name, function); got {column!r}.")
        listed = None if column.joints is None else _listed(column.joints, f"joints of column '{column.name}'")
        dofs = range(robot.nv) if listed is None else (_found(names, j, f"column '{column.name}'") for j in listed)
        yield Extra(
            column.name, column.unit, "user", tuple(dofs), function=column.function, nonnegative=column.nonnegative
        )


def _listed(names, option: str):
    if isinstance(names, str):
        raise OptionError(f"{option} is a list of joint names; got the text '{names}'.")
    return tuple(names)


def _found(names: dict[str, int], joint, option: str) -> int:
    if joint not in names:
        raise OptionError(f"{option}: the robot has no driven joint '{joint}'; it has {choices(names)}.")
    return names[joint]
