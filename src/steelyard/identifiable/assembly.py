"""From transfers across joints to blocks of null vectors in the columns of a regression (paper C, Appendix G)."""

from dataclasses import dataclass

import numpy as np

from steelyard.identifiable.basis import DEPENDENT, expressible
from steelyard.identifiable.maps import momentum
from steelyard.identifiable.mechanism import GROUND, NO_COLUMN, Mechanism
from steelyard.identifiable.recursion import Recursion
from steelyard.identifiable.spans import Decisions, null_space
from steelyard.identifiable.transfer import Experiment, Transfer
from steelyard.terms import TERMS


@dataclass(frozen=True, eq=False)
class Block:
    """Null vectors that change `columns` (n,) by `entries` (n, d), and the ten columns of body `parent` by `received`.

    pivots (d,): places in `columns` where `entries` is the identity; those columns are expressed by the others.
    """

    columns: np.ndarray
    entries: np.ndarray
    parent: int
    received: np.ndarray
    pivots: np.ndarray

    @property
    def count(self) -> int:
        return self.entries.shape[1]


@dataclass(frozen=True, eq=False)
class _Raw:
    columns: np.ndarray
    entries: np.ndarray
    parent: int
    received: np.ndarray


def blocks(
    mechanism: Mechanism, experiment: Experiment, recursion: Recursion, order: np.ndarray, *, share: float = DEPENDENT
) -> list[Block]:
    """All blocks, children before parents. order (p,): place of each column in the order of preference.

    share: see `basis.expressible`.
    """
    decisions = recursion.decisions
    waiting: dict[int, list[_Raw]] = {}
    for raw in _spin_lumps(mechanism):
        waiting.setdefault(raw.parent, []).append(raw)
    done: list[_Raw] = []
    for transfer in sorted(recursion.transfers, key=lambda t: -t.members[0]):
        children = {i: waiting.pop(i, []) for i in transfer.members}
        raw, passed = _in_columns(mechanism, transfer, children, decisions)
        done += passed
        waiting.setdefault(raw.parent, []).append(raw)
    done += _on_ground(mechanism, experiment, waiting.pop(GROUND, []), decisions)
    silent = _silent_columns(mechanism, experiment)
    if len(silent):
        done.append(_Raw(silent, np.eye(len(silent)), GROUND, np.zeros((10, len(silent)))))
    return [_pivoted(raw, order, share) for raw in done if raw.entries.shape[1]]


def _spin_lumps(mechanism: Mechanism) -> list[_Raw]:
    """Mass, first moment and transverse inertia of a symmetric rotor are as good as its carrier's."""
    return [_Raw(spin.columns[:3], np.eye(3), spin.carrier, -spin.lump[:, :3]) for spin in mechanism.spins]


def _in_columns(mechanism: Mechanism, transfer: Transfer, children: dict[int, list[_Raw]], decisions: Decisions):
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
        kept = null_space(np.concatenate(outside), decisions)
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
    block = _Raw(np.concatenate(columns), np.concatenate(entries), transfer.parent, transfer.received @ own)
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


def _on_ground(mechanism: Mechanism, experiment: Experiment, raws: list[_Raw], decisions: Decisions) -> list[_Raw]:
    """What is handed to the ground goes unnoticed, unless a sensor under the robot weighs it."""
    if GROUND not in experiment.wrenches or not raws:
        return raws
    weighed = momentum(mechanism.gravity[:, None], np.eye(6)).T
    kept = null_space(weighed @ np.concatenate([raw.received for raw in raws], axis=1), decisions)
    parts = np.split(kept, np.cumsum([raw.entries.shape[1] for raw in raws])[:-1])
    columns = np.concatenate([raw.columns for raw in raws])
    entries = np.concatenate([raw.entries @ part for raw, part in zip(raws, parts, strict=True)])
    return [_Raw(columns, entries, GROUND, np.zeros((10, kept.shape[1])))]


def _silent_columns(mechanism: Mechanism, experiment: Experiment) -> np.ndarray:
    """Columns of terms that this experiment cannot show at all."""
    moves = experiment.joints and experiment.dynamic
    shown = {name: moves if term.odd or term.inertial else experiment.joints for name, term in TERMS.items()}
    silent = [columns for name, columns in mechanism.term_columns.items() if not shown[name]]
    columns = np.concatenate(silent) if silent else np.zeros(0, dtype=int)
    return columns[columns != NO_COLUMN]


def _pivoted(raw: _Raw, order: np.ndarray, share: float) -> Block:
    """Null vectors recombined so that each has a column of its own, the last that it can have."""
    columns, entries = raw.columns, raw.entries
    pivots = expressible(entries, order[columns], share)
    change = np.linalg.inv(entries[pivots])
    entries, received = entries @ change, raw.received @ change
    entries[pivots] = np.eye(len(pivots))
    return Block(columns, entries, raw.parent, received, pivots)
