"""From a robot and an experiment to blocks of null vectors: the file's geometry unless that is ambiguous."""

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.identifiable.assembly import Block, null_blocks
from steelyard.identifiable.mechanism import Mechanism
from steelyard.identifiable.recursion import Recursion, null_space_recursion
from steelyard.identifiable.regroup import growth, preference
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.identifiable.transfer import Experiment


@dataclass(frozen=True, eq=False)
class Solution:
    """Mechanism that was analysed, its recursion, and the blocks of its null space."""

    mechanism: Mechanism
    recursion: Recursion
    blocks: tuple[Block, ...]


def solve(made: Callable[[float], Mechanism], experiment: Experiment, tolerance: float) -> Solution | None:
    """Solution for an experiment, or None where the recursion does not cover it.

    made: builds the mechanism with a tolerance for nearly special relations of axes, 0 for the file's geometry.
    """
    mechanism = made(0.0)
    found = null_space_recursion(mechanism, experiment)
    if found is None:
        return None
    if found.decisions.kept < THRESHOLDS.suspicious and tolerance > 0:
        cleaned = made(tolerance)
        again = null_space_recursion(cleaned, experiment) if cleaned.rounded > 0 else None
        mechanism, found = (cleaned, again) if again is not None else (mechanism, found)
    return Solution(mechanism, found, tuple(_blocks(mechanism, experiment, found)))


def _blocks(mechanism: Mechanism, experiment: Experiment, found: Recursion) -> list[Block]:
    """Blocks with the paper's choice of base columns, or one in which no multiples grow.

    Where frames lie a little off their axes, the paper's choice expresses a moment by a large multiple of the mass
    behind it, each joint by that of the next: a spine of thirty joints multiplies to 1e27. Masses, which a joint hands
    on as they are, and then first moments are expressed instead.
    """
    order = preference(mechanism)
    blocks = null_blocks(mechanism, experiment, found, order)
    if growth(mechanism, blocks) < THRESHOLDS.largest_growth:
        return blocks
    return null_blocks(mechanism, experiment, found, -order, share=THRESHOLDS.stable_share)
