"""SY4xx, second part: left and right links that should be mirror images."""

import re
from collections.abc import Container, Iterator, Sequence

import numpy as np

from steelyard.check.rule import Hit, rule
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


def mirrored_name(name: str) -> str | None:
    """Name of the right link that belongs to a left one, None for other names."""
    return next(_turned(name, SIDES), None)


def left_name(name: str, known: Container[str]) -> str | None:
    """Name among known ones of the left link that belongs to a right one."""
    lefts = _turned(name, [(right, left) for left, right in SIDES])
    return next((left for left in lefts if left in known and mirrored_name(left) == name), None)


def _turned(name: str, sides: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The name with one word replaced that tells a side."""
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
    """The centre of mass was mirrored, the products of inertia were not.

    Why: Mirroring a part across a plane flips one coordinate of its centre of mass and the two products of inertia that
    involve it. Copying a tensor from the left to the right side without flipping them tilts the right side's axes.
    Products below a twentieth of the largest component are not judged: frames that are turned by 180 degrees instead of
    mirrored keep one of the two, and a small sideways offset of the centre of mass does not tell the cases apart.
    Example:
        left: com y = 0.03, ixy = 0.001; right: com y = -0.03, ixy = 0.001
    Remedy: Negate the two products of inertia of the mirrored axis on one side.
    """
    for left, right in pairs(sketch):
        a, b = sketch.parts[left].inertial, sketch.parts[right].inertial
        assert a is not None and b is not None
        axis = _mirrored_axis(a, b)
        if axis is None:
            continue
        S = np.eye(3)
        S[axis, axis] = -1
        size = np.abs(a.tensor_in_part).max()
        flips = np.abs(a.tensor_in_part - S @ a.tensor_in_part @ S).max() / size  # what mirroring should change
        copied = np.abs(a.tensor_in_part - b.tensor_in_part).max() / size
        mirrored = np.abs(S @ a.tensor_in_part @ S - b.tensor_in_part).max() / size
        if flips > THRESHOLDS.flipped and copied < 0.1 * flips and mirrored > 0.5 * flips:
            names = f"{sketch.word}s '{sketch.parts[left].name}' and '{sketch.parts[right].name}'"
            message = f"{names}: centres of mass are mirrored in {'xyz'[axis]}, products of inertia are not."
            yield Hit(b.place, message, f"Negate the products of inertia of {'xyz'[axis]} on the side that is wrong.")


def _mirrored_axis(a: Inertial, b: Inertial) -> int | None:
    """The one coordinate in which two centres of mass are opposite while the others agree."""
    size = np.linalg.norm(a.com)
    same, opposite = np.abs(a.com - b.com) <= 0.02 * size, np.abs(a.com + b.com) <= 0.02 * size
    axes = [i for i in range(3) if opposite[i] and not same[i]]
    return axes[0] if len(axes) == 1 and all(same[i] for i in range(3) if i != axes[0]) else None
