"""TOML tables that know where they stand: strict, typed reading with messages that name file, key and remedy."""

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from steelyard.errors import ModelError, choices


@dataclass(frozen=True)
class Table:
    """A TOML table that knows where it stands. Getters return None for an absent key and refuse wrong types."""

    values: dict
    where: str  # file and key path, to start messages with, such as `arm.steelyard.toml: rotor[2]`

    def refuse_unknown(self, valid):
        for key in self.values:
            if key not in valid:
                near = difflib.get_close_matches(key, valid, n=1)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                raise ModelError(f"{self.name(key)} is not known.{hint} Valid here: {choices(valid)}.")

    def name(self, key: str) -> str:
        """File and path of a key."""
        return f"{self.where}.{key}" if self.where.endswith("]") else f"{self.where}: {key}"

    def refuse(self, key: str, expected: str) -> NoReturn:
        found = repr(self.values[key])
        raise ModelError(f"{self.name(key)} is {found[:80]}; expected {expected}.")

    def tables(self, key: str) -> list["Table"]:
        entries = self.values.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self.refuse(key, f"an array of tables: start each entry with [[{key}]]")
        return [Table(entry, f"{self.name(key)}[{index}]") for index, entry in enumerate(entries)]

    def table(self, key: str) -> "Table":
        """A table inside this one, empty when absent."""
        if not isinstance(self.values.get(key, {}), dict):
            self.refuse(key, f"a table: start it with [{key}]")
        where = f"{self.where[:-1]}.{key}]" if self.where.endswith("]") else f"{self.where}: [{key}]"
        return Table(self.values.get(key, {}), where)

    def _given(self, key: str, fits: Callable[[Any], bool], expected: str) -> Any:
        value = self.values.get(key)
        if value is not None and not fits(value):
            self.refuse(key, expected)
        return value

    def text(self, key: str) -> str | None:
        return self._given(key, lambda value: isinstance(value, str), "a string")

    def texts(self, key: str) -> tuple[str, ...] | None:
        value = self._given(key, lambda value: _all(value, lambda each: isinstance(each, str)), "a list of strings")
        return None if value is None else tuple(value)

    def flag(self, key: str) -> bool | None:
        return self._given(key, lambda value: isinstance(value, bool), "true or false")

    def number(self, key: str) -> float | None:
        value = self._given(key, _finite, "one finite number")
        return None if value is None else float(value)

    def numbers(self, key: str, count: int) -> np.ndarray | None:
        expected = f"a list of {count} finite numbers"
        value = self._given(key, lambda value: _all(value, _finite) and len(value) == count, expected)
        return None if value is None else np.array(value, dtype=float)


def _all(value, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _finite(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
