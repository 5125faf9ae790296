"""Recursive parameter nullspace algorithm (paper C, Algorithms 1 to 3, Appendices F and I), one pass from base to tips.

Each node gets the span V of the velocities (and of gravity) it can see and the span K of the combinations of its
parameters that matter; from these follow the transfers of inertia across its joint that nothing can notice.

Beyond the paper, by the same argument:

- V carries a seventh coordinate, 1 for gravity and 0 for motion. A constant torque of joint i does work like gravity
  does, so an offset joins the momentum condition with that coordinate as its coefficient.
- Armature and the spin of a symmetric rotor join it with a coordinate each: 1 when the joint itself moves, and for the
  rotor `e^T w / n` where its carrier turns by w. Viscous and Coulomb torques are odd in time, all others even, so they
  never mix.
- A wrench sensor feels momentum along all six directions, not along the joint only: the force side of the conditions
  becomes all of R^6, and K gains every `u^T M v` with v in V.
"""

from dataclasses import dataclass, field

import numpy as np

from steelyard.identifiable.basis import RankDecisions, closure, null_space_of, span_union
from steelyard.identifiable.coupled_joints import (
    Cluster,
    Transfer,
    armature_rows,
    clusters,
    conditions,
    momentum,
    transfer_rate,
)
from steelyard.identifiable.mechanism import NO_COLUMN, Experiment, Mechanism
from steelyard.inertia import transform_matrix
from steelyard.model.robot import WORLD
from steelyard.spatial import adjoint, crm


@dataclass(eq=False)
class Recursion:
    """Outcome of a pass. V (7, r) and K (10, r): orthonormal spans of each node; None stands for everything."""

    V: list = field(default_factory=list)
    K: list = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    decisions: RankDecisions = field(default_factory=RankDecisions)
    coupled: tuple[Cluster, ...] = ()

    def dimensions(self, node: int) -> tuple[int, int]:
        """Dimensions of V, without the coordinate that marks gravity, and of K."""
        V, K = self.V[node], self.K[node]
        rank = 6 if V is None else int(np.linalg.matrix_rank(V[:6], tol=1e-6)) if V.shape[1] else 0
        return rank, 10 if K is None else K.shape[1]


def null_space_recursion(mechanism: Mechanism, experiment: Experiment) -> Recursion | None:
    """One pass over a mechanism. None where a wrench sensor sits between coupled joints, which it does not cover."""
    count = len(mechanism.nodes)
    result = Recursion(V=[None] * count, K=[None] * count, coupled=clusters(mechanism))
    if any(i in experiment.wrenches for cluster in result.coupled for i in cluster.members):
        return None
    grouped = {node: cluster for cluster in result.coupled for node in cluster.members}
    geometry = _NodeTransforms(mechanism)
    sensed = _sensed(mechanism, experiment)
    spins = {}
    for spin in mechanism.spins:
        spins.setdefault(spin.coordinate, []).append(spin)

    def alone(node) -> bool:
        return len(node.coordinates) == 1 and node.coordinates[0] not in spins

    free = []  # nodes below bodies that move in every way (paper C, Algorithm 3): only their joint's axis decides
    for i, node in enumerate(mechanism.nodes):
        seed = _seed(mechanism, experiment, result, node.parent)
        if i in grouped:
            if grouped[i].members[0] == i:
                result.transfers.append(conditions(mechanism, experiment, grouped[i], seed, sensed[i], result))
        elif seed[0] is seed[1] is None and alone(node) and i not in experiment.wrenches:
            free.append(i)
        else:
            own = [spin for k in node.coordinates for spin in spins.get(k, ())]
            result.transfers.append(_step(mechanism, experiment, i, seed, own, sensed[i], geometry, result))
    result.transfers += _free_transfers(mechanism, free, geometry, result.decisions)
    return result


class _NodeTransforms:
    """Transforms of all nodes, computed together: X (n, 6, 6) node from parent, B (n, 10, 10) parent from node."""

    def __init__(self, mechanism: Mechanism):
        R = np.stack([node.rotation for node in mechanism.nodes])
        p = np.stack([node.position for node in mechanism.nodes])
        Rt = np.swapaxes(R, 1, 2)
        self.X = adjoint(Rt, -(Rt @ p[..., None])[..., 0])
        self.B = transform_matrix(R, p)


