"""Names of xacro: properties in scopes, evaluated when they are first used, and the texts that use them.

A macro sees what its caller sees (dynamic scope). Texts are cut into `${expression}`, `$(substitution)`, `$${` for a
bare `${`, and the rest.
"""

import re
from collections.abc import Callable
from typing import Any

from steelyard.model.xacro.expressions import evaluate
from steelyard.model.xacro.values import Budget, Spot, Unevaluable, literal, spotted, text_of

TOKEN = re.compile(
    r"(?P<escape>\$\$+[{(])|\$\{(?P<expression>[^}]*)\}|\$\((?P<substitution>[^)]*)\)|(?P<text>[^$]+|\$[^{($]+|\$$)"
)
DEEPEST = 50  # properties that are defined by one another
Piece = tuple[str, Spot | None]


class Scope:
    """Values by name; what it has not, its parent may. namespace: whether it is that of an include."""

    def __init__(self, texts: "Texts", parent: "Scope | None" = None, *, namespace: bool = False):
        self.texts, self.parent, self.namespace = texts, parent, namespace
        self.values: dict[str, Any] = {}
        self.lazy: set[str] = set()
        self.resolving: list[str] = []

    def __contains__(self, name: str) -> bool:
        return self._owner(name) is not None or name in self.texts.known

    def _owner(self, name: str) -> "Scope | None":
        scope: Scope | None = self
        while scope is not None and name not in scope.values:
            scope = scope.parent
        return scope

    def __call__(self, name: str) -> Any:
        """Value of a name. Raises KeyError for one that nobody defined."""
        owner = self._owner(name)
        if owner is None:
            return self.texts.known[name]
        return owner._own(name)

    def member(self, name: str) -> Any:
        """`namespace.name` in an expression. Raises Unevaluable."""
        try:
            return self(name)
        except KeyError:
            raise Unevaluable(f"'{name[:60]}' is not defined in that namespace") from None

    def _own(self, name: str) -> Any:
        if name in self.lazy:
            if name in self.resolving or len(self.resolving) > DEEPEST:
                raise Unevaluable(
                    f"properties are defined by one another: {' -> '.join([*self.resolving, name])[:200]}"
                )
            self.resolving.append(name)
            try:
                self.values[name] = literal(self.texts.value(self.values[name], self))
                self.lazy.discard(name)
            finally:
                self.resolving.pop()
        return self.values[name]

    def set(self, name: str, value, *, lazy: bool) -> None:
        """Define a name here. lazy: whether a text that is no number is evaluated when it is first used."""
        value = literal(value)
        self.values[name] = value
        if lazy and isinstance(value, str):
            self.lazy.add(name)
        else:
            self.lazy.discard(name)

    def remove(self, name: str) -> None:
        """Take a name from here and all scopes around."""
        scope: Scope | None = self
        while scope is not None:
            scope.values.pop(name, None)
            scope.lazy.discard(name)
            scope = scope.parent

    def top(self) -> "Scope":
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Texts:
    """Texts with expressions in them. known: names that are everywhere; substitute: what `$(...)` stands for."""

    def __init__(self, known: dict[str, Any], substitute: Callable[[str], str], budget: Budget):
        self.known, self.substitute, self.budget = known, substitute, budget

    def value(self, text: str, scope: Scope) -> Any:
        """What a text stands for: of one expression alone its value, else a text. Raises Unevaluable."""
        values = self._values(text, scope)
        if len(values) == 1:
            return values[0]
        return self.joined([text_of(each) for each in values])

    def pieces(self, text: str, scope: Scope) -> tuple[Piece, ...]:
        """The parts of what a text stands for, each with the place in a file that alone says it."""
        return tuple((text_of(each), getattr(each, "spot", None)) for each in self._values(text, scope))

    def joined(self, parts: list[str]) -> str:
        self.budget.spend(sum(map(len, parts)) // 16)
        return "".join(parts)

    def _values(self, text: str, scope: Scope) -> list[Any]:
        if "$" not in text:
            return [text] if text else []
        self.budget.spend(len(text) // 16 + 1)
        found, at = [], 0
        while at < len(text):
            token = TOKEN.match(text, at)
            if token is None:
                raise Unevaluable(f"'{text[at : at + 60]}' is neither an expression nor a text")
            found.append(self._token(token, scope))
            at = token.end()
        return found

    def _token(self, token: re.Match, scope: Scope) -> Any:
        if token["escape"]:
            return token["escape"][1:]
        if token["text"]:
            return token["text"]
        try:
            if token["expression"] is not None:
                return evaluate(text_of(self.value(token["expression"], scope)), scope, self.budget)
            return self.substitute(text_of(self.value(token["substitution"], scope)))
        except Unevaluable as error:
            raise Unevaluable(_with_expression(str(error), token[0])) from error


def _with_expression(said: str, text: str) -> str:
    """A reason, with the innermost expression that it is about."""
    shown = text if len(text) <= 80 else f"{text[:80]}..."
    return said if said.startswith(("in ${", "in $(")) else f"in {shown}: {said}"


def spot_of(value, spot: Spot | None):
    """A text of an attribute with its place, if it stands there for itself."""
    return value if "$" in value else spotted(value, spot)
