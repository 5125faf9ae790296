"""Products of small vectors and matrices in stacks, samples last so that each is one long vector instruction.

Vectors are (k, 3, n) or, for twists and wrenches, (k, 6, n); matrices (k, 3, 3, n).
"""


def times(R, u):
    """Matrices (..., 3, 3, n) times vectors (..., 3, n)."""
    return R[..., 0, :] * u[..., None, 0, :] + R[..., 1, :] * u[..., None, 1, :] + R[..., 2, :] * u[..., None, 2, :]


def transpose_times(R, u):
    """R^T u, of the same shapes."""
    return (
        R[..., 0, :, :] * u[..., 0, None, :]
        + R[..., 1, :, :] * u[..., 1, None, :]
        + R[..., 2, :, :] * u[..., 2, None, :]
    )


def cross(xp, a, b):
    """Cross product over axis 1 of vectors (k, 3, n)."""
    ax, ay, az = a[:, 0], a[:, 1], a[:, 2]
    bx, by, bz = b[:, 0], b[:, 1], b[:, 2]
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)


def motion_cross(xp, V, U):
    """crm(V) U over axis 1. V, U: (k, 6, n)."""
    v, w = V[:, :3], V[:, 3:]
    u, x = U[:, :3], U[:, 3:]
    return xp.concat([cross(xp, w, u) + cross(xp, v, x), cross(xp, w, x)], axis=1)


def force_cross(xp, V, F):
    """crf(V) F over axis 1. V, F: (k, 6, n)."""
    v, w, f, n = V[:, :3], V[:, 3:], F[:, :3], F[:, 3:]
    return xp.concat([cross(xp, w, f), cross(xp, v, f) + cross(xp, w, n)], axis=1)


def outer(a, b):
    """a b^T of vectors."""
    return a[:, :, None] * b[:, None]


def product(A, B):
    """A B of matrices."""
    return A[:, :, 0, None] * B[:, None, 0] + A[:, :, 1, None] * B[:, None, 1] + A[:, :, 2, None] * B[:, None, 2]


def congruence(R, S):
    """R S R^T."""
    half = product(R, S)
    return (
        half[:, :, None, 0] * R[:, None, :, 0]
        + half[:, :, None, 1] * R[:, None, :, 1]
        + half[:, :, None, 2] * R[:, None, :, 2]
    )


def skew_times(xp, w, M):
    """S(w) M, column by column."""
    x, y, z = (w[:, i, None] for i in range(3))
    return xp.stack([y * M[:, 2] - z * M[:, 1], z * M[:, 0] - x * M[:, 2], x * M[:, 1] - y * M[:, 0]], axis=1)