def _seed(mechanism: Mechanism, experiment: Experiment, result: Recursion, parent: int):
    """V and K of a parent. The ground sees gravity; a wrench sensor under the robot makes it matter."""
    if parent != WORLD:
        return result.V[parent], result.K[parent]
    V = np.append(-mechanism.gravity, 1.0)[:, None]  # proper acceleration at rest
    K = np.zeros((10, 0))
    if WORLD in experiment.wrenches:
        K = span_union(K, momentum(mechanism.gravity[:, None], np.eye(6)), result.decisions)
    return V / np.linalg.norm(V), K


def _sensed(mechanism: Mechanism, experiment: Experiment) -> list[bool]:
    """Whether a wrench sensor feels what the joint of each node does: it sits further down, on the ground's side."""
    sensed = []
    for node in mechanism.nodes:
        at = node.parent
        sensed.append(at in experiment.wrenches or (at != WORLD and sensed[at]))
    return sensed


def _step(mechanism, experiment, i, seed, spins, sensed, geometry, result) -> Transfer:
    """Spans and transfers of one node whose coordinates are its own."""
    node, decisions = mechanism.nodes[i], result.decisions
    V, K = np.eye(7) if seed[0] is None else seed[0], np.eye(10) if seed[1] is None else seed[1]
    X = np.eye(7)
    X[:6, :6] = geometry.X[i]
    rates = [transfer_rate(phi) for phi in node.subspace.T]
    turns = _padded([crm(phi) for phi in node.subspace.T], 1)
    entering, K = np.linalg.qr(X @ V)[0], np.linalg.qr(geometry.B[i].T @ K)[0]
    V = closure(entering, turns, decisions)
    K = closure(K, [rate.T for rate in rates], decisions)
    rows = [K.T @ rate for rate in rates]
    own = np.concatenate([node.subspace, np.zeros((1, node.subspace.shape[1]))])
    full_V = span_union(V, own, decisions) if experiment.dynamic else V

    inner = Inner(mechanism, experiment, node, spins)
    if experiment.joints:
        rows.append(_joint_rows(node, inner, X, seed[0], turns, own, full_V, experiment.dynamic, decisions))
        K = span_union(K, momentum(full_V[:6], node.subspace), decisions)
    if sensed:
        rows.append(_wrench_rows(node, inner, geometry.X[i], turns, decisions, experiment.dynamic))
    if sensed or i in experiment.wrenches:
        seen = momentum(full_V[:6], np.eye(6))
        K = span_union(K, seen, decisions)
        if i in experiment.wrenches:
            rows.append(seen.T)
    R = null_space_of(_beside_each_other(rows, 10 + inner.count), decisions)
    result.V[i] = None if full_V.shape[1] == 7 else full_V
    result.K[i] = None if K.shape[1] == 10 else K
    received = -geometry.B[i] @ R[:10] - inner.lumps @ R[10:]
    return Transfer((i,), (R[:10],), inner.columns, R[10:], node.parent, received)


class Inner:
    """Armature, spins and offsets of one joint as unknowns beside its body's ten.

    columns (e,): theirs. lumps (10, e): what the carrier holds of each spin. acts (e,): which coordinate of the joint
    each acts on; armatures (e,): which are armatures. felt (e, 7): coefficient on the parent's V; own (e,): on the
    joint's own motion.
    """

    def __init__(self, mechanism: Mechanism, experiment: Experiment, node, spins):
        entries, none = [], np.zeros(10)
        for place, k in enumerate(node.coordinates):
            armature, offset = mechanism.term_columns["armature"][k], mechanism.term_columns["offset"][k]
            if armature != NO_COLUMN and experiment.joints and experiment.dynamic:
                entries.append((armature, none, place, np.zeros(7), 1.0))
            if offset != NO_COLUMN and experiment.joints:
                entries.append((offset, none, place, np.eye(7)[6], 0.0))
            for spin in spins:
                if spin.coordinate == k:
                    felt = np.concatenate([np.zeros(3), spin.axis / spin.ratio, [0.0]])
                    entries.append((spin.columns[3], spin.lump[:, 3], place, felt, 1.0))
        self.count = len(entries)
        self.columns = np.array([e[0] for e in entries], dtype=int)
        self.lumps = np.array([e[1] for e in entries]).reshape(-1, 10).T
        self.acts = np.array([e[2] for e in entries], dtype=int)
        self.felt = np.array([e[3] for e in entries]).reshape(-1, 7)
        self.own = np.array([e[4] for e in entries])
        self.armatures = np.isin(self.columns, mechanism.term_columns["armature"])

    def rows(self, momentum_rows, V, place):
        """Momentum rows (r, 10) of coordinate `place`, with the unknowns' coefficients (r, e) of extended columns V."""
        return np.concatenate([momentum_rows, V[7:].T * (self.acts == place)], axis=1)


