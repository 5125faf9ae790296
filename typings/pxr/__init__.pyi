"""OpenUSD's modules have no types."""

from typing import Any

def __getattr__(name: str) -> Any: ...
