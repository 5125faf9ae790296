"""Names, parameters and options that docs/stability.md promises are those of promised.txt: none goes undeprecated.

`PYTHONPATH=tests/make:tests:tests/base:. .venv/bin/python -m test_stability` adds what is new.
"""

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tools.site_pages import API
from typer.main import get_command

import steelyard as sy
from steelyard.app import app

PROMISED = Path(__file__).with_name("promised.txt")


def promised() -> dict[str, set[str]]:
    """Parameters of each name, options of each subcommand."""
    lines = (line.split(": ") for line in PROMISED.read_text("utf-8").splitlines())
    return {name.removesuffix(":"): set(words[0].split() if words else ()) for name, *words in lines}


def parameters(value) -> set[str]:
    if isinstance(value, ModuleType):
        return set()
    try:
        return {name for name in inspect.signature(value).parameters if not name.startswith("_")}
    except (TypeError, ValueError):
        return set()


def present() -> dict[str, set[str]]:
    found = {}
    for package in API:
        module = sy if package == "steelyard" else import_module(f"steelyard.{package}")
        for name in getattr(module, "__all__", ()):
            found[f"{module.__name__}.{name}"] = parameters(getattr(module, name))
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        found[f"$ steelyard {name}"] = {word for each in command.params for word in (*each.opts, *each.secondary_opts)}
    return found


def missing(wanted: dict[str, set[str]], there: dict[str, set[str]]) -> list[str]:
    lost = [name for name in wanted if name not in there]
    return lost + [f"{name} {word}" for name in wanted.keys() & there for word in sorted(wanted[name] - there[name])]


def test_nothing_that_was_promised_is_gone():
    assert missing(promised(), present()) == []


def test_everything_new_is_promised():
    assert missing(present(), promised()) == []


def test_what_goes_is_noticed():
    there = present()
    fewer = there | {"steelyard.load": there["steelyard.load"] - {"folders"}}
    fewer["$ steelyard check"] = there["$ steelyard check"] - {"--strict"}
    del fewer["steelyard.save"]
    expected = ["steelyard.save", "steelyard.load folders", "$ steelyard check --strict"]
    assert sorted(missing(there, fewer)) == sorted(expected)


if __name__ == "__main__":
    now, before = present(), promised()
    both = {name: now.get(name, set()) | before.get(name, set()) for name in now | before}
    lines = (f"{name}: {' '.join(sorted(both[name]))}".rstrip() for name in sorted(both))
    PROMISED.write_text("\n".join(lines) + "\n", "utf-8")
