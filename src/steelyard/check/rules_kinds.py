"""SY4xx, second part, and SY512: left and right links and joints, and links of a kind, such as four shins."""

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from steelyard.check.rule import Hit, figures, rule
from steelyard.check.shaped_inertials import ShapedInertial, in_grams, shaped_inertials
from steelyard.check.thresholds import THRESHOLDS
from steelyard.model.sketch import Inertial, Sketch

# how names tell left from right; each pair as it stands between separators or at an end of the name
SIDES = (
    ("left", "right"),
    ("l", "r"),
    ("fl", "fr"),
    ("rl", "rr"),
    ("hl", "hr"),
    ("bl", "br"),
    ("lf", "rf"),
    ("lh", "rh"),
)
WORD = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+(?![a-z])|\d+|[^A-Za-z\d]+")
SIDEWAYS = 1  # y, the axis to the left of robots whose links hang below each other
PLACES = {word for pair in SIDES for word in pair} | {"front", "rear", "hind", "back", "mid", "middle", "f", "h", "b"}


def mirrored_name(name: str) -> str | None:
    """Name of the right link that belongs to a left one, None for other names."""
    return next(_turned(name, SIDES), None)


def left_name(name: str, known: Container[str]) -> str | None:
    """Name among known ones of the left link that belongs to a right one."""
    lefts = _turned(name, [(right, left) for left, right in SIDES])
    return next((left for left in lefts if left in known and mirrored_name(left) == name), None)


def _turned(name: str, sides: Sequence[tuple[str, str]]) -> Iterator[str]:
    words = WORD.findall(name)
    for i, word in enumerate(words):
        for one, other in sides:
            if word.lower() == one:
                turned = other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other
                yield "".join([*words[:i], turned, *words[i + 1 :]])


def pairs(sketch: Sketch) -> Iterator[tuple[int, int]]:
    """Left and right links that both have usable inertials."""
    for index, part, inertial in sketch.stated():
        twin = sketch.parts_by_name.get(mirrored_name(part.name) or "")
        if twin is None or twin == index:
            continue
        other = sketch.parts[twin].inertial
        if inertial.usable and other is not None and other.usable:
            yield index, twin


@rule("SY406", "sides-differ", "warning")
def sides_differ(sketch: Sketch) -> Iterator[Hit]:
    """A left link and its right counterpart weigh or turn differently.

    Why: Mirrored parts have equal masses and equal principal moments whatever their frames. A difference of more than
    5 % of the mass or 15 % of a moment means that one side was updated and the other was not.
    Example:
        left_shin with 1.2 kg, right_shin with 1.9 kg
    Remedy: Give both sides the values of the same revision.
    """
    for left, right in pairs(sketch):
        a, b = sketch.parts[left].inertial, sketch.parts[right].inertial
        assert a is not None and b is not None
        masses = abs(a.mass - b.mass) / max(a.mass, b.mass)
        scale = max(np.abs(a.moments).max(), np.abs(b.moments).max())
        moments = np.abs(a.moments - b.moments).max() / scale if scale > 0 else 0.0
        if masses > THRESHOLDS.mass_apart or moments > THRESHOLDS.moments_apart:
            names = f"{sketch.word}s '{sketch.parts[left].name}' and '{sketch.parts[right].name}'"
            if masses > THRESHOLDS.mass_apart:
                message = f"{names} have masses {a.mass:g} and {b.mass:g} kg."
            else:
                message = f"{names} have principal moments that differ by {100 * moments:.2g} %."
            yield Hit(b.place, message, "Give both sides the values of the same revision.")


