"""What is known of bodies, and sentences about scales."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.cards import FEW
from steelyard.drive_kinds import DRIVE_KINDS
from steelyard.errors import OptionError, choices
from steelyard.identifiable.analysis import Analysis, Scale
from steelyard.inertia import from_com_inertia, to_com_inertia
from steelyard.terms import ParameterLayout

ALL = "all"
PARTS = ("mass", "com", "inertia")


@dataclass(frozen=True, eq=False)
class Fact:
    """In words, and rows (k, p) of parameters whose values are known: zero of `ratios`, anything else of `sizes`."""

    words: str
    ratios: np.ndarray
    sizes: np.ndarray


def facts_of(layout: ParameterLayout, values, masses: Iterable, fixed: Mapping) -> tuple[Fact, ...]:
    """What is stated of bodies. values: (p,) what the model states for the parameters of a layout; masses: bodies,
    tuples of bodies or "all" of known mass; fixed: parts by body that are as in the model: "mass", "com", "inertia",
    several, or "all". Raises OptionError with the valid names."""
    return (
        *(mass_fact(layout, names) for names in masses),
        *(_kept(layout, values, name, parts) for name, parts in fixed.items()),
    )


def mass_fact(layout: ParameterLayout, names: str | tuple[str, ...]) -> Fact:
    """The mass of a body, of several together, or of "all"."""
    bodies = layout.body_names if names == ALL else (names,) if isinstance(names, str) else tuple(names)
    row = np.zeros((1, layout.size))
    row[0, [_span(layout, name, "masses").start for name in bodies]] = 1.0
    return Fact(f"mass of {ALL if names == ALL else ' + '.join(bodies)}", row[:0], row)


def balance_fact(layout: ParameterLayout, name: str) -> Fact:
    """Mass and centre of mass of a body."""
    rows = np.eye(layout.size)[_span(layout, name, "balance")][:4]
    return Fact(f"mass and centre of mass of {name}", rows[:0], rows)


def _kept(layout: ParameterLayout, values, name: str, parts) -> Fact:
    span = _span(layout, name, "fixed")
    parts = PARTS if parts == ALL else (parts,) if isinstance(parts, str) else tuple(parts)
    if not parts or any(part not in PARTS for part in parts):
        raise OptionError(f"fixed['{name}'] lists {choices((*PARTS, ALL))}; got {parts!r}.")
    E, theta = np.eye(10), np.asarray(values)[span]
    center = to_com_inertia(theta)[1]
    point = from_com_inertia(1.0, center, np.zeros((3, 3)))  # of a kilogram there
    of = {"mass": E[:1], "com": E[1:4] - np.outer(point[1:4], E[0]), "inertia": E[4:] - np.outer(point[4:], E[0])}
    rows = np.concatenate([of[part] for part in PARTS if part in parts])
    told = np.zeros((len(rows), layout.size))
    told[:, span] = rows
    size = np.abs(rows) @ np.abs(theta)
    zero = np.abs(rows @ theta) <= 1e-12 * np.where(size > 0, size, 1.0)
    return Fact(f"{' and '.join(parts)} of {name} as in the model", told[zero], told[~zero])


def _span(layout: ParameterLayout, name: str, option: str) -> slice:
    if name not in layout.body_names:
        raise OptionError(
            f"{option}: there is no body '{name}' here that moves; there are {choices(layout.body_names)}."
        )
    return layout.body(layout.body_names.index(name))


MARK = "†"
CAPTION = "known only up to a common factor of masses, friction and gains, which nothing fixes"
WALKING = (
    "A walk on the ground shows loads of the trunk, and of legs what their swing needs: delays, friction, and armature "
    "together with their inertia. Friction of the ground shows where feet slip. Motion of the legs in the air (base "
    "held, --fixed), of each joint at several speeds, tells armature from the inertia of legs, and friction loss from "
    "damping; squats and sways of the trunk on standing feet show its inertia."
)


def marked(text: str, scaled) -> str:
    """Text with the mark of what shows only up to a scale, where it does."""
    return f"{text}{MARK}" if scaled else text


def scale_sentence(result: Analysis) -> str:
    """Whether the values that an experiment shows have their scale."""
    scales = result.scales
    open_ = [scale for scale in scales if not scale.fixed]
    known_up_to = int(result.scaled[result.columns].sum())
    if not open_:
        said = list(dict.fromkeys(words for scale in scales for words in scale.fixed_by))
        return f"Their scale is fixed by {', '.join(said[:FEW])}{' and others' * (len(said) > FEW)}."
    share = f"all {result.count}" if known_up_to == result.count else f"{known_up_to} of the {result.count}"
    factor = "a common factor" if len(open_) == 1 else f"{len(open_)} common factors, of a group of joints each"
    return (
        f"Commands do not show the scale: {share} values are known only up to {factor}, until something below fixes "
        f"{'it' if len(open_) == 1 else 'them'}."
    )


def scale_lines(result: Analysis) -> Iterator[str]:
    """Lines on all scales, and what would fix those that are open; those that belong to the one before are indented."""
    if not all(scale.fixed for scale in result.scales):
        yield (
            "Masses, friction and gains of joints whose scale is open, times one number, move alike; a fit takes the "
            "given model's masses for true there."
        )
    for scale in result.scales:
        yield from _of(scale)
    kinds = {drive.kind for drive in result.setup.drives.values() if drive.kd is None}
    hidden = " and ".join(each.damping for name, each in DRIVE_KINDS.items() if name in kinds and each.damping)
    if hidden and result.setup.motion == "dynamic":
        yield f"{hidden} acts like viscous friction: only the sum shows, until [drives] of the side file states kd."


def _of(scale: Scale) -> Iterator[str]:
    joints = choices(scale.joints)
    if scale.fixed:
        yield f"{joints}: fixed by {' and '.join(scale.fixed_by) if scale.together else choices(scale.fixed_by)}."
        return
    yield f"{joints}: open. Any one of these fixes it:"
    yield from (f"  {words}" for words in _measurements(scale))
    if not scale.weighed:
        yield (
            "  The mass of a link alone does not: it is identifiable only in combination with others, such as centres "
            "of mass or armature."
        )


def _measurements(scale: Scale) -> Iterator[str]:
    if scale.loaded:
        yield f"a further log with a payload of known mass on {_some(scale.loaded)} (--load {scale.loaded[0]}=KG:LOG)"
    if scale.weighed:
        one = [name for name in scale.weighed if name != ALL]
        yield f"the mass of {_some(one) if one else 'all that moves'}, weighed (--mass {(one or [ALL])[0]}=KG)"
    elif scale.balanced:
        yield (
            f"mass and centre of mass of {_some(scale.balanced)}, weighed and balanced (unless that is on the joint's "
            f"axis), in the model, and --fix {scale.balanced[0]}=mass,com"
        )
    numbers = " or ".join(dict.fromkeys(scale.gains.values()))
    yield f"{numbers} of one of these drives, from data sheet or firmware, in [drives] of the side file"
    if scale.limits:
        reached = [f"{most:g} N m of {name}" for name, most in scale.limits.items()]
        yield f"a log in which a drive reaches its stated limit: {choices(reached)}"
    else:
        yield "the largest torque of one of them, as limit there, and a log in which it is reached"


def _some(names) -> str:
    return " or ".join(names[:FEW])
