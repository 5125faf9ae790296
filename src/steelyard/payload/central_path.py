"""Steps of the entropic fit, of arrays of one namespace xp, which is NumPy's or JAX's.

The minimum of `1/2 w^T gram w - pull . w - log det W`, w (10,) the triangle of W (4, 4), has the dual `S = W^-1`. Steps
go along the pairs for which `S W` is a multiple of one.
"""

from steelyard.inertia import cones

STEPS = 100
BOUNDARY = 0.9  # of the way to a singular body that one step may go
CENTERED = 1e-4  # relative distance from the central path at which Newton steps take over
ACCEPTED = 0.5  # the same after the last step
CONVERGED = 1e-20  # decrement that ends them, relative to the data
POLISH = 8


def start(xp, gram, pull):
    """W and S, multiples of one."""
    W = xp.eye(4)
    return W, xp.maximum(1.0, xp.linalg.norm(gram @ cones.triangle(W) - pull)) * W


def paired(xp, W, S):
    """Factor L of W, and eigenvalues and axes of `L^T S L`: all one on the central path."""
    L = xp.linalg.cholesky(W)
    return L, *xp.linalg.eigh(L.T @ S @ L)


def advanced(xp, gram, pull, W, S, L, values, axes):
    """W and S after one step with predictor and corrector."""
    point, gap = xp.sqrt(values), values.mean()
    scaling = axes.T @ xp.linalg.inv(L) * xp.sqrt(point)[:, None]  # takes W, and S the other way, to diag(point)
    hessian, residual = gram + cones.congruence_matrix(scaling.T @ scaling), pull - gram @ cones.triangle(W)
    now = xp.diag(point)

    def step_to(target):
        """Scaled steps of W and S after which their product is `target`, to first order."""
        step = xp.linalg.solve(hessian, residual + cones.triangle(scaling.T @ target @ scaling))
        dW = scaling @ cones.from_triangle(step, 4) @ scaling.T
        return dW, target - now - dW

    dW, dS = step_to(xp.diag(1 / point))
    length = xp.minimum(1.0, _reach(xp, point, dW, dS))
    after = xp.sum((now + length * dW) * (now + length * dS)) / 4
    shrink = xp.where(gap > 1, xp.clip((after - 1) / xp.where(gap > 1, gap - 1, 1.0), 0.0, 1.0) ** 3, 0.0)
    bend = (dW @ dS + dS @ dW) / (point[:, None] + point)
    dW, dS = step_to(xp.diag(xp.maximum(1.0, shrink * gap) / point) - bend)
    length = xp.minimum(1.0, BOUNDARY * _reach(xp, point, dW, dS))
    back = xp.linalg.inv(scaling)
    return W + length * back @ dW @ back.T, S + length * scaling.T @ dS @ scaling


def _reach(xp, point, dW, dS):
    """How many steps lead to the first singular matrix."""
    root = 1 / xp.sqrt(point)
    least = xp.linalg.eigvalsh(xp.stack([dW, dS]) * root[:, None] * root).min()
    return xp.where(least < 0, -1 / xp.minimum(least, -1e-300), xp.inf)


def newton_step(xp, gram, pull, w):
    """The step from w (10,), and the Hessian there."""
    X = xp.linalg.inv(cones.from_triangle(w, 4))
    hessian = gram + cones.congruence_matrix(X)
    return xp.linalg.solve(hessian, pull - gram @ w + cones.triangle(X)), hessian
