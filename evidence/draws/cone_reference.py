"""The fit of `fit.consistent` written anew from its definition, in a modelling layer with its own scaling and solver.

    min  sum_j ||residual_j / noise_j||^2 + weight (sum of d(J_i, J0_i) + sum of (friction / (10 RMS torques))^2)

Bodies are `J = L W L^T`; d is `||W - 1||^2 / 2` (pullback), `tr W - log det W - 4` (entropic) or half the sum of
squares of all ten changes in SI units (euclidean, beside a pullback prior of weight 1e-8). Every `W >= 1e-5`,
friction and armature not negative.
"""

import warnings

import numpy as np

from steelyard.fit.prior import consistent_prior, model_parameters
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.fit.whitening import whiten
from steelyard.inertia import pseudo

SPREAD = 10.0  # prior standard deviation of friction, RMS torques
FINE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 400}


class Reference:
    """The problem of an Information at a noise (g,). options: of `fit.consistent`: prior, regularizer, weight, within
    (ellipsoids), masses."""

    def __init__(self, info, noise, options):
        self.info, self.options, self.layout = info, options, info.layout
        self.theta0 = consistent_prior(options["prior"], info.robot, len(self.layout.bodies))[0]
        problem = whiten(info.base.weighted(info.independence / noise**2))
        weighed = info.base.weighted(info.independence / noise**2)
        self.R, self.r = problem.R @ info.basis.regrouping, problem.r
        self.unexplained = max(weighed.c - float(self.r @ self.r), 0.0)
        self.middle = model_parameters(info.robot, self.layout)[self.layout.inertial.stop :]
        rms = np.maximum(info.degree_rms, max(info.degree_rms.max() * 1e-3, np.finfo(float).tiny))
        self.size = np.tile(rms[list(self.layout.dofs)], len(self.layout.terms))

    def cost(self, x) -> float:
        """Of parameters x (p,)."""
        weight, regularizer = self.options["weight"], self.options["regularizer"]
        stop = self.layout.inertial.stop
        value = self.unexplained + float(np.sum((self.R @ x - self.r) ** 2))
        value += weight * float(np.sum(((x[stop:] - self.middle) / (SPREAD * self.size)) ** 2))
        for theta, prior in zip(x[:stop].reshape(-1, 10), self.theta0, strict=True):
            if regularizer == "euclidean":
                value += weight / 2 * float(np.sum((theta - prior) ** 2))
            inverse = np.linalg.inv(np.linalg.cholesky(pseudo.to_matrix(prior)))
            e = np.linalg.eigvalsh(inverse @ pseudo.to_matrix(theta) @ inverse.T)
            least = THRESHOLDS.euclidean_pullback if regularizer == "euclidean" else weight
            value += least * float(np.sum(e - 1 - np.log(e) if regularizer == "entropic" else (e - 1) ** 2 / 2))
        return value

    def solve(self, solver: str = "CLARABEL", around=None, **settings) -> tuple[np.ndarray, str]:
        """Parameters (p,) and the solver's word. around: bodies (nb, 10) whose pseudo-inertias set the scale of the
        unknowns, the prior's by default."""
        import cvxpy as cp

        weight, regularizer, layout = self.options["weight"], self.options["regularizer"], self.layout
        stop = layout.inertial.stop
        Ls = np.linalg.cholesky(pseudo.to_matrix(self.theta0 if around is None else around))
        Ws = [cp.Variable((4, 4), symmetric=True) for _ in Ls]
        Js = [L @ W @ L.T for L, W in zip(Ls, Ws, strict=True)]
        columns = [_parameters(J) for J in Js]
        seen = np.linalg.norm(self.R[:, stop:], axis=0)
        unit = 1.0 / np.hypot(seen, np.sqrt(weight) / (SPREAD * self.size))
        if len(unit):
            columns.append(self.middle + cp.multiply(unit, cp.Variable(len(unit))))
        x = cp.hstack(columns)
        rows, sides = [self.R], [self.r]
        rows.append(np.zeros((len(unit), layout.size)))
        rows[-1][:, stop:] = np.diag(np.sqrt(weight) / (SPREAD * self.size))
        sides.append(rows[-1][:, stop:] @ self.middle)
        rest, asked = 0.0, []
        for i, (L, W, J, prior) in enumerate(zip(Ls, Ws, Js, self.theta0, strict=True)):
            row, L0 = np.zeros((26, layout.size)), np.linalg.cholesky(pseudo.to_matrix(prior))
            if regularizer == "entropic":
                rest = rest + weight * (cp.trace(np.linalg.inv(L0 @ L0.T) @ J) - cp.log_det(W))
            else:
                inverse, euclidean = np.linalg.inv(L0), regularizer == "euclidean"
                relative = inverse @ pseudo.to_matrix(np.eye(10)) @ inverse.T
                least = THRESHOLDS.euclidean_pullback if euclidean else weight
                row[:10, layout.body(i)] = euclidean * np.sqrt(weight / 2) * np.eye(10)
                row[10:, layout.body(i)] = np.sqrt(least / 2) * relative.reshape(10, 16).T
            rows.append(row)
            sides.append(row[:, layout.body(i)] @ prior)
            least = np.linalg.solve(L, L0)
            asked.append(W - THRESHOLDS.eigenvalue * least @ least.T >> 0)
        asked += self._known(x, Js)
        whole = np.linalg.qr(np.column_stack([np.concatenate(rows), np.concatenate(sides)]), mode="r")[: layout.size]
        residual = whole[:, :-1] @ x - whole[:, -1]
        problem = cp.Problem(cp.Minimize(rest + cp.sum_squares(residual)), asked)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of inaccurate solutions: they are compared
            problem.solve(solver=solver, **(settings or FINE))
        return x.value, problem.status

    def _known(self, x, Js) -> list:
        layout, asked = self.layout, []
        for term in layout.terms:
            if term != "offset":
                where = layout.term(term)
                start = self.layout.inertial.stop
                asked.append(x[where] / self.size[where.start - start : where.stop - start] >= 0)
        for name, mass in self.options.get("masses", {}).items():
            names = layout.bodies if name == "all" else [name]
            asked.append(sum(x[layout.body(layout.bodies.index(each))][0] for each in names) / mass == 1)
        for name, ellipsoid in self.options.get("within", {}).items():
            i = layout.bodies.index(name)
            if not isinstance(ellipsoid, list):
                import cvxpy as cp

                asked.append(cp.trace(Js[i] @ ellipsoid.quadric) / self.theta0[i][0] >= 0)
        return asked


def _parameters(J):
    import cvxpy as cp

    trace = J[0, 0] + J[1, 1] + J[2, 2]
    second = [trace - J[0, 0], -J[0, 1], trace - J[1, 1], -J[0, 2], -J[1, 2], trace - J[2, 2]]
    return cp.hstack([J[3, 3], J[0, 3], J[1, 3], J[2, 3], *second])
