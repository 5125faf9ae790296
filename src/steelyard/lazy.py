"""Names and functions that a package loads on first use, so that importing its face stays light."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose names are loaded on first use.

    package: its `__name__`. homes: path, from the package, of the module that defines each name; a name that the path
    ends with is that module.
    """

    def __getattr__(name: str):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        value = module if homes[name].rpartition(".")[2] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__


def later(package: str, path: str) -> Callable:
    """A function whose module is loaded when it is called. package: its `__name__`; path: from there, "module.name"."""
    module, _, name = path.rpartition(".")

    def call(*given, **named):
        return getattr(import_module(f"{package}.{module}"), name)(*given, **named)

    return call
