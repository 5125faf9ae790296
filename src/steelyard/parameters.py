"""Names, units and slices of every column of a regression. The only place with column arithmetic.

Columns stand in the order `[10 per body | viscous | coulomb | offset | armature]`, each term with one column per
degree of freedom it acts on.
"""

from dataclasses import dataclass
from functools import cached_property

from steelyard.errors import OptionError, choices
from steelyard.inertia.parameters import NAMES, UNITS

TERMS = {"viscous": "N m s/rad", "coulomb": "N m", "offset": "N m", "armature": "kg m^2"}
# Half-width of standstill, rad/s or m/s, of Coulomb friction `tanh(v / width)`: near zero speed the sign of a measured
# speed is noise. Blocked cross-validation on real logs (Panda, UR10, TX40) is flat between 0.02 and 0.1.
COULOMB_WIDTH = 0.05
FRICTION = ("viscous", "coulomb", "offset")


@dataclass(frozen=True)
class ParameterLayout:
    """Columns of a regression.

    body_names: one block of ten each. dof_names, dofs: name and index in v of the degrees that friction and armature
    act on (not those of a free base). terms: the terms present, in the order of `TERMS`.
    """

    body_names: tuple[str, ...]
    dof_names: tuple[str, ...] = ()
    dofs: tuple[int, ...] = ()
    terms: tuple[str, ...] = ()

    @property
    def inertial(self) -> slice:
        """Columns of all bodies."""
        return slice(0, 10 * len(self.body_names))

    def body(self, index: int) -> slice:
        """The ten columns of one body."""
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
    def size(self) -> int:
        """Number of columns."""
        return self.inertial.stop + len(self.terms) * len(self.dofs)

    def effects_of(self, dof: int) -> tuple[int, ...]:
        """Columns that act on one degree of freedom beside the bodies, in the order of `terms`."""
        if dof not in self.dofs:
            return ()
        place = self.dofs.index(dof)
        return tuple(self.term(name).start + place for name in self.terms)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name a column, such as `link2.Ixx` or `joint3.viscous`."""
        bodies = [f"{body}.{name}" for body in self.body_names for name in NAMES]
        return tuple(bodies + [f"{dof}.{term}" for term in self.terms for dof in self.dof_names])

    @cached_property
    def units(self) -> tuple[str, ...]:
        """One unit a column."""
        effects = [TERMS[term] for term in self.terms for _ in self.dof_names]
        return (*UNITS * len(self.body_names), *effects)


def layout_of(robot, *, friction=(), armature: bool = False) -> ParameterLayout:
    """Layout of a robot's regression.

    friction: any of viscous, coulomb, offset. Raises OptionError for another name.
    """
    friction = (friction,) if isinstance(friction, str) else tuple(friction or ())
    unknown = [name for name in friction if name not in FRICTION]
    if unknown:
        raise OptionError(f"Unknown friction term '{unknown[0]}'. Choose from {choices(FRICTION)}, or () for none.")
    actuated, start = [], 0
    for joint in robot.free_joints:
        if joint.kind != "free":
            actuated += range(start, start + joint.nv)
        start += joint.nv
    wanted = {*friction, *(("armature",) if armature else ())}
    return ParameterLayout(
        body_names=robot.body_names,
        dof_names=tuple(robot.dof_names[i] for i in actuated),
        dofs=tuple(actuated),
        terms=tuple(term for term in TERMS if term in wanted),
    )
