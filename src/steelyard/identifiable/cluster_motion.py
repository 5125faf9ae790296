"""Sampled motion of a cluster of joints that share coordinates."""

from dataclasses import dataclass

import numpy as np

from steelyard.identifiable.clusters import Cluster
from steelyard.identifiable.mechanism import Mechanism
from steelyard.identifiable.poses import exponential
from steelyard.inertia import transform_matrix
from steelyard.spatial import adjoint

MOTION_SEED = 20260102
MOST_TURNS = 20.0


@dataclass(frozen=True, eq=False)
class ClusterMotion:
    """Sampled motion: X (m, s, 6, 6) member from parent, B (m, s, 10, 10) parent from member, J (m, s, 6, k).

    at_zero (m, 10, 10): B at zero coordinates.
    """

    X: np.ndarray
    B: np.ndarray
    J: np.ndarray
    at_zero: np.ndarray


def cluster_motion(mechanism: Mechanism, cluster: Cluster, samples: int) -> ClusterMotion:
    q = np.random.default_rng(MOTION_SEED).uniform(-np.pi, np.pi, size=(len(cluster.coordinates), samples))
    q *= _turns(mechanism, cluster)[:, None]
    q[:, 0] = 0.0
    place = {k: at for at, k in enumerate(cluster.coordinates)}
    poses, jacobians = {}, {}
    for i in cluster.members:
        node = mechanism.nodes[i]
        acting = [place[k] for k in node.coordinates]
        R, p = exponential(node.subspace, q[acting])
        R, p = node.rotation @ R, p @ node.rotation.T + node.position
        to_child = adjoint(np.swapaxes(R, 1, 2), -(np.swapaxes(R, 1, 2) @ p[..., None])[..., 0])
        J = np.zeros((samples, 6, len(cluster.coordinates)))
        if node.parent in poses:
            above_R, above_p = poses[node.parent]
            J += to_child @ jacobians[node.parent]
            R, p = above_R @ R, above_p + (above_R @ p[..., None])[..., 0]
        J[:, :, acting] += node.subspace
        poses[i], jacobians[i] = (R, p), J
    R, p = (np.stack([poses[i][k] for i in cluster.members]) for k in (0, 1))
    Rt = np.swapaxes(R, -1, -2)
    B = transform_matrix(R, p)
    return ClusterMotion(
        adjoint(Rt, -(Rt @ p[..., None])[..., 0]), B, np.stack([jacobians[i] for i in cluster.members]), B[:, 0]
    )


def _turns(mechanism: Mechanism, cluster: Cluster) -> np.ndarray:
    """(k,) how far each coordinate goes so that the slowest of its joints turns once about."""
    turns = np.ones(len(cluster.coordinates))
    for i in cluster.members:
        node = mechanism.nodes[i]
        speed = np.linalg.norm(node.subspace[3:], axis=0)
        places = np.searchsorted(cluster.coordinates, node.coordinates)
        np.maximum.at(turns, places[speed > 0], 1 / speed[speed > 0])
    return np.minimum(turns, MOST_TURNS)
