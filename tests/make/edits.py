"""What two XML files differ in, and robots with other inertias; nothing of the writer takes part."""

import numpy as np
from lxml import etree

ORDER = [4, 5, 7, 5, 6, 8, 7, 8, 9]


def second_moments(theta):
    """Pseudo-inertia (..., 4, 4) from theta (..., 10), written out."""
    I = theta[..., ORDER].reshape(*theta.shape[:-1], 3, 3)
    J = np.zeros((*theta.shape[:-1], 4, 4))
    J[..., :3, :3] = 0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I
    J[..., :3, 3] = J[..., 3, :3] = theta[..., 1:4]
    J[..., 3, 3] = theta[..., 0]
    return J


def parameters(J):
    """theta (..., 10) of a pseudo-inertia (..., 4, 4)."""
    S = J[..., :3, :3]
    I = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    six = [I[..., i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.stack([J[..., 3, 3], *(J[..., i, 3] for i in range(3)), *six], axis=-1)


def feasible(theta):
    """Whether J(theta) > 0 beyond rounding, in units in which its diagonal is one. theta: (..., 10)."""
    J = second_moments(theta)
    d = np.diagonal(J, axis1=-2, axis2=-1)
    if not (d > 0).all():
        return False
    return bool((np.linalg.eigvalsh(J / np.sqrt(d[..., :, None] * d[..., None, :])) > 1e-12).all())


def perturbed(robot, seed=0, size=0.05):
    """The robot with the inertia of every feasible body changed by `J -> L J L^T`; bodies of no mass or worse stay."""
    rng = np.random.default_rng(seed)
    L = np.eye(4) + size * rng.normal(size=(robot.nb, 4, 4))
    J = L @ second_moments(robot.inertias) @ np.swapaxes(L, -1, -2)
    keep = np.array([not feasible(theta) for theta in robot.inertias])
    return robot.with_inertias(np.where(keep[:, None], robot.inertias, parameters(J)))


def relative_error(theta, other):
    """Largest difference of theta (..., 10), masses against the mass, moments against the body's size."""
    J, K = second_moments(np.asarray(theta)), second_moments(np.asarray(other))
    d = np.sqrt(np.abs(np.diagonal(K, axis1=-2, axis2=-1)))
    size = np.max(d[..., :3], axis=-1)
    scale = np.stack([size, size, size, d[..., 3]], axis=-1)
    scale = scale[..., :, None] * scale[..., None, :]
    return float(np.max(np.abs(J - K) / np.where(scale > 0, scale, 1.0)))


def differences(before: bytes, after: bytes):
    """Every difference of two XML files as `(path of the element, what)`.

    Elements, comments and processing instructions are paired in order; an element that only `after` has is reported
    once, with the blank around it ignored; texts, tails and attributes, with their order, are compared exactly.
    """
    found = []
    _compare(etree.fromstring(before), etree.fromstring(after), "", found)
    return found


def _label(node):
    if not isinstance(node.tag, str):
        return "#comment"
    return f"{node.tag}[{node.get('name')}]" if node.get("name") else node.tag


def _compare(a, b, path, found):
    path = f"{path}/{_label(a)}"
    if a.tag != b.tag or (not isinstance(a.tag, str) and a.text != b.text):
        found.append((path, "node"))
        return
    if isinstance(a.tag, str):
        names = dict.fromkeys([*a.attrib, *b.attrib])
        found += [(path, f"@{n}") for n in names if a.get(n) != b.get(n)]
        common = [n for n in a.attrib if n in b.attrib]
        if common != [n for n in b.attrib if n in a.attrib]:
            found.append((path, "order of attributes"))
    left, right = list(a), list(b)
    added = [node for node in right if len(right) > len(left) and node.tag not in {n.tag for n in left}]
    found += [(f"{path}/{_label(node)}", "added") for node in added]
    right = [node for node in right if node not in added]
    if len(left) != len(right):
        found.append((path, f"children {len(left)} -> {len(right)}"))
        return
    if not added and (a.text or "") != (b.text or ""):
        found.append((path, "text"))
    for one, other in zip(left, right, strict=True):
        if not added and (one.tail or "") != (other.tail or ""):
            found.append((path, "text"))
        _compare(one, other, path, found)
