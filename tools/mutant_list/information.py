"""Mistakes in sums over samples."""

from tools.mutant import Mutant

ROWS = ("information/test_rows.py",)
SUMS = (*ROWS, "information/test_sums.py")
KINDS = (*ROWS, "information/test_kinds.py")

MUTANTS = (
    Mutant(
        "independence of sums from the first log",
        "information/sums.py",
        "independence=(self.n * self.independence + other.n * other.independence) / (self.n + other.n),",
        "independence=self.independence,",
        SUMS,
    ),
    Mutant(
        "forgetting scales factors like sums",
        "information/sums.py",
        "factors=None if self.factors is None else np.sqrt(factor) * self.factors,",
        "factors=None if self.factors is None else factor * self.factors,",
        (*SUMS, "information/test_accurate.py"),
    ),
    Mutant(
        "gains not squared in energies",
        "information/sums.py",
        '"energy": gains**2 * self.energy}',
        '"energy": gains * self.energy}',
        SUMS,
    ),
    Mutant(
        "known parameters left in the factors",
        "information/sums.py",
        "            factors[..., -1] -= factors[..., :-1] @ x\n",
        "",
        SUMS,
    ),
    Mutant(
        "RMS of degrees without momentum rows",
        "information/sums.py",
        'known.get(n, known.get(f"momentum({n})", rms.max(initial=0.0)))',
        "known.get(n, rms.max(initial=0.0))",
        SUMS,
    ),
    Mutant(
        "number of samples: of the first group",
        "information/sums.py",
        "return int(self.counts.max(initial=0))",
        "return int(self.counts[0])",
        SUMS,
    ),
    Mutant(
        "Coulomb widths may differ in a sum",
        "information/sums.py",
        "if one.coulomb_width != other.coulomb_width:",
        "if one.coulomb_width > other.coulomb_width:",
        SUMS,
    ),
    Mutant(
        "a direction of another width is taken",
        "information/regression_rows.py",
        "if log.direction is None or log.direction_width != coulomb_width:",
        "if log.direction is None:",
        ("information/test_streaming.py", *SUMS),
    ),
    Mutant(
        "given weights replace the log's own",
        "information/regression_rows.py",
        "return np.broadcast_to(weights if log.weights is None else weights * log.weights, shape)",
        "return np.broadcast_to(weights, shape)",
        (*SUMS, "log/test_masks.py"),
    ),
    Mutant(
        "weights of the log forgotten",
        "information/regression_rows.py",
        "    if sample_weights is None:\n        return log.weights\n",
        "    if sample_weights is None:\n        return None\n",
        (*SUMS, "log/test_masks.py"),
    ),
    Mutant(
        "negative weights pass",
        "information/regression_rows.py",
        "weights.shape not in (shape, (len(log), 1)) or not (np.isfinite(weights).all() and (weights >= 0).all())",
        "weights.shape not in (shape, (len(log), 1)) or not np.isfinite(weights).all()",
        SUMS,
    ),
    Mutant(
        "passive joints of loops lose the model's friction",
        "information/regression_rows.py",
        "value = np.where(np.isin(np.arange(robot.nv), layout.dofs), 0.0, value)",
        "value = np.zeros(robot.nv)",
        ("information/test_kinds.py", "test_loop_jobs.py", "dynamics/test_closed_loop.py"),
    ),
    Mutant(
        "armature counts twice in the energy",
        "information/row_kinds.py",
        "rate[place] += v[dof] * momentum[0] / 2",
        "rate[place] += v[dof] * momentum[0]",
        KINDS,
    ),
    Mutant(
        "known armature counts twice in the energy",
        "information/row_kinds.py",
        "rate[-1] = -np.sum(v * rate_known, axis=0) / 2",
        "rate[-1] = -np.sum(v * rate_known, axis=0)",
        KINDS,
    ),
    Mutant(
        "power of friction columns left out",
        "information/row_kinds.py",
        "power += v[dof] * tau",
        "power += np.abs(v[dof]) * tau",
        KINDS,
    ),
    Mutant(
        "windows lose what overlaps two chunks",
        "information/row_kinds.py",
        "sums[:, : before.shape[1]] += before",
        "pass",
        (*KINDS, "information/test_streaming.py"),
    ),
    Mutant(
        "rows of momentum count as filtered samples",
        "information/accumulation.py",
        "independence=1.0 if set(spec.kinds) <= set(WEAK) else share,",
        "independence=share,",
        KINDS,
    ),
    Mutant(
        "weights of a loop's independent joints by place",
        "information/accumulation.py",
        "weights = weights[:, choose_independent(spec.robot).independent]",
        "weights = weights[:, : len(choose_independent(spec.robot).independent)]",
        ROWS,
    ),
    Mutant(
        "moments of new columns out of place",
        "information/gram.py",
        "at = np.searchsorted(places, own)",
        "at = np.arange(len(own))",
        ("information/test_squares.py",),
    ),
    Mutant(
        "chosen columns in the order of the sums",
        "information/gram.py",
        "order = np.argsort(moved)[np.count_nonzero(moved < 0) :]",
        "order = np.flatnonzero(moved >= 0)",
        ("information/test_squares.py",),
        alive="places in another order, with rows and columns alike, hold the same matrices",
    ),
)
