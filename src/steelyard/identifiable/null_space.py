"""The null space as sparse blocks, one a transfer of inertia, and regrouping by them (paper C, Appendix G).

Regrouping by blocks takes time proportional to their number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.identifiable.basis import Basis, RankDecisions, expressible, from_dependence, null_space_of, rescaled
from steelyard.identifiable.coupled_joints import Transfer, momentum
from steelyard.identifiable.mechanism import NO_COLUMN, Experiment, Mechanism
from steelyard.identifiable.recursion import Recursion, null_space_recursion
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.model.robot import WORLD
from steelyard.terms import TERMS

PAPER_ORDER = np.array([0, 1, 2, 3, 4, 9, 5, 8, 7, 6])  # place in the paper's tables: m h Ixx Iyy Izz Iyz Ixz Ixy


@dataclass(frozen=True, eq=False)
class Block:
    """Null vectors that change `columns` (n,) by `entries` (n, d), and the ten columns of body `parent` by `received`.

    pivots (d,): places in `columns` where `entries` is the identity; those columns are expressed by the others. There
    are none before `_pivoted`.
    """

    columns: np.ndarray
    entries: np.ndarray
    parent: int
    received: np.ndarray
    pivots: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))

    @property
    def count(self) -> int:
        return self.entries.shape[1]


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Mechanism that was analysed, its recursion, and the blocks of its null space."""

    mechanism: Mechanism
    recursion: Recursion
    blocks: tuple[Block, ...]


