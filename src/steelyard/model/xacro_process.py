"""xacro in a process of its own, which opens nothing: what a file names it asks for, one line of JSON each way.

Expressions of xacro are Python and may get around the names that they are given. So memory and time are bounded, and
files, processes, connections and modules are out of reach: by limits of the system where it has them, and by Python.
"""

import io
import json
import os
import sys
from contextlib import suppress
from types import CodeType, SimpleNamespace
from typing import Any
from xml.dom.minidom import Document

MEMORY = 2**29  # bytes
NOTHING = ("RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_FSIZE")
EVENTS = frozenset({"compile", "exec", "builtins.id"})  # audit events of what xacro does
WARNED = ("warning: ", "error: ")
IN, OUT = sys.stdin, sys.stdout


class Refused(BaseException):
    """Says why a file is not expanded. No `Exception`: xacro makes those its own."""


class Arguments(dict):
    """Arguments by name. used: names that the file has."""

    def __init__(self, given: dict[str, str]):
        super().__init__(given)
        self.used: set[str] = set()

    def __contains__(self, name) -> bool:
        self.used.add(name)
        return super().__contains__(name)

    def __getitem__(self, name):
        self.used.add(name)
        return super().__getitem__(name)

    def __missing__(self, name):
        raise Refused(
            f"argument '{name[:60]}' has no default. Give it: --arg {name}=VALUE (arguments={{{name!r}: VALUE}})"
        )


class FilePlace:
    """Keeps file and line of an element with its copies."""

    def handle(self, operation, key, data, src, dst):
        dst.setUserData(key, data, self)


class Expansion:
    """Of one file. at: the element that xacro looked at last, where it fails."""

    def __init__(self, xacro, path: str):
        self.xacro, self.path, self.notes = xacro, path, []
        self.at = Document().createElement("robot")
        arguments = xacro.substitution_args
        for name, call in {
            "find": lambda name: ask("package", name),
            "env": _variable,
            "optenv": self.optional,
        }.items():
            setattr(arguments, f"_eval_{name}", call)
            arguments._eval_dict[name] = call
        for name in ("eval_all", "handle_macro_call", "check_attrs", "reqd_attrs"):
            setattr(xacro, name, self.watched(getattr(xacro, name)))
        xacro.safe_eval = _checked(xacro.safe_eval)
        xacro._global_symbols["python"].pop("vars")
        xacro.glob = SimpleNamespace(glob=lambda pattern: ask("matching", pattern))
        xacro.open = lambda name: io.StringIO(ask("text", name))
        xacro.parse = self.parsed

    def result(self, given: dict[str, str]) -> dict[str, Any]:
        """Text of the URDF, file and line of each of its elements, names of arguments, and notes."""
        arguments = Arguments(given)
        sys.stdout = sys.stderr = said = io.StringIO()
        self.xacro.init_stacks(self.path)
        document = self.parsed(None, self.path)
        self.xacro.process_doc(document, mappings=arguments)
        warnings = [each.partition(": ")[2] for each in said.getvalue().split("\n") if each.startswith(WARNED)]
        return {
            "text": document.toprettyxml(indent="  "),
            "places": [each.getUserData("place") for each in document.getElementsByTagName("*")],
            "arguments": sorted(arguments.used),
            "notes": warnings + self.notes,
        }

    def optional(self, name: str, default: str = "") -> str:
        self.notes.append(f"$(optenv {name[:60]}) is '{default[:60]}', its default; the environment is not read.")
        return default

    def watched(self, function):
        def call(element, *others):
            self.at = element
            return function(element, *others)

        return call

    def parsed(self, _, name: str) -> Document:
        """Stands for xacro's own, which opens files."""
        tree, document = ask("tree", name), Document()
        if tree is None:
            self.xacro.filestack.pop()
            raise self.xacro.XacroException(f"'{name}' does not exist", exc=FileNotFoundError())
        document.appendChild(_element(document, name, *tree))
        return document

    def reason(self, error: BaseException) -> str:
        """Why an expansion failed, with file, line and element."""
        cause = error
        while getattr(cause, "exc", None) is not None:
            cause = cause.exc  # type: ignore[attr-defined]
        told = str(cause if str(error).startswith("<class") else error)  # xacro names classes of Python's
        said = " ".join(told.split()) or type(cause).__name__
        if isinstance(cause, MemoryError):
            said = "the file takes more memory than a robot needs"
        elif isinstance(cause, RecursionError):
            said = "macros, properties or elements are nested too deeply"
        file, line = self.at.getUserData("place") or (self.path, 1)
        return f"{file}, line {line}, <{self.at.tagName[:60]}>: {said[:400]}."


def ask(kind: str, name: str) -> Any:
    """What the process that started this one says of a name. Raises Refused."""
    print(json.dumps([kind, name], ensure_ascii=False), file=OUT, flush=True)
    answer = json.loads(IN.readline())
    if "refused" in answer:
        raise Refused(answer["refused"].removesuffix("."))
    return answer["given"]


def _variable(name: str):
    """A variable of the environment is never looked up: the robot would depend on where it is read."""
    raise Refused(
        f"the environment variable {name[:60]} is not read. Write an <xacro:arg> in its place, and give that by --arg"
    )


def _checked(evaluate):
    """xacro's evaluation of an expression, which looks for hidden names in the outermost of its functions alone."""

    def call(expression: str, *names):
        codes = [compile(expression.strip(), "<expression>", "eval")]
        for code in codes:
            codes += [each for each in code.co_consts if isinstance(each, CodeType)]
            hidden = next((each for each in code.co_names if each.startswith("__") or each == "gi_frame"), None)
            if hidden:
                raise Refused(f"'{hidden[:60]}' cannot be used in ${{{expression[:80]}}}")
        return evaluate(expression, *names)

    return call


def _element(document: Document, file: str, tag: str, line: int, attributes: dict, text: str, children: list):
    made = document.createElementNS(_space(tag), tag)
    made.setUserData("place", (file, line), FilePlace())
    for name, value in attributes.items():
        made.setAttributeNS(_space(name), name, value)
    if text.strip():
        made.appendChild(document.createTextNode(text))
    for child in children:
        made.appendChild(_element(document, file, *child))
    return made


def _space(name: str) -> str | None:
    """What tells `xacro:name` from `name` in the tables of a DOM."""
    return name.partition(":")[0] if ":" in name else None


def _seal(seconds: int) -> None:
    """Take from this process what it does not need. Later than any import."""
    bounds = dict.fromkeys(NOTHING, 0) | {"RLIMIT_AS": MEMORY, "RLIMIT_CPU": seconds}
    with suppress(ImportError):  # elsewhere than on Unix
        import resource

        for name, most in bounds.items():
            with suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, name), (most, most))
    os.environ.clear()
    sys.addaudithook(_refuse)


def _refuse(event: str, _) -> None:
    if event not in EVENTS:
        raise Refused(f"an expression asks Python for '{event}', which no robot needs")


def main() -> None:
    assert isinstance(OUT, io.TextIOWrapper)
    OUT.reconfigure(encoding="utf-8", errors="replace")  # expressions can make halves of characters
    given = json.loads(IN.readline())
    sys.path[:] = given["search"]
    import xacro.substitution_args

    expansion = Expansion(xacro, given["path"])
    _seal(given["seconds"])
    try:
        line = json.dumps(expansion.result(given["arguments"]), ensure_ascii=False)
    except (Refused, Exception) as error:
        line = json.dumps({"refused": expansion.reason(error)}, ensure_ascii=False)
    print(line, file=OUT, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
