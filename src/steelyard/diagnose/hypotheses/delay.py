"""Torque that comes later than the motion that needs it, or earlier.

A delay adds `-delay * d tau / dt`. Friction that lags behind a reversal, or is another near standstill, looks alike, so
that its columns are free companions: gravity and inertia tell the delay. In a joint that shows nothing but friction the
two are one, and the same shift undoes them. Delays of all joints are estimated together, with covariance, beside all
parameters; what is said of them follows from that.
"""

from collections.abc import Iterator

import numpy as np

from steelyard.diagnose.added_columns import Added, JointEstimates, add_columns, promise, scatter, widened
from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault
from steelyard.diagnose.hypothesis import Hypothesis, free_hypothesis, surprise
from steelyard.diagnose.thresholds import EVIDENCE, MOST, NOISE
from steelyard.terms import TERMS

ROUNDS = 5  # of Gauss-Newton
LONGEST = 0.2  # s
USUAL = 0.02  # s by which buses and filters of drives delay torques
SETTLED = 1e-5  # s, below which another round changes nothing
WINS = 0.08  # nats a sample that it must win, if it is not certain; measured logs without a delay win at most 0.04
CERTAIN = 3.5  # standard deviations: noise alone reaches them in one of 270 logs of a seven-joint arm without a delay
LITTLE = CERTAIN**2 / 2  # nats, which no delay is asked to win
NOTICEABLE = 5e-4  # s, below which undoing a delay changes little
UNSURE = 5e-3  # s: standard deviation of a delay that is no more than a guess
LESS = 0.8  # share of the residual energy that is left, below which delays are estimated again, at that noise
SHARPER = 3.0  # times the speed over which friction reverses faster than its column says
COMMON = 1.3  # times what the delay of one joint wins, a common one must win


def delays(case: Case) -> JointEstimates:
    """Delays of all joints, s, estimated together; NaN where friction explains any delay."""
    nv, dofs = case.robot.nv, np.array(case.dofs, dtype=int)
    found, added, changed = _settled(case, np.eye(nv)[dofs])
    if (changed.free_energy < LESS * case.free_energy).any():  # again at the noise that is left
        more, added, changed = _settled(changed, np.eye(nv)[dofs])
        found = found + more
    P = _covariance(case, found, added, changed)
    known = np.isfinite(np.diag(P))
    return JointEstimates.of(changed, dofs[known], found[known], P[np.ix_(known, known)], added.left)


def certain_delays(case: Case) -> np.ndarray:
    """(nv,) s, the delays that are certain and large enough to undo, 0 for the others."""
    dofs, delay = delays(case).certain(CERTAIN)
    kept = np.zeros(case.robot.nv)
    kept[dofs] = np.where(np.abs(delay) > NOTICEABLE, delay, 0.0)
    return kept


def hypotheses(case: Case) -> Iterator[Hypothesis]:
    """One delay that all joints share, or those of single joints: of all that are certain, else of the likeliest."""
    if not _promising(case):
        return
    found = delays(case)
    dofs = np.flatnonzero(np.isfinite(found.value))
    if not len(dofs):
        return
    patterns, start = _patterns(case, found, dofs)
    near = case.undone("delay", delay=case.delay + start @ patterns)
    more, added, changed = _settled(near, patterns)
    delay = start + more
    deviation = np.sqrt(np.diag(_covariance(case, delay, added, changed)))
    kept = np.abs(delay) > NOTICEABLE
    if not kept.any():
        return
    if not kept.all():
        delay, deviation, patterns = delay[kept], deviation[kept], patterns[kept]
        changed = case.undone("delay", delay=case.delay + delay @ patterns)
    sigmas = np.abs(delay / deviation)
    named = [_named(case, changed, patterns[k], float(delay[k]), float(deviation[k])) for k in np.argsort(-sigmas)]
    told = free_hypothesis(case, changed, named[0], more=tuple(named[1:]), surprise=surprise(delay, USUAL))
    sure = sigmas.min() > CERTAIN and found.lasting < NOISE
    short = told.fault.joint is not None and told.gain > WINS and told.surprise < EVIDENCE and told.own_share < MOST
    if sure or told.wins(WINS) or short:  # the last of a log too short for evidence
        yield told


def _space(case: Case) -> np.ndarray:
    return widened(case, _reversals(case)) if any(TERMS[term].directed for term in case.layout.terms) else case.space


def _promising(case: Case) -> bool:
    """Whether a delay of one joint, or of all, may win half of what a certain one must, to first order."""
    least, space = CERTAIN**2 / 4 / (len(case) * case.independence), _space(case)
    explained = case.explained(space)
    for dofs in (*([dof] for dof in case.dofs), list(case.dofs)):
        if promise(case, dofs, -case.tau_rate.T[dofs, :, None], space=space, explained=explained)[1] > least:
            return True
    return False


