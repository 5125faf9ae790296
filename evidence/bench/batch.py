"""Entropic payload fits by the thousand: the batch, the same one by one, and a loop over a cone solver.

The cone solver is Clarabel on problems that CVXPY has compiled beforehand: only its own solve is timed.
"""

import numpy as np

from evidence.bench.timing import interleaved

COUNT, FEW, STARTS = 10_000, 20, 100
DURATION = 1.5  # s at 100 Hz: 150 samples a problem
NOISE = (0.3, 0.03)  # N, N m


def run() -> dict:
    """Problems a second on all cores, medians of interleaved runs."""
    from steelyard.payload.entropic import entropic_fits
    from steelyard.payload.methods import fitted_body

    factors, right, prior = problems()
    gram, moment = np.swapaxes(factors, 1, 2) @ factors, np.einsum("nij,ni->nj", factors, right)
    solvers = [compiled(factors[i], right[i], prior) for i in range(FEW)]
    one = lambda i: fitted_body(factors[i], right[i], prior, weight=1.0, regularizer="entropic")  # noqa: E731
    times = interleaved(
        {
            "batch (native)": (lambda: entropic_fits(gram, moment, prior), COUNT),
            "one by one": (lambda: [one(i) for i in range(FEW)], FEW),
            "cone solver in a loop": (lambda: [solve() for solve in solvers], FEW),
        }
    )
    fast = times["batch (native)"]
    rows = {name: {"problems / s": 1e6 / time, "time, batch = 1": time / fast} for name, time in times.items()}
    rows["batch (native)"]["converged"] = float(entropic_fits(gram, moment, prior).converged.mean())
    return rows


def problems():
    """Factors (COUNT, 10, 10), right sides (COUNT, 10) in units of the noise, and a prior: eight objects of the
    experiment of paper E, swung from many phases; the prior knows the tray's shape and 1 kg."""
    from evidence.bench.tray_experiment import LAYOUTS, test_object, wrist_motion
    from steelyard.payload.wrench_sums import accumulate, eliminated

    rng = np.random.default_rng(0)
    sums = [accumulate(wrist_motion(1.0, DURATION, start=s)) for s in rng.uniform(0, 100, STARTS)]
    motions = [eliminated(each, NOISE)[:10, :10] for each in sums]
    factors = np.tile(motions, (COUNT // STARTS, 1, 1))
    things = [test_object(name) for name in LAYOUTS]
    truth = np.stack([things[i].theta for i in rng.integers(len(things), size=COUNT)])
    right = np.einsum("nij,nj->ni", factors, truth) + rng.normal(size=(COUNT, 10))
    return factors, right, test_object("empty").theta


def compiled(A, b, prior):
    """The solve of one problem, compiled to a cone program."""
    import cvxpy

    from steelyard.inertia import pseudo

    J = cvxpy.Variable((4, 4), PSD=True)
    body = pseudo.to_parameters(np.eye(16).reshape(16, 4, 4)).T @ cvxpy.vec(J, order="C")
    inverse = np.linalg.inv(pseudo.to_matrix(prior))
    cost = cvxpy.sum_squares(A @ body - b) + cvxpy.trace(inverse @ J) - cvxpy.log_det(J)
    data, chain, _ = cvxpy.Problem(cvxpy.Minimize(cost)).get_problem_data("CLARABEL")
    return lambda: chain.solver.solve_via_data(data, False, False, {})
