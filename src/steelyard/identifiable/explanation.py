"""Why combinations are not identifiable: symbols of the geometry, and sentences."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement

import numpy as np

from steelyard.errors import OptionError, choices
from steelyard.identifiable.analysis import Analysis, Status, relative_regrouping
from steelyard.identifiable.scale_words import CAPTION
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.inertia.parameters import NAMES
from steelyard.model.robot import WORLD
from steelyard.numbers import NEGLIGIBLE

LARGEST_DENOMINATOR = 4
SHOWN = 8  # regrouped terms of one expression, and combinations


DEGREES = {"kg": 0, "kg m": 1, "kg m^2": 2}  # of length in a unit


def expressions(result) -> tuple[str, ...]:
    """(r,) expressions of an Analysis, in the order of its base parameters.

    Lengths are coordinates of joint frames in their parents, of the joints between two bodies: `x_joint2` is the x of
    joint2's. A factor is spelled out when a fraction, or a length or product of lengths of the right dimension, agrees
    with it to 1e-9.
    """
    regrouping, relative = result.basis.regrouping, np.abs(relative_regrouping(result))
    home = _homes(result.mechanism)
    symbols = cache(lambda lower, upper: _symbols(_lengths(result.mechanism, lower, upper)))
    lines = []
    for row, size, column in zip(regrouping, relative, result.columns, strict=True):
        terms = [j for j in np.flatnonzero(size > THRESHOLDS.negligible) if j != column]
        terms.sort(key=lambda j: (abs(j - column), j))
        shown = []
        for j in terms[:SHOWN]:
            known = symbols(home[j], home[column]).get(_degree(result.units, int(column), int(j)), [])
            shown.append(_term(row[j], result.names[j], known))
        rest = f" + {len(terms) - SHOWN} more" if len(terms) > SHOWN else ""
        lines.append(result.names[column] + "".join(shown) + rest)
    return tuple(lines)


def _homes(mechanism) -> list[int]:
    """(p,) the node that each inertial column belongs to, WORLD for others."""
    home = [WORLD] * mechanism.size
    for i, node in enumerate(mechanism.nodes):
        for column in node.columns:
            home[column] = i
    for spin in mechanism.spins:
        for column in spin.columns:
            home[column] = spin.carrier
    return home


def _degree(units, column: int, other: int) -> int:
    """Power of length in the factor of one parameter beside another; -1 where units are of another kind."""
    both = units[column], units[other]
    return DEGREES[both[0]] - DEGREES[both[1]] if both[0] in DEGREES and both[1] in DEGREES else -1


def _lengths(mechanism, lower: int, upper: int) -> dict[str, float]:
    """Coordinates of joint frames between two nodes, in metres, that are not zero; the first of equal ones."""
    found: dict[str, float] = {}
    for i in mechanism.path(lower):
        if i == upper:
            break
        node = mechanism.nodes[i]
        for axis, value in zip("xyz", (mechanism.length * node.position).tolist(), strict=True):
            known = any(abs(abs(value) - abs(other)) <= NEGLIGIBLE * abs(other) for other in found.values())
            if abs(value) > 1e-6 and not known:
                found[f"{axis}_{node.joint}"] = value
    return dict(list(found.items())[:12])  # between two bodies; the products of more would match anything


def _symbols(lengths: dict[str, float]) -> dict[int, list[tuple[str, float]]]:
    """Symbols and their values by power of length: 1; lengths and sums of two; products, sums of squares."""
    first, second = list(lengths.items()), []
    for (a, x), (b, y) in combinations_with_replacement(lengths.items(), 2):
        second.append((f"{a}^2" if a == b else f"{a} {b}", x * y))
        if a != b:
            first += [(f"({a} + {b})", x + y), (f"({a} - {b})", x - y)]
            second.append((f"({a}^2 + {b}^2)", x * x + y * y))
    return {0: [("", 1.0)], 1: first, 2: second}


def _term(factor: float, name: str, symbols) -> str:
    for symbol, size in symbols:
        multiple = _fraction(factor / size)
        if multiple is not None:
            words = [str(abs(multiple)) if abs(multiple) != 1 else "", symbol, name]
            return (" - " if multiple < 0 else " + ") + " ".join(word for word in words if word)
    return f" {'-' if factor < 0 else '+'} {abs(factor):.6g} {name}"


def _fraction(value: float) -> Fraction | None:
    """A small fraction that a number agrees with; beside a length only simple ones occur."""
    near = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    simple = near and abs(near.numerator) <= LARGEST_DENOMINATOR
    return near if simple and abs(value - near) <= NEGLIGIBLE * abs(value) else None


TILT = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])  # a rotation to no special direction
TILTED = "mounting the robot tilted"

Again = Callable[..., Analysis]  # of changed options


@dataclass(frozen=True)
class Gain:
    """What one change of the experiment adds for a link: parameters known alone, known in combination, combinations."""

    change: str
    alone: tuple[str, ...]
    combined: tuple[str, ...]
    combinations: int

    @property
    def size(self) -> tuple[int, int, int]:
        return self.combinations, len(self.alone), len(self.combined)


def explain(result: Analysis, link: str, analyse: Again) -> str:
    """Sentences about one link. analyse: the function that made the result, for changed experiments.

    Raises OptionError that lists the links for an unknown one.
    """
    bodies = result.mechanism.layout.body_names
    if link not in bodies:
        raise OptionError(f"Robot '{result.robot.name}' has no moving link '{link}'. Its links: {choices(bodies)}.")
    again = partial(changed, analyse, result)
    lines = [*_motion(result, link), *_known(result, link)]
    scaled = [name for name, own in zip(NAMES, result.scaled[_columns(result, link)], strict=True) if own]
    lines += [f"{_list(scaled)}: {CAPTION}."] if scaled else []
    lines += [] if result.hidden is None else result.hidden.of_link(link)
    return "\n".join([*lines, *_transfers(result, link, again), *_changes(result, link, again)])


def _motion(result: Analysis, link: str) -> list[str]:
    if result.dimensions is None:
        return [f"{link}: found numerically, from the rank of a random regression."]
    d = result.dimensions[result.mechanism.layout.body_names.index(link)]
    if result.setup.motion == "static":
        return [f"{link}: the robot stands still, so only its weight shows."]
    if d.velocities in (0, 6):
        return [f"{link} can move in every direction." if d.velocities else f"{link} does not move."]
    more = d.velocities_with_gravity - d.velocities
    gravity = f"; its weight acts along {more} more" if more else ""
    return [f"{link} can only move in {d.velocities} of 6 directions{gravity}."]


def _names_with(result: Analysis, link: str, *wanted: Status) -> list[str]:
    start = result.mechanism.layout.body(result.mechanism.layout.body_names.index(link)).start
    return [name for i, name in enumerate(NAMES) if result.status[start + i] in wanted]


def _known(result: Analysis, link: str) -> list[str]:
    alone = _names_with(result, link, Status.ALONE)
    combined = _names_with(result, link, Status.BASE, Status.COMBINED)
    unknown = _names_with(result, link, Status.UNIDENTIFIABLE)
    lines = [f"Identifiable: {_list(alone)}." if alone else "No parameter is identifiable alone."]
    if combined:
        lines.append(f"Identifiable only in combination: {_list(combined)}. The combinations are")
        columns = _columns(result, link)
        texts = zip(result.columns, relative_regrouping(result)[:, columns], expressions(result), strict=True)
        entering = [(c, text) for c, row, text in texts if np.abs(row).max() > 1e-9 and " " in text]
        # the link's own first, then those of the nearest links below it
        entering = [text for c, text in sorted(entering, key=lambda e: (max(columns.start - e[0] + 9, 0) // 10, e[0]))]
        lines += [f"  {text}" for text in entering[:SHOWN]]
        if len(entering) > SHOWN:
            lines.append(f"  and {len(entering) - SHOWN} more.")
    if unknown:
        verb = "has" if len(unknown) == 1 else "have"
        lines.append(f"Not identifiable: {_list(unknown)} {verb} no effect on anything measured, in any motion.")
    return lines


def _transfers(result: Analysis, link: str, again: Again) -> list[str]:
    """Why not more: in how many ways inertia moves across the joint unnoticed, and how many are the joint's own."""
    if result.dimensions is None:
        return []
    index = result.mechanism.layout.body_names.index(link)
    count = result.dimensions[index].transfers
    if not count:
        return []
    node = next(n for n in result.mechanism.nodes if n.name == link and len(n.columns))
    parent = "the ground" if node.parent == WORLD else result.mechanism.nodes[node.parent].name
    text = f"Why not more: inertia can pass between {link} and {parent} in {count} ways that nothing measured shows"
    free = again(base="floating", motion="dynamic", sensors=("joints",), locked=())  # everything below moves freely
    own = None if free.dimensions is None else {d.body: d.transfers for d in free.dimensions}[link]
    if own is None or own >= count:
        return [f"{text}; the axis of joint '{node.joint}' alone allows {own}." if own else f"{text}."]
    return [f"{text}; {own} come with joint '{node.joint}' itself, {count - own} with what this experiment leaves out."]


