"""Algorithm 1 of paper D, line by line on a serial chain: as corrected it is ours, as printed it is wrong twice."""

import numpy as np
import pytest
from scipy.linalg import expm

from complex_step import hat
from random_bodies import bodies
from steelyard.dynamics import inverse_dynamics_derivatives
from steelyard.inertia import to_spatial_inertia
from steelyard.model import Joint, Robot, revolute_subspace
from steelyard.spatial import adjoint, crm


def chain(rng, links):
    """Revolute joints anywhere, every frame at the origin at zero (`M_i = I` in the paper)."""
    axes, anchors = rng.normal(size=(2, links, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    joints = tuple(
        Joint(f"j{i}", "revolute", revolute_subspace(axes[i], anchor=anchors[i]), np.eye(3), np.zeros(3))
        for i in range(links)
    )
    names, none, thetas = tuple(f"b{i}" for i in range(links)), np.zeros(links), bodies(5, (links,))
    return Robot(
        "chain",
        joints,
        np.arange(links) - 1,
        names,
        np.arange(links),
        thetas,
        np.array([1.0, -2, -9]),
        none,
        none,
        none,
    )


def dual(F):
    """`ad*_F`, with `ad_A^T F = ad*_F A`."""
    return np.stack([crm(e).T @ F for e in np.eye(6)], axis=1)


def algorithm_1(robot, q, v, a, *, cumulative=False, minus=False):
    """P, Q, R (n, 6, 9 n) and dtau (n, 9 n), columns [eta | q | v | a]. The flags are the two misprints."""
    n = robot.nj
    A, G = np.stack([j.subspace[:, 0] for j in robot.joints]), to_spatial_inertia(robot.inertias)
    T = [np.real(expm(np.real(hat(A[i])) * q[i])) for i in range(n)]
    Ad = [adjoint(t[:3, :3], t[:3, 3]) for t in T]
    printed = [np.linalg.multi_dot([np.eye(6), *Ad[: i + 1]]) for i in range(n)] if cumulative else Ad
    V, dV = [np.zeros(6)], [np.r_[-robot.gravity, 0, 0, 0]]
    P, Q = [np.zeros((6, 9 * n))], [np.zeros((6, 9 * n))]
    for i in range(n):
        V.append(A[i] * v[i] + np.linalg.solve(Ad[i], V[i]))
        dV.append(A[i] * a[i] + np.linalg.solve(Ad[i], dV[i]) + crm(V[i + 1]) @ A[i] * v[i])
        X = printed[i]
        back, eye = np.linalg.inv(X), np.eye(6)
        Pb, Qb = np.zeros((6, 9 * n)), np.zeros((6, 9 * n))
        eta = slice(6 * i, 6 * i + 6)
        Pb[:, eta] = back @ crm(V[i]) @ (eye - X) - crm(A[i] * v[i])
        Qb[:, eta] = back @ crm(dV[i]) @ (eye - X) - crm(V[i + 1]) @ crm(A[i] * v[i]) - crm(A[i] * a[i])
        Pb[:, 6 * n + i], Qb[:, 6 * n + i] = back @ crm(V[i]) @ A[i], back @ crm(dV[i]) @ A[i]
        Pb[:, 7 * n + i], Qb[:, 7 * n + i], Qb[:, 8 * n + i] = A[i], crm(V[i + 1]) @ A[i], A[i]
        P.append(back @ P[i] + Pb)
        Q.append(back @ Q[i] - crm(A[i] * v[i]) @ P[i + 1] + Qb)
    P, Q, V, dV = P[1:], Q[1:], V[1:], dV[1:]
    F, R = [None] * n, [None] * n
    for i in reversed(range(n)):
        F[i] = G[i] @ dV[i] - crm(V[i]).T @ G[i] @ V[i]
        R[i] = -(crm(V[i]).T @ G[i] + dual(G[i] @ V[i])) @ P[i] + G[i] @ Q[i]
        if i < n - 1:
            if minus:
                R[i] += 2 * dual(G[i] @ V[i]) @ P[i]
            back = np.linalg.inv(printed[i + 1])
            F[i] = F[i] + np.linalg.inv(Ad[i + 1]).T @ F[i + 1]
            Rb = np.zeros((6, 9 * n))
            Rb[:, 6 * i + 6 : 6 * i + 12] = -back.T @ dual(F[i + 1]) @ (back - np.eye(6))
            Rb[:, 6 * n + i + 1] = -back.T @ dual(F[i + 1]) @ A[i + 1]
            R[i] = R[i] + back.T @ R[i + 1] + Rb
    dtau = np.stack([A[i] @ R[i] for i in range(n)])
    for i in range(n):
        dtau[i, 6 * i : 6 * i + 6] -= F[i] @ crm(A[i])
    return np.stack(P), np.stack(Q), np.stack(R), dtau


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    robot = chain(rng, 5)
    return robot, *rng.normal(size=(3, 5))


def ours(case):
    found = inverse_dynamics_derivatives(*case)
    dtau = np.concatenate([found.dtau_dtwist.reshape(5, -1), found.dtau_dq, found.dtau_dv, found.dtau_da], axis=1)
    return found.links.dV, found.links.dA, found.links.dF, dtau


def difference(case, **misprints):
    printed = algorithm_1(*case, **misprints)
    return [np.abs(x - y).max() / np.abs(y).max() for x, y in zip(ours(case), printed, strict=True)]


def test_corrected_it_is_ours(case):
    assert max(difference(case)) < 1e-12


def test_cumulative_adjoints_are_wrong(case):
    assert min(difference(case, cumulative=True)) > 1e-3


def test_the_minus_of_line_30_is_wrong(case):
    velocity, acceleration, force, torque = difference(case, minus=True)
    assert max(velocity, acceleration) < 1e-12 and min(force, torque) > 1e-3
