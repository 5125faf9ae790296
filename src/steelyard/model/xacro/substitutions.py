"""What `$(...)` stands for in xacro: arguments, packages, expressions of arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import ModelError, choices
from steelyard.model.xacro.expressions import evaluate
from steelyard.model.xacro.files import Files
from steelyard.model.xacro.functions import MATH, TYPES, Function
from steelyard.model.xacro.values import Budget, Unevaluable, text_of

_EVAL = MATH | TYPES | {"true": True, "false": False, "True": True, "False": False}


class Substitutions:
    """Arguments of one expansion. declared: names that the file has; notes: on what was not looked up."""

    def __init__(self, files: Files, arguments: Mapping[str, str], budget: Budget):
        self.files, self.given, self.budget = files, frozenset(arguments), budget
        self.arguments = dict(arguments)
        self.declared: set[str] = set()
        self.notes: list[str] = []

    def declare(self, name: str, default: str) -> None:
        self.declared.add(name)
        self.arguments[name] = default

    def argument(self, name: str) -> str:
        """Value of an argument. Raises Unevaluable for one without default that was not given."""
        self.declared.add(name)
        if name not in self.arguments:
            raise Unevaluable(
                f"argument '{name[:60]}' has no default. Give it: --arg {name}=VALUE (arguments={{{name!r}: VALUE}})"
            )
        return self.arguments[name]

    def value(self, text: str) -> str:
        """What `$(text)` stands for. Raises Unevaluable."""
        if text.startswith("eval "):
            return self._evaluated(text[5:])
        command, *words = text.split() or [""]
        if command == "optenv" and words:
            return self._environment(words[0], " ".join(words[1:]))
        known = {"arg": self.argument, "find": self.files.package, "env": self._environment}
        if command not in known or len(words) != 1:
            raise Unevaluable("it is none of $(arg NAME), $(find PACKAGE), $(optenv NAME DEFAULT) and $(eval ...)")
        return known[command](words[0])

    def _environment(self, name: str, default: str | None = None) -> str:
        """A variable of the environment is never looked up: the robot would depend on where it is read."""
        if default is None:
            raise Unevaluable(
                f"the environment variable {name[:60]} is not read. Write an <xacro:arg> in its place, and give "
                "that by --arg"
            )
        self.notes.append(f"$(optenv {name[:60]}) is '{default[:60]}', its default; the environment is not read.")
        return default

    def _evaluated(self, text: str) -> str:
        if "__" in text:
            raise Unevaluable("names with two underscores cannot be used")
        own: dict[str, Any] = {
            "arg": Function("arg", lambda name: _typed(self.argument(name))),
            "find": Function("find", self.files.package),
            "env": Function("env", self._environment),
            "optenv": Function("optenv", lambda name, default="": self._environment(name, default)),
        }

        def named(name: str):
            if name in own or name in _EVAL:
                return own.get(name, _EVAL.get(name))
            if name not in self.arguments:
                raise KeyError(name)
            return _typed(self.argument(name))

        return text_of(evaluate(text, named, self.budget))

    def require_known(self, path: Path) -> None:
        """Raise ModelError for arguments that the file does not have."""
        unknown = sorted(self.given - self.declared)
        if unknown:
            has = f"It has {choices(sorted(self.declared))}." if self.declared else "It has none."
            raise ModelError(f"{path} has no argument {choices(unknown)}. {has}")


def _typed(text: str) -> Any:
    """An argument as the number or boolean that it spells."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return {"true": True, "false": False}.get(text.lower(), text)