def _changes(result: Analysis, link: str, again: Again) -> list[str]:
    gains = [_gain(result, link, change, tried) for change, tried in candidates(result, again, link)]
    gains = sorted((g for g in gains if any(g.size)), key=lambda g: g.size, reverse=True)
    if not gains:
        return ["No other base, mounting, sensor or freed joint would reveal more of it."]
    return ["What would reveal more:", *(f"  {_sentence(gain)}" for gain in gains)]


def candidates(result: Analysis, again: Again, link: str | None = None):
    """(words, result of the changed experiment). link: one for which it can be changed, too."""
    setup, robot = result.setup, result.robot
    sensors = set(setup.sensors)
    if setup.motion == "static":
        yield "moving instead of standing still", again(motion="dynamic")
    if "joints" not in sensors:
        words = "every motor" if robot.loops else "every joint"
        yield f"measuring the torque of {words}", again(sensors=(*setup.sensors, "joints"))
    if robot.loops:  # other bases and wrench sensors are not analysed with closed loops
        if robot.gravity.any():
            yield TILTED, again(robot=replace(robot, gravity=TILT @ robot.gravity))
        return
    if setup.contacts is not None:
        yield "measuring the forces of all contacts", again(contacts=None)
        return
    for name in setup.locked:
        kept = {n: v for n, v in setup.locked.items() if n != name} if isinstance(setup.locked, dict) else ()
        rest = kept or tuple(n for n in setup.locked if n != name)
        yield f"freeing joint '{name}'", again(locked=rest)
    floats = isinstance(setup.base, str) and setup.base == "floating"  # a word, twists or nothing
    if not (robot.floating if setup.base is None else floats):
        yield "letting the base move freely with its wrench measured", again(base="floating")
        if robot.gravity.any():
            yield TILTED, again(robot=replace(robot, gravity=TILT @ robot.gravity))
        if "base" not in sensors:
            yield "a wrench sensor under the robot", again(sensors=(*setup.sensors, "base"))
    wrist = f"wrench:{link}"
    if link is not None and wrist not in sensors and link in robot.body_names:
        yield f"a wrench sensor in front of {link}", again(sensors=(*setup.sensors, wrist))


