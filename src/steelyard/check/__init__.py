"""The model linter: what is wrong with a URDF, MJCF or SDF file, where, why, and how to repair it."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from steelyard.check.catalog import DESTINATIONS, RULES, run
from steelyard.check.command_line import check_models
from steelyard.check.rule import Finding, Findings
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.check.engines import EngineComparison, compare_engines
    from steelyard.check.repaired_copy import Repair, repair

# Loaded on first use: they need the dynamics.
__getattr__ = lazy(
    __name__,
    {
        "Repair": "repaired_copy",
        "repair": "repaired_copy",
        "EngineComparison": "engines",
        "compare_engines": "engines",
    },
)


class _Callable(ModuleType):
    """`steelyard.check(path)` is `steelyard.check.run(path)`."""

    def __call__(self, path, **options) -> Findings:
        """Findings of a model, or of every model of a folder or pattern; options: of `run`."""
        return run(path, **options)


sys.modules[__name__].__class__ = _Callable

__all__ = [
    "DESTINATIONS",
    "RULES",
    "EngineComparison",
    "Finding",
    "Findings",
    "Repair",
    "check_models",
    "compare_engines",
    "repair",
    "run",
]