def find_null_space(made: Callable[[float], Mechanism], experiment: Experiment, tolerance: float) -> NullSpace | None:
    """NullSpace for an experiment, or None where the recursion does not cover it.

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
    return NullSpace(mechanism, found, tuple(_blocks(mechanism, experiment, found)))


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


def null_blocks(
    mechanism: Mechanism,
    experiment: Experiment,
    recursion: Recursion,
    order: np.ndarray,
    *,
    share: float = THRESHOLDS.dependent_share,
) -> list[Block]:
    """All blocks, children before parents. order (p,): place of each column in the order of preference."""
    decisions = recursion.decisions
    waiting: dict[int, list[Block]] = {}
    for spin in mechanism.spins:  # mass, first moment and transverse inertia of a rotor are as good as its carrier's
        raw = Block(spin.columns[:3], np.eye(3), spin.carrier, -spin.lump[:, :3])
        waiting.setdefault(raw.parent, []).append(raw)
    done: list[Block] = []
    for transfer in sorted(recursion.transfers, key=lambda t: -t.members[0]):
        children = {i: waiting.pop(i, []) for i in transfer.members}
        raw, passed = _in_columns(mechanism, transfer, children, decisions)
        done += passed
        waiting.setdefault(raw.parent, []).append(raw)
    done += _on_ground(mechanism, experiment, waiting.pop(WORLD, []), decisions)
    silent = _silent_columns(mechanism, experiment)
    if len(silent):
        done.append(Block(silent, np.eye(len(silent)), WORLD, np.zeros((10, len(silent)))))
    return [_pivoted(raw, order, share) for raw in done if raw.entries.shape[1]]


def _in_columns(mechanism: Mechanism, transfer: Transfer, children: dict[int, list[Block]], decisions: RankDecisions):
    """A transfer in columns. Members that cannot hold ten parameters pass on what their children send them.

    Returns the block of this transfer and those of children that stay blocks of their own.
    """
    partial = [i for i in transfer.members if mechanism.nodes[i].content.shape[1] < 10]
    passed = [raw for i, raws in children.items() if i not in partial for raw in raws]
    merged = [raw for i in partial for raw in children[i]]
    widths = [transfer.count, *(raw.entries.shape[1] for raw in merged)]
    starts = np.concatenate([[0], np.cumsum(widths)])
    kept = np.eye(starts[-1])
    rows = [_received_share(transfer, children, i, merged, starts) for i in partial]
    if partial:
        outside = [_outside(mechanism.nodes[i].content) @ row for i, row in zip(partial, rows, strict=True)]
        kept = null_space_of(np.concatenate(outside), decisions)
    own = kept[: transfer.count]
    columns, entries = [transfer.columns], [transfer.extras @ own]
    for i, share in zip(transfer.members, transfer.shares, strict=True):
        node = mechanism.nodes[i]
        columns.append(node.columns)
        if i in partial:
            total = rows[partial.index(i)] @ kept
            entries.append(
                np.linalg.pinv(node.content) @ total if node.content.shape[1] else np.zeros((0, kept.shape[1]))
            )
        else:
            entries.append(share @ own)
    for raw, start, width in zip(merged, starts[1:], widths[1:], strict=False):
        columns.append(raw.columns)
        entries.append(raw.entries @ kept[start : start + width])
    block = Block(np.concatenate(columns), np.concatenate(entries), transfer.parent, transfer.received @ own)
    return block, passed


def _received_share(transfer, children, member, merged, starts):
    """(10, n) change of a member: its own share, and what the merged blocks of its children send it."""
    total = np.zeros((10, starts[-1]))
    total[:, : transfer.count] = transfer.shares[transfer.members.index(member)]
    for raw, start in zip(merged, starts[1:], strict=False):
        if any(raw is other for other in children[member]):
            total[:, start : start + raw.entries.shape[1]] = raw.received
    return total


def _outside(content):
    """Projector on the parameters that a body cannot have."""
    return np.eye(10) - content @ np.linalg.pinv(content) if content.shape[1] else np.eye(10)


def _on_ground(
    mechanism: Mechanism, experiment: Experiment, raws: list[Block], decisions: RankDecisions
) -> list[Block]:
    """What is handed to the ground goes unnoticed, unless a sensor under the robot weighs it."""
    if WORLD not in experiment.wrenches or not raws:
        return raws
    weighed = momentum(mechanism.gravity[:, None], np.eye(6)).T
    kept = null_space_of(weighed @ np.concatenate([raw.received for raw in raws], axis=1), decisions)
    parts = np.split(kept, np.cumsum([raw.entries.shape[1] for raw in raws])[:-1])
    columns = np.concatenate([raw.columns for raw in raws])
    entries = np.concatenate([raw.entries @ part for raw, part in zip(raws, parts, strict=True)])
    return [Block(columns, entries, WORLD, np.zeros((10, kept.shape[1])))]


def _silent_columns(mechanism: Mechanism, experiment: Experiment) -> np.ndarray:
    """Columns of terms that this experiment cannot show at all."""
    moves = experiment.joints and experiment.dynamic
    shown = {name: moves if term.odd or term.inertial else experiment.joints for name, term in TERMS.items()}
    silent = [columns for name, columns in mechanism.term_columns.items() if not shown[name]]
    columns = np.concatenate(silent) if silent else np.zeros(0, dtype=int)
    return columns[columns != NO_COLUMN]


def _pivoted(raw: Block, order: np.ndarray, share: float) -> Block:
    """Null vectors recombined so that each has a column of its own, the last that it can have."""
    columns, entries = raw.columns, raw.entries
    pivots = expressible(entries, order[columns], share)
    change = np.linalg.inv(entries[pivots])
    entries, received = entries @ change, raw.received @ change
    entries[pivots] = np.eye(len(pivots))
    return Block(columns, entries, raw.parent, received, pivots)


def preference(mechanism: Mechanism) -> np.ndarray:
    """(p,) place of each column in the order in which base parameters are chosen."""
    order = np.arange(mechanism.size)
    for body in range(len(mechanism.layout.body_names)):
        order[mechanism.layout.body(body)] = 10 * body + PAPER_ORDER
    return order


def dependent_columns(blocks: Sequence[Block]) -> np.ndarray:
    """Columns that are not base parameters, ascending."""
    return np.sort(np.concatenate([b.columns[b.pivots] for b in blocks] or [np.zeros(0, dtype=int)]))


def regrouped(mechanism: Mechanism, blocks: Sequence[Block], theta) -> np.ndarray:
    """Parameters (..., p), in the mechanism's units, moved onto base columns; all others become zero."""
    theta = np.array(theta, dtype=float)
    for block in blocks:
        moved = theta[..., block.columns[block.pivots]]
        if block.parent != WORLD:
            theta[..., mechanism.nodes[block.parent].columns] -= moved @ block.received.T
        theta[..., block.columns] -= moved @ block.entries.T
        theta[..., block.columns[block.pivots]] = 0.0
    return theta


def growth(mechanism: Mechanism, blocks: Sequence[Block]) -> float:
    """By what a choice of base columns multiplies parameters of size one, in the mechanism's units, at most."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(4, mechanism.size))
    with np.errstate(over="ignore", invalid="ignore"):
        grown = np.abs(regrouped(mechanism, blocks, signs)).max(initial=0.0)
    return float(grown) if np.isfinite(grown) else np.inf


def basis_of_blocks(mechanism: Mechanism, blocks: Sequence[Block]) -> Basis:
    """Basis in SI units."""
    dependent = dependent_columns(blocks)
    units = np.zeros((len(dependent), mechanism.size))
    units[np.arange(len(dependent)), dependent] = 1.0
    base = np.delete(np.arange(mechanism.size), dependent)  # np.setdiff1d loads masked arrays
    expressed = regrouped(mechanism, blocks, units)[:, base].T
    return rescaled(from_dependence(dependent, expressed), mechanism.scale)
