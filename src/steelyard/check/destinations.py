"""Programs that read a model otherwise than it is written: which versions of them, and which of them are asked for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from steelyard.errors import OptionError, choices

ANY = "any"  # in the place of a version: all of them


@dataclass(frozen=True)
class Misread:
    """Versions of a program that read models of some formats in a way of their own."""

    destinations: tuple[str, ...]  # simulators that users reach through it
    program: str  # whose versions, as its package is called
    formats: tuple[str, ...]  # names of `Format`s
    reference: str  # report of it, project#number, or "measured"
    first: str = ""  # version affected, empty where the fault is as old as what was tried
    mended: str = ""  # first version without it, empty where the newest has it

    @property
    def versions(self) -> str:
        """In words: "mujoco before 3.14.0"."""
        span = [f"from {self.first}"] if self.first else []
        span += [f"before {self.mended}"] if self.mended else []
        return f"{self.program} {', '.join(span)}".strip()

    def affects(self, wanted: "Destination") -> bool:
        """Whether the destination that is asked for reads models so."""
        if wanted.name not in (*self.destinations, self.program):
            return False
        asked = wanted.versions.get(self.program, "")
        if not asked:
            return True
        # a version that is asked for in part, such as 3.3, is any that begins so
        first, mended, number = _numbers(self.first), _numbers(self.mended), _numbers(asked)
        n = len(number)
        older = number < mended[:n] or (number == mended[:n] and any(mended[n:]))
        return first[:n] <= number and (older or not mended)


@dataclass(frozen=True)
class Destination:
    """A simulator that a model is for."""

    name: str
    versions: dict[str, str]  # program -> version, of those that are known; others count in all their versions
    note: str = ""  # in words, where a version was not stated


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", text.partition("+")[0]))


def wanted(given: str | Iterable[str], known: Iterable[Misread]) -> tuple[Destination, ...]:
    """Destinations as users write them.

    given: names, each with `==VERSION` or `==any` behind it or without: "mujoco==3.12", "newton"; one text with commas
    or several. A version is that of the program of this name. Without one, that of the program that is installed here
    counts; where none is, all do. known: what is known of destinations. Raises OptionError: an unknown destination, or
    what is no version.
    """
    words = given.split(",") if isinstance(given, str) else [word for each in given for word in each.split(",")]
    programs: dict[str, set[str]] = {}
    for each in known:
        for name in (*each.destinations, each.program):
            programs.setdefault(name, set()).add(each.program)
    return tuple(_wanted(word.strip(), programs) for word in words if word.strip())


def _wanted(word: str, programs: dict[str, set[str]]) -> Destination:
    name, _, stated = word.partition("==")
    if name not in programs:
        raise OptionError(f"destination '{name}' is unknown; expected one of {choices(sorted(programs))}.")
    if stated == ANY:
        return Destination(name, {})
    if stated:
        if name not in programs[name] and len(programs[name]) > 1:
            these = choices(sorted(programs[name]))
            raise OptionError(f"'{word}': {name} is reached through {these}; state the version of one of them.")
        if not re.fullmatch(r"\d+(\.\d+)*", stated):
            raise OptionError(f"'{word}' names no version; write {name}==1.2.3, or {name}=={ANY} for all versions.")
        return Destination(name, {name if name in programs[name] else min(programs[name]): stated})
    found = {program: text for program in programs[name] if (text := _installed(program))}
    read = ", ".join(f"{program} {text}" for program, text in sorted(found.items()))
    note = f"for {name}: {read} as installed here; {name}=={ANY} or {name}==VERSION for others." if read else ""
    return Destination(name, found, note)


PACKAGES = {"pinocchio": "pin"}  # programs whose package has another name


def _installed(program: str) -> str:
    try:
        return version(PACKAGES.get(program, program))
    except PackageNotFoundError:
        return ""