def changed(analyse: Again, result: Analysis, *, robot=None, **other) -> Analysis:
    """The same analysis with some options changed."""
    options = {each.name: getattr(result.setup, each.name) for each in fields(result.setup) if each.name != "drives"}
    return analyse(robot or result.robot, **(options | other))


def _gain(before: Analysis, link: str, change: str, after: Analysis) -> Gain:
    def level(result):
        start = _columns(result, link).start
        return [(s is not Status.UNIDENTIFIABLE) + (s is Status.ALONE) for s in result.status[start : start + 10]]

    old, new = level(before), level(after)
    alone = tuple(n for n, x, y in zip(NAMES, old, new, strict=True) if y == 2 and x < 2)
    combined = tuple(n for n, x, y in zip(NAMES, old, new, strict=True) if y == 1 and x == 0)
    return Gain(change, alone, combined, _entering(after, link) - _entering(before, link))


def _entering(result: Analysis, link: str) -> int:
    """Number of independent combinations of a link's parameters that matter."""
    return int(np.linalg.matrix_rank(relative_regrouping(result)[:, _columns(result, link)], tol=1e-6))


def _columns(result: Analysis, link: str) -> slice:
    return result.mechanism.layout.body(result.mechanism.layout.body_names.index(link))


def _sentence(gain: Gain) -> str:
    parts = []
    if gain.alone:
        parts.append(f"{_list(gain.alone)} alone")
    if gain.combined:
        parts.append(f"{_list(gain.combined)} in combination")
    more = f"{gain.combinations} more combination{'s' * (gain.combinations > 1)} of the same parameters"
    return f"{gain.change}: {' and '.join(parts) or more}."


def _list(names) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"
