"""Information of a log in contiguous blocks: what tells how far a fit can be trusted, still without samples."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from array_api_compat import is_jax_array

from steelyard.arguments import with_options
from steelyard.errors import OptionError
from steelyard.information.accumulation import PLAIN, Columns, RegressionSpec, collected, specified
from steelyard.information.model_discrepancy import discrepancies
from steelyard.information.row_kinds import WEAK
from steelyard.information.sums import Information
from steelyard.log import Log
from steelyard.log.log import independence_of
from steelyard.model import Robot

# Blocks of a log: neighbours are merged afterwards until their residuals are independent. Very short blocks cost more
# than they tell, as long as there are some to compare.
MOST, FEWEST, SHORTEST = 64, 16, 32  # blocks, blocks, samples of a block
ENTRIES = 3e7  # of all blocks, what matrices of all columns for every degree would have: a humanoid has fewer blocks


def accumulate_blocks(
    robot: Robot,
    log: Log | Iterable[Log],
    told: Columns = PLAIN,
    *,
    count: int | None = None,
    **more,
) -> tuple[Information, ...]:
    """Informations of contiguous blocks of every log, in order of time; they add up to `accumulate`'s.

    Args:
        robot: as of `accumulate`.
        log: with q, v, a and tau of every joint, or an iterable of logs.
        told: as of `accumulate`; windows of momentum and energy rows end with their block.
        count: blocks of each log, by default 64, fewer (16 at least) for logs of less than two thousand samples and for
            robots of many joints. Blocks of a log differ by one sample at most; a log shorter than `count` has a block
            a sample.
        more: as of `accumulate`.

    Returns:
        The Informations.

    Raises:
        OptionError: fewer than two blocks, and what `accumulate` raises.
    """
    spec = specified(robot, log, with_options(told, "accumulate_blocks", more))
    if count is not None and (not isinstance(count, int | np.integer) or count < 2):
        raise OptionError(f"count={count!r}: residuals are compared between blocks; at least 2 are needed.")
    windows = set(spec.kinds) <= set(WEAK)
    blocks = []
    for each in [log] if isinstance(log, Log) else log:
        fitting = count or _fitting(spec, len(each))
        edges = np.linspace(0, len(each), min(fitting, len(each)) + 1).astype(int)
        own = [collected(spec, each[i:j]) for i, j in pairwise(edges)]
        if not windows:  # a short block cannot tell how many of its samples are independent: its steps may vary
            own = [replace(block, independence=independence_of([each])) for block in own]
        blocks += _with_discrepancies(own, each, edges, spec.told.sample_weights)
    return tuple(blocks)


def _with_discrepancies(blocks: list[Information], log: Log, edges, sample_weights) -> list[Information]:
    """The same with sums of what the model may lack; of rows of the joints of a tree without forces from outside."""
    first = blocks[0]
    if (
        first.robot is None
        or first.robot.loops
        or first.group_names != first.robot.dof_names
        or is_jax_array(log.v)
        or log.contacts
        or log.external
    ):
        return blocks
    found = discrepancies(
        *(first.robot, first.layout, first.columns, log, edges),
        coulomb_width=first.coulomb_width,
        sample_weights=sample_weights,
    )
    return [replace(block, discrepancy=each) for block, each in zip(blocks, found, strict=True)]


def _fitting(spec: RegressionSpec, samples: int) -> int:
    """How many blocks suit a log."""
    numbers = spec.robot.nv * len(spec.basis.columns) ** 2
    return int(np.clip(min(samples / SHORTEST, ENTRIES / numbers), FEWEST, MOST))