@rule("SY407", "mirror-signs", "warning")
def mirror_signs(sketch: Sketch) -> Iterator[Hit]:
    """The centre of mass or the products of inertia were copied to the other side, not mirrored.

    Why: Mirroring a part across a plane flips one coordinate of its centre of mass and the two products of inertia that
    involve it. Copying a tensor from the left to the right side without flipping them tilts the right side's axes.
    Products below a twentieth of the largest component are not judged: frames that are turned by 180 degrees instead of
    mirrored keep one of the two, and a small sideways offset of the centre of mass does not tell the cases apart.
    A centre that is the same on both sides is named where frames, tensors and more of the other pairs are mirrored.
    Example:
        left: com y = 0.03, ixy = 0.001; right: com y = -0.03, ixy = 0.001
    Remedy: Negate the two products of inertia of the mirrored axis on one side, or its coordinate of the centre.
    """
    yield from _copied_centres(sketch)
    for left, right in pairs(sketch):
        a, b = sketch.parts[left].inertial, sketch.parts[right].inertial
        assert a is not None and b is not None
        axis = _mirrored_axis(a, b)
        if axis is None:
            continue
        S = np.eye(3)
        S[axis, axis] = -1
        size = np.abs(a.tensor_in_part).max() or 1.0
        flips = np.abs(a.tensor_in_part - S @ a.tensor_in_part @ S).max() / size  # what mirroring should change
        copied = np.abs(a.tensor_in_part - b.tensor_in_part).max() / size
        mirrored = np.abs(S @ a.tensor_in_part @ S - b.tensor_in_part).max() / size
        if flips > THRESHOLDS.flipped and copied < 0.1 * flips and mirrored > 0.5 * flips:
            names = f"{sketch.word}s '{sketch.parts[left].name}' and '{sketch.parts[right].name}'"
            message = f"{names}: centres of mass are mirrored in {'xyz'[axis]}, products of inertia are not."
            yield Hit(b.place, message, f"Negate the products of inertia of {'xyz'[axis]} on the side that is wrong.")


def sagittal(sketch: Sketch) -> np.ndarray | None:
    """(3, 3) reflection in the plane of the root in which left and right joints of a robot are mirrored."""
    axes = [axis for pair in _pairs(sketch) if (axis := _mirror(pair)) is not None]
    return _REFLECTIONS[1 + max(set(axes), key=axes.count)] if axes else None


def stand_mirrored(sketch: Sketch, left: int, right: int, S: np.ndarray) -> bool:
    """Whether the origins of two parts are mirror images: those of grippers that are the same on both arms are not."""
    return float(np.abs(S @ sketch.poses[left][1] - sketch.poses[right][1]).max()) <= THRESHOLDS.off_offset


def _copied_centres(sketch: Sketch) -> Iterator[Hit]:
    """Pairs whose centres are equal and off the middle while their frames and tensors, and most pairs, are mirrored:
    whole parts are the same on both sides of some robots."""
    S, images = sagittal(sketch), 0
    copies: list[tuple[int, int, bool]] = []
    for left, right in () if S is None else pairs(sketch):
        a, b = sketch.parts[left].inertial, sketch.parts[right].inertial
        assert a is not None and b is not None and S is not None
        R, turn = sketch.poses[left][0], sketch.poses[right][0]
        image = S @ R
        if np.abs(image @ a.com - R @ a.com).max() > 2 * THRESHOLDS.off_offset and stand_mirrored(
            sketch, left, right, S
        ):
            if _apart(image @ a.com, turn @ b.com) == 0:
                images += 1
            elif np.allclose(a.com, b.com, atol=1e-9):
                off = np.abs(image @ a.tensor_in_part @ image.T - turn @ b.tensor_in_part @ turn.T).max()
                copies.append((left, right, bool(off > THRESHOLDS.misread * np.abs(a.tensor_in_part).max())))
    whole_parts = any(whole for *_, whole in copies)
    for left, right, whole in copies if len(copies) * (1 + whole_parts) <= images else ():
        one, other = sketch.parts[left], sketch.parts[right]
        if not whole and other.inertial is not None:
            message = f"{sketch.word}s '{one.name}' and '{other.name}' have the same centre of mass "
            message += f"({figures(other.inertial.com)}) m, unlike {images} mirrored pairs."
            yield Hit(other.inertial.place, message, "Mirror it on one side.")


def _mirrored_axis(a: Inertial, b: Inertial) -> int | None:
    """The one coordinate in which two centres of mass are opposite while the others agree."""
    size = np.linalg.norm(a.com)
    same, opposite = np.abs(a.com - b.com) <= 0.02 * size, np.abs(a.com + b.com) <= 0.02 * size
    axes = [i for i in range(3) if opposite[i] and not same[i]]
    return axes[0] if len(axes) == 1 and all(same[i] for i in range(3) if i != axes[0]) else None


def kind_of(name: str) -> str:
    """A name without what tells links of a kind apart: sides, front and rear, numbers."""
    words = [word.lower() for word in WORD.findall(name)]
    return " ".join(word for word in words if word.isalpha() and word not in PLACES)