def _joint_rows(node, inner, X, V_parent, turns, own, V, dynamic, decisions):
    """Momentum condition: torque of the joint for every velocity V its body can have, other unknowns included."""
    if not inner.count:
        return momentum(V[:6], node.subspace).T
    V_parent = np.eye(7) if V_parent is None else V_parent
    e = inner.count
    V = closure(_orthonormal(np.concatenate([X @ V_parent, inner.felt @ V_parent])), _padded(turns, e), decisions)
    if dynamic:
        moved = (inner.acts[:, None] == np.arange(node.subspace.shape[1])) * inner.own[:, None]
        V = span_union(V, np.concatenate([own, moved]), decisions)
    rows = [inner.rows(momentum(V[:6], phi[:, None]).T, V, k) for k, phi in enumerate(node.subspace.T)]
    if inner.armatures.any():
        conditions = armature_rows(node.subspace)
        rows.append(np.pad(conditions[:, inner.acts] * inner.armatures, ((0, 0), (10, 0))))
    return _beside_each_other(rows, 10 + e)


def _wrench_rows(node, inner, X, turns, decisions, dynamic):
    """Momentum condition of a wrench sensor: reaction to the joint's motion along any of six directions."""
    if not dynamic:
        return np.zeros((0, 10 + inner.count))
    spin_only = inner.felt[:, :6]
    U = _orthonormal(np.concatenate([X, np.zeros((1, 6)), spin_only]))
    U = closure(U, _padded(turns, inner.count), decisions)
    rows = [inner.rows(momentum(U[:6], phi[:, None]).T, U, k) for k, phi in enumerate(node.subspace.T)]
    return _beside_each_other(rows, 10 + inner.count)


def _beside_each_other(blocks, width: int):
    """Blocks of rows as one matrix (r, width), filled up with zeros on the right."""
    rows = np.zeros((sum(len(block) for block in blocks), width))
    start = 0
    for block in blocks:
        rows[start : start + len(block), : block.shape[1]] = block
        start += len(block)
    return rows


def _orthonormal(columns):
    return np.linalg.qr(columns)[0]


def _padded(turns, count):
    padded = np.zeros((len(turns), len(turns[0]) + count, len(turns[0]) + count)) if turns else []
    for larger, turn in zip(padded, turns, strict=True):
        larger[: len(turn), : len(turn)] = turn
    return list(padded)


def _free_transfers(mechanism: Mechanism, nodes: list[int], geometry, decisions) -> list[Transfer]:
    """Transfers below bodies that move in every way (paper C, Algorithm 3): only the joint's own axis decides."""
    if not nodes:
        return []
    Phi = np.stack([mechanism.nodes[i].subspace for i in nodes])
    rows = np.concatenate([np.swapaxes(momentum(np.eye(6), Phi), 1, 2), transfer_rate(Phi[..., 0])], axis=1)
    _, singular, Vt = np.linalg.svd(rows)
    transfers = []
    for at, i in enumerate(nodes):
        R = Vt[at, decisions.rank(singular[at]) :].T
        none = np.zeros((0, R.shape[1]))
        parent = mechanism.nodes[i].parent
        transfers.append(Transfer((i,), (R,), np.zeros(0, dtype=int), none, parent, -geometry.B[i] @ R))
    return transfers
