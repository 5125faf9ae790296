"""What the code is made of: packages, imports, and how far they keep the rules of CONTRIBUTING.md.

`python tools/house.py` prints the counts; tests/docs/test_house.py holds the rules.
"""

import ast
import gc
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "steelyard"
SMALL = 60  # lines: a file that only one other imports joins it below this
LONG = 450  # lines
SATELLITES = ("payload", "excite", "check", "fleet", "viewer", "calibration")  # around the core, apart from each other
ABOVE = ("", "__main__", "app", "plot")  # may import satellites
# Found through a registry, or handed to users as a module of their own.
PLUG_INS = (
    "check/rules_*.py",
    "log/*.py",
    "app/commands/*.py",
    "diagnose/hypotheses/*.py",
    "model/library.py",
)


@dataclass(frozen=True)
class Import:
    """One name taken by one module. target: the module that the statement names, or the submodule that the name is."""

    source: str
    target: str
    name: str


@cache
def modules() -> dict[str, Path]:
    """File of every module, by its dotted name without `steelyard.`; the package itself is ""."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    collects = gc.isenabled()
    gc.disable()  # trees are kept: walks over all of them again and again took two thirds of the time
    try:
        return ast.parse(modules()[module].read_text("utf-8"))
    finally:
        if collects:
            gc.enable()


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """What a tree does, inside functions and blocks too; no import is in an expression."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


@cache
def imports() -> tuple[Import, ...]:
    """Every import of one module of the library by another, inside functions too."""
    found = []
    for source in modules():
        for node in statements(tree(source)):
            if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith("steelyard."):
                target = node.module.removeprefix("steelyard").removeprefix(".")
                for alias in node.names:
                    inner = f"{target}.{alias.name}".removeprefix(".")
                    found.append(Import(source, inner if inner in modules() else target, alias.name))
    return tuple(found)


def package(module: str) -> str:
    return module.partition(".")[0]


@cache
def public_names(of: str) -> frozenset[str]:
    """`__all__` of a package, or the names that a loose module defines."""
    for node in tree(of).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return frozenset(ast.literal_eval(node.value))
    return frozenset(getattr(node, "name", "") for node in tree(of).body) - {""}


def faces() -> list[str]:
    """Packages: modules whose `__all__` is what users may call."""
    return [name for name, path in modules().items() if name and path.name == "__init__.py"]


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected groups of two or more (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node: str):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in list(edges):
        if node not in index:
            visit(node)
    return found


def module_edges() -> dict[str, set[str]]:
    edges = defaultdict(set)
    for each in imports():
        if each.source != each.target and each.source and modules()[each.source].name != "__init__.py":
            edges[each.source].add(each.target)
    return edges


def package_edges() -> dict[str, set[str]]:
    edges = defaultdict(set)
    for each in imports():
        if each.source and package(each.source) != package(each.target):
            edges[package(each.source)].add(package(each.target))
    return edges


def importers() -> dict[str, set[str]]:
    """Modules that import each module, faces left aside."""
    found = defaultdict(set)
    for each in imports():
        if modules()[each.source].name != "__init__.py":
            found[each.target].add(each.source)
    return found


def of_satellites() -> list[Import]:
    """Imports of a satellite by the core or by another satellite."""
    return [
        each
        for each in imports()
        if package(each.target) in SATELLITES and package(each.source) not in (*ABOVE, package(each.target))
    ]


def lines(module: str) -> int:
    return len(modules()[module].read_text("utf-8").splitlines())


def small_with_one_importer() -> list[str]:
    """Modules that should join the only one that imports them; plug-ins of a registry may stay alone."""
    plug_ins = {path for pattern in PLUG_INS for path in SOURCE.glob(pattern)}
    by = importers()
    return sorted(
        name
        for name, path in modules().items()
        if "." in name
        and path.name != "__init__.py"
        and path not in plug_ins
        and lines(name) < SMALL
        and len(by[name]) == 1
    )


def named_like_a_function() -> list[str]:
    """Modules whose name is that of a public function of their package or, of those at the top, of the library."""
    return sorted(
        name
        for name in modules()
        if name and name.rpartition(".")[2] in functions(package(name) if "." in name else "")
    )


@cache
def functions(of: str) -> frozenset[str]:
    """Functions among the public names of a package; of the library for ""."""
    if not of:  # its stub takes functions from packages, and whole modules from the library
        stub = ast.parse((SOURCE / "__init__.pyi").read_text("utf-8"))
        taken = (n for n in stub.body if isinstance(n, ast.ImportFrom) and n.module != "steelyard")
        return frozenset(alias.name for n in taken for alias in n.names if alias.name.islower())
    if of not in modules() or modules()[of].name != "__init__.py":
        return frozenset()
    inside = (name for name in modules() if package(name) == of)
    handed_on = {each.name for each in imports() if each.source == of and each.target == f"{of}.{each.name}"}
    defined = {n.name for name in inside for n in tree(name).body if isinstance(n, ast.FunctionDef)}
    return frozenset(defined & public_names(of) - handed_on)  # a module of that name is the public one


def same_names() -> dict[str, list[str]]:
    """File names that stand in more than one package."""
    found = defaultdict(list)
    for name, path in modules().items():
        if path.name != "__init__.py":
            found[path.name].append(name)
    return {name: sorted(where) for name, where in found.items() if len(where) > 1}


def public_definitions() -> int:
    """Functions and classes at the top of modules whose names do not begin with an underscore."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    trees = (ast.parse(path.read_text("utf-8")) for path in modules().values())
    return sum(isinstance(n, kinds) and not n.name.startswith("_") for tree in trees for n in tree.body)


def counts() -> dict[str, int]:
    between = [each for each in imports() if each.source and package(each.source) != package(each.target)]
    return {
        "files": len(modules()),
        "lines": sum(lines(name) for name in modules()),
        "files under 60 lines with one importer": len(small_with_one_importer()),
        "files over 450 lines": sum(lines(name) > LONG for name in modules()),
        "imports between packages": len(between),
        "public names of packages": sum(len(public_names(name)) for name in faces()),
        "circles of modules": len(circles(module_edges())),
        "circles of packages": len(circles(package_edges())),
        "imports of satellites by others": len(of_satellites()),
        "public definitions": public_definitions(),
        "file names used more than once": len(same_names()),
        "modules named like a public function": len(named_like_a_function()),
    }


if __name__ == "__main__":
    for what, count in counts().items():
        print(f"{count:7,}  {what}")
    by_package = Counter(package(name) or "." for name in modules())
    for name, files in sorted(by_package.items()):
        print(f"{files:4} files {sum(lines(m) for m in modules() if (package(m) or '.') == name):6} lines  {name}")
    for each in of_satellites():
        print("satellite:", each)
    for group in circles(module_edges()) + circles(package_edges()):
        print("circle:", group)
    print("named like a function:", named_like_a_function())
    print("same file names:", same_names())
    print("small, one importer:", small_with_one_importer())
