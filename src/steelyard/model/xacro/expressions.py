"""Expressions of xacro, `${...}`, evaluated over their syntax trees.

Python's grammar without everything that makes or changes something: no assignments, no attributes of objects but the
methods in `functions`, every loop and every value bounded.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from steelyard.model.xacro.functions import Function, attribute, items_of, percent
from steelyard.model.xacro.values import LARGEST, MOST_BITS, Budget, Unevaluable, dotted, measured

LONGEST = 5_000  # characters
DEEPEST = 60  # of a tree, and calls of functions in each other
Scope = Callable[[str], Any]  # value of a name; raises KeyError


def evaluate(text: str, names: Scope, budget: Budget):
    """Value of an expression.

    Args:
        text: the expression.
        names: value of a name; raises KeyError.
        budget: what may still be done.

    Returns:
        A number, text, list, dictionary, or a function of `functions`.

    Raises:
        Unevaluable: with the reason.
    """
    tree = _parsed(text.strip())
    budget.spend(len(text) // 8)
    try:
        return _Walk(names, budget).value(tree)
    except KeyError as error:
        raise Unevaluable(f"there is no key {error}") from error
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise Unevaluable(str(error)) from error
    except (MemoryError, RecursionError) as error:
        raise Unevaluable("it is nested too deeply") from error


@lru_cache(maxsize=2048)
def _parsed(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise Unevaluable(f"it has more than {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise Unevaluable(f"it is no expression ({getattr(error, 'msg', error)})") from error
    except (MemoryError, RecursionError) as error:
        raise Unevaluable("it is nested too deeply") from error


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


class _Walk:
    """One evaluation. names: those of xacro; inner: of comprehensions and lambdas around."""

    def __init__(self, names: Scope, budget: Budget, inner: Mapping[str, Any] | None = None, depth: int = 0):
        self.names, self.budget, self.inner, self.depth = names, budget, inner or {}, depth

    def value(self, node: ast.AST):
        self.budget.spend(1)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise Unevaluable(f"{type(node).__name__} cannot be used in an expression")
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unevaluable("it is nested too deeply")
        found = method(node)
        self.depth -= 1
        return found

    def _made(self, value):
        """A new value, once it is known to be small."""
        if not isinstance(value, Function | bool | float):
            self.budget.spend(measured(value) // 16)
        return value

    def _constant(self, node: ast.Constant):
        if isinstance(node.value, bytes | complex) or node.value is ...:
            raise Unevaluable(f"{node.value!r} cannot be used")
        return self._made(node.value)

    def _name(self, node: ast.Name):
        if node.id in self.inner:
            return self.inner[node.id]
        try:
            return self.names(node.id)
        except KeyError:
            raise Unevaluable(f"'{node.id[:60]}' is not defined") from None

    def _binop(self, node: ast.BinOp):
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mod) and isinstance(left, str):
            return self._made(percent(left, right))
        call = _OPERATORS.get(type(node.op))
        if call is None:
            raise Unevaluable(f"{type(node.op).__name__} cannot be used")
        _require_small(node.op, left, right)
        return self._made(call(left, right))

    def _unaryop(self, node: ast.UnaryOp):
        return self._made(_UNARY[type(node.op)](self.value(node.operand)))

    def _boolop(self, node: ast.BoolOp):
        found = None
        for each in node.values:
            found = self.value(each)
            if bool(found) is isinstance(node.op, ast.Or):
                break
        return found

    def _compare(self, node: ast.Compare):
        left, holds = self.value(node.left), True
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other)
            holds = _COMPARISONS[type(op)](left, right)
            if not holds:
                break
            left = right
        return holds

    def _ifexp(self, node: ast.IfExp):
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _list(self, node: ast.List):
        return self._made(self._items(node.elts))

    def _tuple(self, node: ast.Tuple):
        return self._made(tuple(self._items(node.elts)))

    def _dict(self, node: ast.Dict):
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found |= self.value(value)
            else:
                found[self.value(key)] = self.value(value)
        return self._made(found)

    def _items(self, nodes: list[ast.expr]) -> list:
        found: list[Any] = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                found += items_of(self.value(each.value))
            else:
                found.append(self.value(each))
        return found

    def _subscript(self, node: ast.Subscript):
        owner = self.value(node.value)
        if not isinstance(owner, str | list | tuple | dict | range):
            raise Unevaluable("what is indexed is no list, text or dictionary")
        return dotted(owner[self.value(node.slice)])

    def _slice(self, node: ast.Slice) -> slice:
        return slice(*(None if each is None else self.value(each) for each in (node.lower, node.upper, node.step)))

    def _attribute(self, node: ast.Attribute):
        owner = self.value(node.value)
        if callable(found := getattr(owner, "member", None)):  # a namespace of an include
            return found(node.attr)
        return attribute(owner, node.attr)

    def _call(self, node: ast.Call):
        call = self.value(node.func)
        if not isinstance(call, Function):
            raise Unevaluable("what is called is no function")
        args = self._items(node.args)
        named: dict[str, Any] = {}
        for each in node.keywords:
            named |= {each.arg: self.value(each.value)} if each.arg else self.value(each.value)
        self.budget.spend(5)
        return self._made(call(*args, **named))

    def _lambda(self, node: ast.Lambda) -> Function:
        parameters = [each.arg for each in node.args.args]
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults or node.args.posonlyargs:
            raise Unevaluable("a lambda has plain parameters")

        def call(*args):
            inner = dict(self.inner) | dict(zip(parameters, args, strict=True))
            return _Walk(self.names, self.budget, inner, self.depth + 5).value(node.body)

        return Function("lambda", call)

    def _listcomp(self, node: ast.ListComp):
        return self._made(self._comprehended(node.generators, node.elt))

    def _generatorexp(self, node: ast.GeneratorExp):
        return self._made(self._comprehended(node.generators, node.elt))

    def _comprehended(self, generators: list[ast.comprehension], element: ast.expr) -> list:
        found: list[Any] = []
        inside = _Walk(self.names, self.budget, dict(self.inner), self.depth)

        def run(left: list[ast.comprehension]) -> None:
            if not left:
                found.append(inside.value(element))
                return
            first, *rest = left
            for each in items_of(inside.value(first.iter)):
                self.budget.spend(1)
                inside.inner = dict(inside.inner) | _unpacked(first.target, each)
                if all(inside.value(test) for test in first.ifs):
                    run(rest)

        run(generators)
        return found


def _unpacked(target: ast.expr, value) -> dict[str, Any]:
    """Names of a loop with what they are in one round."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple | ast.List):
        raise Unevaluable("a loop is over plain names")
    parts = list(items_of(value))
    if len(parts) != len(target.elts):
        raise Unevaluable(f"{len(target.elts)} names stand for {len(parts)} values")
    found: dict[str, Any] = {}
    for name, part in zip(target.elts, parts, strict=True):
        found |= _unpacked(name, part)
    return found


def _require_small(op: ast.operator, left, right) -> None:
    """Raise Unevaluable for a product, power or shift that is larger than any robot needs, before it is made."""
    whole = isinstance(left, int) and isinstance(right, int)
    if isinstance(op, ast.Pow) and whole:
        bits = abs(left).bit_length() * abs(right)
    elif isinstance(op, ast.LShift) and whole:
        bits = left.bit_length() + right
    elif isinstance(op, ast.Mult) and not whole and (isinstance(left, int) or isinstance(right, int)):
        times, other = (left, right) if isinstance(left, int) else (right, left)
        bits = times * measured(other) * MOST_BITS // LARGEST if isinstance(other, str | list | tuple) else 0
    else:
        bits = 0
    if bits > MOST_BITS:
        raise Unevaluable(f"a number, text or list has more than {MOST_BITS} bits or {LARGEST:,} characters")
