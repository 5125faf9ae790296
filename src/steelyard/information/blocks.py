"""Information of a log in contiguous blocks: what tells how far a fit can be trusted, still without samples."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from array_api_compat import is_jax_array

from steelyard.arguments import require_each, require_type
from steelyard.dynamics import with_motors
from steelyard.errors import OptionError
from steelyard.identifiable import regression_basis
from steelyard.information.accumulation import accumulate
from steelyard.information.model_discrepancy import discrepancies
from steelyard.information.row_kinds import WEAK, kinds_of
from steelyard.information.sums import Information
from steelyard.job import FRICTION
from steelyard.log import Log, independence_of
from steelyard.model import Robot
from steelyard.terms import layout_of

COLUMNS = ("friction", "armature", "coupling", "springs", "extra", "rotors")  # options of `accumulate` that add columns
# Blocks of a log: neighbours are merged afterwards until their residuals are independent. Very short blocks cost more
# than they tell, as long as there are some to compare.
MOST, FEWEST, SHORTEST = 64, 16, 32  # blocks, blocks, samples of a block
ENTRIES = 3e7  # of all blocks, what matrices of all columns for every degree would have: a humanoid has fewer blocks


def accumulate_blocks(
    robot: Robot,
    log: Log | Iterable[Log],
    *,
    count: int | None = None,
    engine: str = "auto",
    **options,
) -> tuple[Information, ...]:
    """Informations of contiguous blocks of every log, in order of time; they add up to `accumulate`'s.

    Args:
        robot: as of `accumulate`.
        log: with q, v, a and tau of every joint, or an iterable of logs.
        count: blocks of each log, by default 64, fewer (16 at least) for logs of less than two thousand samples and for
            robots of many joints. Blocks of a log differ by one sample at most; a log shorter than `count` has a block
            a sample.
        engine: as of `accumulate`.
        options: of `accumulate`; windows of momentum and energy rows end with their block.

    Returns:
        The Informations.

    Raises:
        OptionError: fewer than two blocks, and what `accumulate` raises.
    """
    require_type(Robot, robot=robot)
    require_each(Log, log=log)
    if "extra" in options:
        options["extra"] = tuple(options["extra"])  # used for every block
    if count is not None and (not isinstance(count, int | np.integer) or count < 2):
        raise OptionError(f"count={count!r}: residuals are compared between blocks; at least 2 are needed.")
    windows = set(kinds_of(robot, options.get("rows", "joints"))) <= set(WEAK)
    blocks = []
    for each in [log] if isinstance(log, Log) else log:
        fitting = count or _fitting(robot, each, options)
        edges = np.linspace(0, len(each), min(fitting, len(each)) + 1).astype(int)
        own = [accumulate(robot, each[i:j], engine=engine, **options) for i, j in pairwise(edges)]
        if not windows:  # a short block cannot tell how many of its samples are independent: its steps may vary
            own = [replace(block, independence=independence_of([each])) for block in own]
        blocks += _with_discrepancies(own, each, edges, options)
    return tuple(blocks)


def _with_discrepancies(blocks: list[Information], log: Log, edges, options: dict) -> list[Information]:
    """The same with sums of what the model may lack; of rows of the joints of a tree only."""
    first = blocks[0]
    if first.robot is None or first.robot.loops or first.group_names != first.robot.dof_names or is_jax_array(log.v):
        return blocks
    weights = options.get("sample_weights")
    found = discrepancies(
        *(first.robot, first.layout, first.columns, log, edges),
        coulomb_width=first.coulomb_width,
        sample_weights=weights,
    )
    return [replace(block, discrepancy=each) for block, each in zip(blocks, found, strict=True)]


def _fitting(robot, log: Log, options: dict) -> int:
    """How many blocks suit a log."""
    robot = with_motors(robot)
    columns = {name: options[name] for name in COLUMNS if name in options}
    kept = regression_basis(robot, layout_of(robot, **{"friction": FRICTION, **columns})).columns
    return int(np.clip(min(len(log) / SHORTEST, ENTRIES / (robot.nv * len(kept) ** 2)), FEWEST, MOST))
