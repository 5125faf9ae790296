"""From a robot and an experiment to blocks of null vectors: the file's geometry unless that is ambiguous."""

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.identifiable import assembly, recursion, regroup
from steelyard.identifiable.mechanism import Mechanism
from steelyard.identifiable.transfer import Experiment

# A direction that sticks out less than this counts, but may be the rounding of a file: then nearly special relations
# of axes are made exact and the analysis is done again. Small angles that are meant survive that.
SUSPICIOUS = 2e-4
GROWN = 1e4  # by which base columns may multiply parameters: Gram matrices square it, and have sixteen digits
CARRIED = 0.1  # share of a null vector that a column then carries at least to be expressed by the others


@dataclass(frozen=True, eq=False)
class Solution:
    """Mechanism that was analysed, its recursion, and the blocks of its null space."""

    mechanism: Mechanism
    recursion: recursion.Recursion
    blocks: tuple[assembly.Block, ...]


def solve(made: Callable[[float], Mechanism], experiment: Experiment, tolerance: float) -> Solution | None:
    """Solution for an experiment, or None where the recursion does not cover it.

    made: builds the mechanism with a tolerance for nearly special relations of axes, 0 for the file's geometry.
    """
    mechanism = made(0.0)
    found = recursion.run(mechanism, experiment)
    if found is None:
        return None
    if found.decisions.kept < SUSPICIOUS and tolerance > 0:
        cleaned = made(tolerance)
        again = recursion.run(cleaned, experiment) if cleaned.snapped > 0 else None
        mechanism, found = (cleaned, again) if again is not None else (mechanism, found)
    return Solution(mechanism, found, tuple(_blocks(mechanism, experiment, found)))


def _blocks(mechanism: Mechanism, experiment: Experiment, found: recursion.Recursion) -> list[assembly.Block]:
    """Blocks with the paper's choice of base columns, or one in which no multiples grow.

    Where frames lie a little off their axes, the paper's choice expresses a moment by a large multiple of the mass
    behind it, each joint by that of the next: a spine of thirty joints multiplies to 1e27. Masses, which a joint hands
    on as they are, and then first moments are expressed instead.
    """
    order = regroup.preference(mechanism)
    blocks = assembly.blocks(mechanism, experiment, found, order)
    if regroup.growth(mechanism, blocks) < GROWN:
        return blocks
    return assembly.blocks(mechanism, experiment, found, -order, share=CARRIED)
