"""Linear cone constraints on the ten parameters of one body (Clarabel's conventions), and small programs over them.

A set of bodies is `{theta : exists aux,  b - A_theta theta - A_aux aux in K}` with `K` a product of cones, listed as
`(kind, n)`:

| kind | rows | meaning |
|---|---|---|
| `"zero"` | n | equal to zero |
| `"nonnegative"` | n | each not negative |
| `"soc"` | n | first row not less than the norm of the others |
| `"psd"` | n (n + 1) / 2 | `triangle` of a positive semidefinite (n, n) matrix |
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.errors import InertiaError
from steelyard.inertia import pseudo

# tolerances asked of the solver, one after the other: degenerate problems do not have the digits of the first
FINE = (1e-11, 1e-9, 1e-8)
COARSE = (1e-9, 1e-8, 1e-7, 1e-6)  # where a start or a yes or no is wanted


@dataclass(frozen=True, eq=False)
class ConeRows:
    """Rows `b - A_theta theta - A_aux aux in K`."""

    A_theta: np.ndarray  # (r, 10)
    A_aux: np.ndarray  # (r, k)
    b: np.ndarray  # (r,)
    cones: tuple[tuple[str, int], ...]  # `(kind, n)` in row order

    @property
    def aux(self):
        """Number of auxiliary variables."""
        return self.A_aux.shape[1]

    def slack(self, theta):
        """`b - A_theta theta`, (..., r): what the cones must contain when there are no auxiliary variables. theta:
        (..., 10)."""
        return self.b - np.asarray(theta) @ self.A_theta.T

    def blocks(self):
        """`(kind, n, rows as a slice)` of every cone."""
        start = 0
        for kind, n in self.cones:
            size = row_count(kind, n)
            yield kind, n, slice(start, start + size)
            start += size

    def only(self, kept):
        """Some of the blocks."""
        index = np.concatenate([np.zeros(0, dtype=int), *(np.arange(each.start, each.stop) for _, _, each in kept)])
        kinds = tuple((kind, n) for kind, n, _ in kept)
        return ConeRows(self.A_theta[index], self.A_aux[index], self.b[index], kinds)


def row_count(kind, n):
    """Rows of a cone `(kind, n)`."""
    return n * (n + 1) // 2 if kind == "psd" else n


def triangle(S):
    """Upper triangle (..., n (n + 1) / 2) of symmetric (..., n, n), column by column, off-diagonals times sqrt(2):
    keeps inner products."""
    n = S.shape[-1]
    return S.reshape(*S.shape[:-2], n * n).take(_upper(n).entries, axis=-1) * _upper(n).weight


def from_triangle(t, n):
    """Inverse of `triangle`. t: (..., n (n + 1) / 2). Returns (..., n, n)."""
    return (t / _upper(n).weight).take(_upper(n).places, axis=-1)


class _Upper:
    """The upper triangle of (n, n), column by column: row, column and place in the flattened matrix (entries) of each
    of its numbers, sqrt(2) for what lies off the diagonal (weight); (n, n) places of a matrix's entries in it."""

    def __init__(self, n):
        self.column, self.row = np.tril_indices(n)
        self.entries = self.row * n + self.column
        self.weight = np.where(self.row == self.column, 1.0, np.sqrt(2))
        self.places = np.zeros((n, n), dtype=int)
        self.places[self.row, self.column] = self.places[self.column, self.row] = np.arange(len(self.row))
        self.products = np.outer(self.weight, self.weight) / 2  # of weights, see `congruence_matrix`


@lru_cache(maxsize=32)
def _upper(n):
    return _Upper(n)


