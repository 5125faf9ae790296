"""What is known about bodies in words, as command line and `Job` spell it, and as `fit.consistent` takes it."""

from collections.abc import Iterable, Mapping

from steelyard.errors import OptionError
from steelyard.fit.constraints import MIRRORS, PARTS, Tied

MASS_FORM = "expected LINK=KG, LINK1+LINK2=KG for their sum, or all=KG for the whole robot; such as link7=0.73"
FIX_FORM = "expected LINK=all, or LINK= and any of mass,com,inertia with commas; such as link7=mass,com"
TIE_FORM = (
    "expected LEFT=RIGHT for equal links, or LEFT=RIGHT:y for mirror images along the y axis (or x, z) of their frames"
)


def masses_from(words: Iterable[str]) -> dict:
    """{"link1": 2.5, ("link2", "link3"): 7.0} of `link1=2.5`, `link2+link3=7`. Raises OptionError."""
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


def fixed_from(words: Iterable[str]) -> dict[str, str | tuple[str, ...]]:
    """{"link2": ("mass", "com"), "link3": "all"} of `link2=mass,com`, `link3=all`. Raises OptionError."""
    found = {}
    for word in words:
        name, listed = _split(word, "fix", FIX_FORM)
        parts = tuple(part.strip() for part in listed.split(","))
        if parts != ("all",) and any(part not in PARTS for part in parts):
            raise OptionError(f"fix '{word}': {FIX_FORM}.")
        _add(found, name, "all" if parts == ("all",) else parts, f"fix '{word}'")
    return found


def tied_from(words: Iterable[str]) -> tuple[Tied, ...]:
    """Ties of `left=right` and `left=right:y`. Raises OptionError."""
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


def mass_words(masses: Mapping | Iterable[str]) -> tuple[str, ...]:
    """The words of known masses; words stay as they are."""
    if not isinstance(masses, Mapping):
        return _words(masses)
    return tuple(f"{n if isinstance(n, str) else '+'.join(n)}={mass}" for n, mass in masses.items())


def fixed_words(fixed: Mapping | Iterable[str]) -> tuple[str, ...]:
    """The words of what keeps the model's values; words stay as they are."""
    if not isinstance(fixed, Mapping):
        return _words(fixed)
    return tuple(f"{name}={parts if isinstance(parts, str) else ','.join(parts)}" for name, parts in fixed.items())


def tied_words(tied: Iterable[Tied | str]) -> tuple[str, ...]:
    """The words of ties; words stay as they are."""
    if isinstance(tied, str):
        return (tied,)
    return tuple(
        each if isinstance(each, str) else f"{each.first}={each.second}" + (f":{each.mirror}" if each.mirror else "")
        for each in tied
    )


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
