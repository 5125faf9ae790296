"""How a coupling is written: joints that share a motor, and the ratio of each in its speed.

`{"joint5": 1.0, "joint6": -1.0}`, `("joint5", "joint6")` for ratios of one, or the text `joint5-joint6`, in which a
number with an asterisk is a ratio: `joint5-0.5*joint6`.
"""

import re
from collections.abc import Collection, Mapping

from steelyard.errors import OptionError, choices

RATIO = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+"


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