@lru_cache(maxsize=32)
def units(n):
    """(n (n + 1) / 2, n, n) the symmetric matrices whose triangles are the unit vectors: orthonormal."""
    return from_triangle(np.eye(n * (n + 1) // 2), n)


def congruence_matrix(A):
    """Matrix (..., n (n + 1) / 2, same) of `triangle(W) -> triangle(A W A^T)`. A: (..., n, n)."""
    upper = _upper(A.shape[-1])
    first, second = A.take(upper.row, axis=-2), A.take(upper.column, axis=-2)
    straight = first.take(upper.row, axis=-1) * second.take(upper.column, axis=-1)
    return (straight + first.take(upper.column, axis=-1) * second.take(upper.row, axis=-1)) * upper.products


def relative_basis(root):
    """(..., 10, 10) that takes `triangle(W)` to the parameters of `root W root^T`. root: (..., 4, 4), a factor of a
    reference body's pseudo-inertia, for which W is the identity."""
    root = root[..., None, :, :]
    return pseudo.to_parameters(root @ units(4) @ root.swapaxes(-1, -2)).swapaxes(-1, -2)


def rows(A, cones, b=None):
    """Constraint on theta alone: `A theta + b in K` (so `A_theta = -A`). A: (r, 10), b: (r,), zero by default."""
    A = np.asarray(A, dtype=float)
    offset = np.zeros(len(A)) if b is None else np.asarray(b, dtype=float)
    return ConeRows(-A, np.zeros((len(A), 0)), offset, tuple(cones))


def stack(parts):
    """All constraints at once: rows below each other, auxiliary variables side by side. parts: sequence of ConeRows."""
    width, start = sum(part.aux for part in parts), 0
    aux = []
    for part in parts:
        block = np.zeros((len(part.b), width))
        block[:, start : start + part.aux] = part.A_aux
        aux.append(block)
        start += part.aux
    return ConeRows(
        np.concatenate([part.A_theta for part in parts]),
        np.concatenate(aux),
        np.concatenate([part.b for part in parts]),
        tuple(cone for part in parts for cone in part.cones),
    )


def sums(T, maps, local_rows, kinds):
    """Bodies that are sums of bodies with moments in local coordinates: `J = sum_j V_j C_j V_j^T`, each `C_j` in the
    same cones.

    The auxiliary variables are the triangles of the `C_j`, so that thin or small pieces do no harm to the digits. T:
    frame (4, 4) in which the equality is written; maps: V (k, 4, 4); local_rows: (r, 10), `local_rows triangle(C_j)` in
    the cones kinds.
    """
    k, r = len(maps), len(local_rows)
    moments = T @ pseudo.to_matrix(np.eye(10)) @ T.T
    to_frame = T @ maps
    pieces = to_frame[:, None] @ units(4) @ np.swapaxes(to_frame, 1, 2)[:, None]  # (k, 10, 4, 4)
    A_theta = np.concatenate([triangle(moments).T, np.zeros((k * r, 10))])
    A_aux = np.concatenate([-triangle(pieces).reshape(10 * k, 10).T, -np.kron(np.eye(k), local_rows)])
    return ConeRows(A_theta, A_aux, np.zeros(10 + k * r), (("zero", 10), *(tuple(kinds) * k)))


def smallest_eigenvalues(slack, cones):
    """How far inside its cone each block of slacks lies: the largest `t` with `slack - t e` in the cone, `e` its unit.

    slack: (..., r). Returns (..., number of cones): smallest entry, first minus norm of the rest, smallest eigenvalue,
    or minus the norm for an equality. Negative outside.
    """
    values, start = [], 0
    for kind, n in cones:
        block = slack[..., start : start + row_count(kind, n)]
        start += row_count(kind, n)
        if kind == "zero":
            values.append(-np.linalg.norm(block, axis=-1))
        elif kind == "nonnegative":
            values.append(block.min(axis=-1))
        elif kind == "soc":
            values.append(block[..., 0] - np.linalg.norm(block[..., 1:], axis=-1))
        else:
            values.append(np.linalg.eigvalsh(from_triangle(block, n))[..., 0])
    return np.stack(values, axis=-1)


def unit(kind, n):
    """The unit of a cone, `e` in `smallest_eigenvalues`: ones, first axis, or the identity matrix. Zero for an
    equality."""
    if kind == "psd":
        return triangle(np.eye(n))
    if kind == "soc":
        return np.eye(n)[0]
    return np.full(n, 0.0 if kind == "zero" else 1.0)


def by_clarabel(P, q, A, b, kinds, tolerance):
    """Clarabel's `status`, `x` and multipliers `z` of the problem of `minimise` at one tolerance; `exponential` cones,
    too."""
    import clarabel
    from scipy import sparse

    make = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "soc": clarabel.SecondOrderConeT,
        "psd": clarabel.PSDTriangleConeT,
        "exponential": lambda n: clarabel.ExponentialConeT(),
    }
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    settings.max_threads = 1
    upper, rows = (sparse.csc_matrix(x) for x in (sparse.triu(sparse.csc_array(P)), A))
    cones = [make[kind](n) for kind, n in kinds]
    return clarabel.DefaultSolver(upper, q, rows, b, cones, settings).solve()


class NoDigits(InertiaError):
    """The solver stopped before any of its tolerances were met."""


def minimise(P, q, A, b, kinds, *, tolerances=FINE):
    """The x (n,) that minimises `1/2 x^T P x + q^T x` subject to `b - A x` in the cones `kinds`, `(kind, n)` in the
    order of rows. tolerances: tried in turn. Raises InertiaError: there is no such x; NoDigits: no tolerance is met."""
    stopped = []
    for tolerance in tolerances:
        solution = by_clarabel(P, q, A, b, kinds, tolerance)
        status = str(solution.status)
        if status == "Solved":
            return np.array(solution.x)
        if "Infeasible" in status:
            raise InertiaError(
                f"no body satisfies all constraints ({status}): they contradict each other or leave no body with "
                "volume; loosen bounds, or give more points or larger ellipsoids"
            )
        stopped.append(f"{status} at {tolerance:g}, residuals {solution.r_prim:.1e} and {solution.r_dual:.1e}")
    raise NoDigits(
        f"a cone program over one body met none of its tolerances ({'; '.join(stopped)}): the set is badly scaled; "
        "avoid flat pieces and lengths far from the body's"
    )


def deepest(rows: ConeRows, theta):
    """Largest `t` for which some aux has `b - A_theta theta - A_aux aux - t e` in the cones; negative if theta (10,) is
    outside."""
    A, b, kinds = [], [], []
    slack = rows.slack(theta)
    for kind, n, block in rows.blocks():
        if kind == "zero":  # an equality lets go by a ball of radius -t
            A.append(np.block([[np.zeros((1, rows.aux)), np.ones((1, 1))], [rows.A_aux[block], np.zeros((n, 1))]]))
            b.append(np.append(0.0, slack[block]))
            kinds.append(("soc", n + 1))
        else:
            A.append(np.column_stack([rows.A_aux[block], unit(kind, n)]))
            b.append(slack[block])
            kinds.append((kind, n))
    A.append(np.append(np.zeros(rows.aux), 1.0)[None])  # t <= 1
    small = np.diag(np.append(np.full(rows.aux, 1e-9), 0.0))  # of equally deep points the smallest
    cost, kinds = np.append(np.zeros(rows.aux), -1.0), [*kinds, ("nonnegative", 1)]
    return float(minimise(small, cost, np.concatenate(A), np.concatenate([*b, [1.0]]), kinds, tolerances=COARSE)[-1])