def _covariance(case: Case, delay, added: Added, changed: Case) -> np.ndarray:
    """(m, m) of delays (m,), the case without them being changed.

    Noise of positions makes columns wrong, and with them delays that look certain. Undoing them then takes less off the
    residual than they promise; what it does take off says how far to believe them.
    """
    P = added.covariance * scatter(changed, added) ** 2
    known = np.isfinite(np.diag(P))
    x, W = delay[known], np.linalg.pinv(P[np.ix_(known, known)], hermitian=True)
    promised, dofs = 0.5 * x @ W @ x, list(case.dofs)
    taken = 0.5 * np.sum(case.free_energy[dofs] / changed.free_energy[dofs] - 1) * len(case) * case.independence
    return P * max(1.0, promised / max(2 * taken, LITTLE))


def _settled(case: Case, patterns) -> tuple[np.ndarray, Added, Case]:
    """Delays (m,) of patterns (m, nv) by Gauss-Newton, its last step, and the case without them."""
    space, delay, changed = _space(case), np.zeros(len(patterns)), case
    added = _step(case, changed, patterns, space)
    for _ in range(ROUNDS):
        delay = np.clip(delay + added.coefficients, -LONGEST, LONGEST)
        changed = case.undone("delay", delay=case.delay + delay @ patterns)
        small = np.abs(added.coefficients).max(initial=0.0) < SETTLED
        added = _step(case, changed, patterns, space)
        if small:
            break
    return delay, added, changed


def _step(case: Case, changed: Case, patterns, space) -> Added:
    columns = -np.einsum("mj,nj->jnm", patterns, changed.tau_rate)
    return add_columns(case, columns, space=space, target=changed.target)


def _patterns(case: Case, found: JointEstimates, dofs) -> tuple[np.ndarray, np.ndarray]:
    """(m, nv) degrees that share a delay each, and these delays (m,): all degrees, those whose delay is certain beside
    noise, or the one that is likeliest late."""
    delay, W = found.value[dofs], np.linalg.pinv(found.covariance[np.ix_(dofs, dofs)], hermitian=True)
    pull, weight, variance = W @ delay, np.diag(W), 1 / W.sum()
    common, won = variance * pull.sum(), pull**2 / weight
    apart = np.sqrt(np.maximum(np.diag(found.covariance)[dofs] - variance, 0.0))
    agree = np.abs(delay - common) < np.maximum(CERTAIN * apart, NOTICEABLE)
    if agree.all() and common**2 / variance > COMMON * won.max():
        together = np.zeros((1, case.robot.nv))
        together[:, list(case.dofs)] = 1.0
        return together, np.array([common])
    chosen, late = found.certain(CERTAIN)
    if not chosen or found.lasting > NOISE:
        place = int(np.argmax(won))
        chosen, late = [dofs[place]], pull[[place]] / weight[[place]]
    return np.eye(case.robot.nv)[chosen], late


def _named(case: Case, changed: Case, pattern, delay: float, deviation: float) -> Fault:
    """Of the degrees in pattern (nv,), as the log has it: what was undone before is part of it."""
    late = delay + case.delay[pattern > 0].mean()
    alone = int(np.argmax(pattern)) if pattern.sum() == 1 else None
    name = None if alone is None else case.robot.dof_names[alone]
    who = "Torques come" if name is None else f"The torque of {name} comes"
    won = np.log(case.free_energy / changed.free_energy)[pattern > 0]
    ratio = float(np.exp(-np.mean(won) / 2))
    return fault(
        "delay",
        f"{who} {1000 * abs(late):.2f} ± {1000 * deviation:.2g} ms {'later' if late > 0 else 'earlier'} than the "
        f"motion: shifting {'them' if name is None else 'it'} back takes {1 - ratio:.0%} off the residual.",
        remedy=f"Shift tau{'' if name is None else f' of {name}'} by {-1000 * late:.2f} ms against q before "
        "identification, or record both with one clock.",
        joint=name,
        options=["--delay", f"{name or 'all'}={late:.5f}"],
        delay_ms=1000 * late,
        deviation_ms=1000 * deviation,
        residual_ratio=ratio,
    )


def _reversals(case: Case) -> np.ndarray:
    """(nv, n, k) what friction at reversals may be beyond its columns, of each driven degree: the rate of the smoothed
    direction of motion, and a sharper direction with its rate, as of joints that rub more at low speed."""
    regression, width = case.regression, case.regression.coulomb_width
    sharp = np.tanh(SHARPER * regression.v / width)
    # d tanh(v / width) / dt, up to the filter that shaped both alike
    rate = (1 - regression.direction[:, : case.robot.nv] ** 2) * regression.a / width
    kinds = (rate, sharp, SHARPER * (1 - sharp**2) * regression.a / width)
    columns = np.zeros((case.robot.nv, len(case), len(kinds) * len(case.dofs)))
    for place, dof in enumerate(case.dofs):
        columns[dof, :, place * len(kinds) : (place + 1) * len(kinds)] = np.stack([each[:, dof] for each in kinds], -1)
    return columns