def twin_of(sketch: Sketch, index: int) -> int | None:
    """The link of the other side."""
    name = sketch.parts[index].name
    right = sketch.parts_by_name.get(mirrored_name(name) or "")
    if right is not None and right != index:
        return right
    return sketch.parts_by_name.get(left_name(name, sketch.parts_by_name) or "")


def kinds(sketch: Sketch) -> Iterator[list[ShapedInertial]]:
    """Links of one kind, of about the same volume, at least three of them, none of which carries another."""
    found: dict[str, list[ShapedInertial]] = defaultdict(list)
    for w in shaped_inertials(sketch):
        if w.geometry.thickness > THRESHOLDS.solid and w.part.moves and not in_grams(w):
            found[kind_of(w.name)].append(w)
    for kind, members in found.items():
        usual = _middle([w.volume for w in members])
        alike = [w for w in members if abs(w.volume - usual) < THRESHOLDS.same_volume * usual]
        if kind and len(alike) >= THRESHOLDS.several and not in_one_chain(sketch, [w.index for w in alike]):
            yield alike


def _middle(values) -> float:
    """The upper median: np.median loads masked arrays."""
    ordered = sorted(values)
    return float(ordered[len(ordered) // 2])


def in_one_chain(sketch: Sketch, parts: list[int]) -> bool:
    """Whether some of them carry others, as the numbered links of an arm do."""
    return any(_ancestors(sketch, index) & set(parts) for index in parts)


def _ancestors(sketch: Sketch, index: int) -> set[int]:
    found: set[int] = set()
    parent = sketch.parts[index].parent
    while parent is not None:
        found.add(parent)
        parent = sketch.parts[parent].parent
    return found


@rule("SY408", "kind-differs", "warning")
def kind_differs(sketch: Sketch) -> Iterator[Hit]:
    """A link weighs other than those of its kind, or all of a kind are denser than the rest of the robot.

    Why: Four shins of the same size have one mass: one that is twice that of the others, or half of it, has a digit or
    a point in another place. Where all of a kind have seven times the density of the other links, above that of most
    materials, the point moved before the value was copied. Kinds are told by names without sides and numbers, and by
    volumes within 10 %.
    Example:
        FL_calf, FR_calf, RL_calf and RR_calf with 1.54 kg each, in hulls of 0.2 l
    Remedy: Weigh one of them.
    """
    others = {w.index: w.density for w in shaped_inertials(sketch) if w.geometry.thickness > THRESHOLDS.solid}
    for members in kinds(sketch):
        masses = np.array([w.inertial.mass for w in members])
        usual = float(_middle(masses))
        off = [w for w in members if not 1 / THRESHOLDS.factor < w.inertial.mass / usual < THRESHOLDS.factor]
        for w in off if 2 * len(off) < len(members) else ():
            kind = [f"'{each.name}'" for each in members if each is not w]
            message = f"{sketch.word} '{w.name}' has {w.inertial.mass:g} kg, and others of its kind have {usual:g} kg: "
            message += f"{', '.join(kind[:4])}{' ...' if len(kind) > 4 else ''}."
            yield Hit(w.inertial.place, message, "Correct the mass, and the tensor with it.")
        rest = [each for index, each in others.items() if index not in {w.index for w in members}]
        density = float(_middle([w.density for w in members]))
        if len(rest) < THRESHOLDS.several or off or density < THRESHOLDS.denser * _middle(rest):
            continue
        if density > THRESHOLDS.heavy:
            names = ", ".join(f"'{w.name}'" for w in members[:4]) + " ..." * (len(members) > 4)
            plural = "links" if sketch.word == "link" else "bodies"
            message = (
                f"{len(members)} like {plural}, {names}, have {usual:g} kg each, {density:.3g} kg per m^3 of their "
            )
            message += f"hulls, and the others {_middle(rest):.3g}."
            yield Hit(members[0].inertial.place, message, "Weigh one of them: is the point in the right place?")


@rule("SY512", "offset-not-mirrored", "warning")
def offset_not_mirrored(sketch: Sketch) -> Iterator[Hit]:
    """The joint of one side is not where that of the other side has its mirror image.

    Why: Mirrored limbs have mirrored joint offsets. An offset that was copied from the left side without its sign, or
    changed on one side alone, moves all that the joint carries. Only joints are judged whose parents stand in mirrored
    or in equal frames: those of several pairs of a kind, such as the knees of four legs, of which one is off, and those
    that hang at one place of one parent.
    Example:
        left: <origin xyz="0 0.08 0"/>, right: <origin xyz="0 0.08 0"/>
    Remedy: Give the right side the left one's offset with the sideways coordinate negated.
    """
    by_kind: dict[str, list[_Pair]] = defaultdict(list)
    for pair in _pairs(sketch):
        by_kind[kind_of(sketch.parts[pair.left].name)].append(pair)
    across = {_mirror(pair) for pairs in by_kind.values() for pair in pairs} - {None}
    for kind, pairs in by_kind.items():
        one_chain = in_one_chain(sketch, [pair.left for pair in pairs])
        axis = None if one_chain else _sideways(pairs)
        for pair in pairs:
            if axis is not None and _apart(_REFLECTIONS[1 + axis] @ pair.a, pair.b) > THRESHOLDS.off_offset and kind:
                yield _off(sketch, pair, f"are no mirror images in {'xyz'[axis]}, as others of their kind are")
            if axis is not None:
                continue
            aside = any(abs(pair.a[each]) > THRESHOLDS.off_offset for each in across if each is not None)
            if pair.one_parent and np.array_equal(pair.a, pair.b) and aside:
                yield _off(sketch, pair, "are one and the same place")


def _off(sketch: Sketch, pair: "_Pair", why: str) -> Hit:
    one, other = sketch.parts[pair.left], sketch.parts[pair.right]
    a, b = (figures(np.round(each, 6) + 0.0) for each in (pair.a, pair.b))
    message = f"{sketch.word}s '{one.name}' and '{other.name}' hang at ({a}) and ({b}) m of their parents, which {why}."
    return Hit(other.place, message, "Correct the offset of the joint on the side that is wrong.")


class _Pair(NamedTuple):
    """Left and right moving links, and their offsets (3,) from their parents, m, in the axes of the root."""

    left: int
    right: int
    a: np.ndarray
    b: np.ndarray
    one_parent: bool


def _pairs(sketch: Sketch) -> Iterator[_Pair]:
    """Pairs whose parents are one link, or twins in equal or mirrored frames."""
    turned = [R for R, _ in sketch.poses]
    for left, part in enumerate(sketch.parts):
        right = sketch.parts_by_name.get(mirrored_name(part.name) or "")
        if right is None or right == left or not (part.moves and sketch.parts[right].moves):
            continue
        one, other = part.parent, sketch.parts[right].parent
        if one is None or other is None:
            continue
        if one == other or mirrored_name(sketch.parts[one].name) == sketch.parts[other].name:
            offsets = turned[one] @ part.position, turned[other] @ sketch.parts[right].position
            alike = [np.allclose(turned[other], R @ turned[one] @ R, atol=1e-3) for R in _REFLECTIONS]
            if any(alike):
                yield _Pair(left, right, *offsets, one == other)


_REFLECTIONS = (np.eye(3), *(np.diag(1.0 - 2.0 * np.eye(3)[k]) for k in range(3)))


def _mirror(pair: _Pair) -> int | None:
    for axis, S in enumerate(_REFLECTIONS[1:]):
        if abs(pair.a[axis]) > THRESHOLDS.thin and _apart(S @ pair.a, pair.b) == 0:
            return axis
    return None


def _sideways(pairs: list[_Pair]) -> int | None:
    """The axis in which pairs of a kind are mirrored: one of them at least, and as many as are not."""
    mirrors = [_mirror(pair) for pair in pairs]
    for axis in range(3):
        if 0 < len(pairs) <= 2 * mirrors.count(axis):
            return axis
    along = [pair for pair in pairs if _apart(pair.a, pair.b) == 0 and abs(pair.a[SIDEWAYS]) <= THRESHOLDS.thin]
    return SIDEWAYS if along and 2 * len(along) >= len(pairs) else None


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """Distance of two offsets, m; 0 within 2 % of their length."""
    distance = float(np.linalg.norm(a - b))
    return 0.0 if distance <= 0.02 * max(np.linalg.norm(a), np.linalg.norm(b)) else distance
