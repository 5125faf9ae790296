"""Links as their model has them beside identified ones: the fit of the drives alone, and what identified links gain.

A fit of all parameters gets the credit for what friction explains. Beside this one, links get theirs only.

Whether identified links are better than those of the model, and not only their fit: on motion unlike the log.

Both models have friction fitted, so that links get credit for what no friction explains. On motion of all joints in
their range, let d be the difference of their base parameters, N what noise and a lacking model may move the identified
ones by, and C the covariance of these with what the prior leaves open. Friction beside given links moves by the part
`P N` of it that drives can follow, P the projection of their fit: by that both models err. The difference of their
errors, the gain, is then expected to be `d^T G d - 2 tr(G N (1 - P)^T)`, its deviation `2 sqrt(d^T G C G d)`. It has to
be a gain of the links alone, too: who uses them has no longer the friction and the constant torques that a fit sets
against their weight. G counts torque in units of each joint's noise; where torque as it is would be lost, a wrist of
little noise does not make up for a shoulder (forces and torques cannot be compared so).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError
from steelyard.fit.confidence import Uncertainty
from steelyard.fit.estimate import Certificate, Estimate, Status, estimate_of
from steelyard.fit.prior import model_parameters
from steelyard.fit.validation import Validation
from steelyard.fit.whitening import require_enough_samples
from steelyard.inertia import pseudo
from steelyard.information import Information
from steelyard.model import Robot

ROUNDS = 3  # of the noise, which matters where columns act on several joints
RANK = 1e-12  # of the largest eigenvalue at unit diagonal
CHANGES = 10  # of the active set, for each unknown
TOLERANCE = 1e-12  # of the largest slope at unit columns: a smaller one is rounding


def drives_alone(info: Information, *, constants: bool = True) -> Estimate:
    """Least squares of friction and drives beside the links of the model.

    Args:
        info: Information of a robot.
        constants: whether constant torques are fitted, which about one pose take the place of gravity.

    Returns:
        An Estimate whose links are exactly those of the model; they are its `fixed` columns. Viscous and Coulomb
        friction and armature are not negative.

    Raises:
        FitError: a raw regression, which has no model, or fewer equations than unknowns.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot, rng = sy.library.scara(), np.random.default_rng(0)
        >>> q, v, a = rng.normal(size=(3, 200, robot.nv))
        >>> tau = sy.inverse_dynamics(robot, q, v, a) + 2.0 * v
        >>> log = sy.Log(t=np.arange(200) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
        >>> estimate = sy.fit.drives_alone(sy.accumulate(robot, log, friction=("viscous", "coulomb")))
        >>> bool(np.allclose(estimate.friction["viscous"], 2.0)), bool((estimate.theta == robot.inertias).all())
        (True, True)
    """
    if info.robot is None:
        raise FitError("Links are kept as their model has them, and this Information comes from a raw regression.")
    require_enough_samples(info)
    layout = info.layout
    drives = np.arange(layout.inertial.stop, layout.size)
    parameters = model_parameters(info.robot, layout)
    parameters[drives] = 0.0
    if not constants:
        drives = drives[[not layout.names[each].endswith(".offset") for each in drives]]
    regrouping = info.basis.regrouping
    known, directions = regrouping @ parameters, regrouping[:, drives]
    signed = np.isin(drives, layout.nonnegative)
    measured = info.energy > 0
    noise = np.sqrt(info.energy / np.maximum(info.counts, 1))
    found, curvature = np.zeros(len(drives)), np.zeros((len(drives), len(drives)))
    for _ in range(ROUNDS if len(drives) else 0):
        weight = np.where(measured, 1 / np.maximum(noise, 1e-9 * max(noise.max(), 1e-300)) ** 2, 0.0)
        G = info.squares.weighted(weight)
        curvature = directions.T @ G @ directions
        found = _solved(curvature, directions.T @ (weight @ info.moment - G @ known), signed)
        noise = np.sqrt(info.residual_energy(known + directions @ found) / np.maximum(info.counts, 1))
    parameters[drives] = found
    smallest = np.linalg.eigvalsh(pseudo.to_matrix(parameters[layout.inertial].reshape(-1, 10)))
    physical = bool((smallest[:, 0] >= 0).all())
    lower = np.full(layout.size, -np.inf)
    lower[drives[signed]] = 0.0
    return estimate_of(
        info,
        "friction and drives, links as given",
        parameters,
        directions @ np.linalg.pinv(curvature, hermitian=True) @ directions.T / info.independence,
        noise=noise,
        status=Status.OK,
        physical=physical,
        certificate=Certificate(0.0, 1.0, float(found[signed].min(initial=np.inf))) if physical else None,
        fixed=tuple(range(layout.inertial.stop)),
        lower_bounds=lower,
    )


def _solved(G, b, signed) -> np.ndarray:
    """Minimum of `x^T G x / 2 - b^T x`, x (k,) not negative where signed; 0 along what G does not show."""
    size = np.sqrt(np.diag(G))
    found = np.zeros(len(b))
    kept = size > 0  # joints differ by their noise: sizes say nothing
    if not kept.any():
        return found
    scale = 1 / size[kept]
    values, axes = np.linalg.eigh(scale[:, None] * G[np.ix_(kept, kept)] * scale)
    root = np.sqrt(np.maximum(values, RANK * values[-1]))
    solved = nonnegative_least_squares(root[:, None] * axes.T, axes.T @ (scale * b[kept]) / root, free=~signed[kept])
    found[kept] = scale * solved[0]
    return found


def nonnegative_least_squares(A, b, free=None) -> tuple[np.ndarray, float]:
    """Minimise `||A x - b||` with x >= 0, by active sets; the import of SciPy's takes longer than all uses in a job.

    Args:
        A: (m, k), of any rank.
        b: (m,).
        free: (k,) unknowns that may be negative all the same; none by default.

    Returns:
        x (k,) and the sum of squared residuals.

    Source:
        Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
    """
    size = np.linalg.norm(A, axis=0)
    usable = size > 0
    scale = np.where(usable, size, 1.0)
    A = A / scale
    free = np.zeros(A.shape[1], dtype=bool) if free is None else np.asarray(free, dtype=bool) & usable
    x, passive = np.zeros(A.shape[1]), free.copy()
    if free.any():
        x[free] = np.linalg.lstsq(A[:, free], b)[0]
    least = TOLERANCE * max(float(np.linalg.norm(b)), 1e-300)
    for _ in range(CHANGES * A.shape[1]):
        slope = np.where(passive | ~usable, -np.inf, A.T @ (b - A @ x))
        best = int(np.argmax(slope)) if len(slope) else 0
        if not len(slope) or slope[best] <= least:
            break
        passive[best] = True
        while True:
            trial = np.zeros_like(x)
            trial[passive] = np.linalg.lstsq(A[:, passive], b)[0]
            below = passive & ~free & (trial <= 0)
            if not below.any():
                break
            step = np.min(x[below] / np.maximum(x[below] - trial[below], 1e-300))
            x = x + step * (trial - x)
            passive &= free | (x > least)
        x = trial
    left = b - A @ x
    return x / scale, float(left @ left)


CERTAIN = 3.0  # deviations of a gain that is none by chance
LIKELY = 1.0  # the same of one part of a robot whose whole gains for certain
BLOCKS, FEWEST = 20, 4  # of held-out samples, at most and at least
LEAST = 0.02  # share of the held-out error that better links take off


@dataclass(frozen=True, repr=False)
class LinksGain(Card):
    """expected: gain of energy on other motion over its deviation; NaN where other motion is not known. held_out:
    gain of energy on held-out samples over its deviation; share: of the held-out error, joints counted alike but
    for errors below their noise, that the identified links take off. apart: by how much both kinds of links differ
    on that motion, RMS torques over those of the given ones; NaN likewise."""

    expected: float
    held_out: float
    share: float
    apart: float = np.nan

    @property
    def certain(self) -> bool:
        """Whether the identified links are better."""
        return self._beyond(CERTAIN) and self.share > LEAST

    @property
    def likely(self) -> bool:
        """Whether they are, where those of the whole robot are: of one part alone less is certain."""
        return self._beyond(LIKELY) and self.share > 0

    def _beyond(self, deviations: float) -> bool:
        expected = np.isnan(self.expected) or self.expected > deviations
        return bool(expected and self.held_out > deviations)


def links_gain(
    given: Estimate,
    identified: Uncertainty,
    motion: Information | None,
    before: Validation,
    after: Validation,
    *,
    info: Information,
    memory: float = 0.0,
    dofs: Sequence[int] | None = None,
) -> LinksGain:
    """Compare links as given with identified ones.

    Args:
        given: of `drives_alone`.
        identified: of a fit to the same data.
        motion: unlike the log, as of `ordinary_use`; None where there is none.
        before, after: both on the same held-out samples.
        info: that both were fitted to.
        memory: s for which their errors stay alike.
        dofs: degrees of freedom whose torques are compared, all by default.

    Returns:
        The LinksGain.
    """
    chosen = slice(None) if dofs is None else list(dofs)
    estimate, expected, apart = identified.estimate, np.nan, np.nan
    noise = np.maximum(estimate.noise, 1e-9 * max(estimate.noise.max(), 1e-300))
    if motion is not None:
        counts = np.zeros(len(noise))
        counts[chosen] = 1.0
        of_links = np.arange(estimate.layout.size)[estimate.layout.inertial]
        links = np.isin(estimate.basis.columns, of_links).astype(float)
        plain = motion.base.squares.weighted(counts)
        weighted = motion.base.squares.weighted(counts / noise**2)
        d = estimate.base - given.base
        apart = np.sqrt(max(links * d @ plain @ (links * d), 0.0) / max(given.base @ plain @ given.base, 1e-300))
        moved = identified.from_noise
        apart_moved = moved - _followed_by_drives(info, noise) @ moved
        tried = ((np.ones(len(d)), weighted), (links, weighted), (links, plain))
        *gains, torque = (
            _expected(own * d, own[:, None] * moved, own[:, None] * apart_moved, identified.covariance, G)
            for own, G in tried
        )
        expected = min(*gains, torque) if torque < 0 and _one_unit(given.require_robot(), chosen) else min(gains)
    counted = 1.0 if after.weights is None else after.weights
    floor = dict(zip(estimate.group_names, noise, strict=True))  # a resting joint may err by next to nothing
    unit = np.maximum(before.rms, [floor.get(name, 1e-300) for name in before.joint_names])
    given_left, left = ((counted * (each.error / unit) ** 2)[:, chosen] for each in (before, after))
    won = _paired(given_left, left, before.t, memory), _share_off(given_left, left)
    return LinksGain(float(expected), *won, float(apart))


def standing_links(
    given: Estimate,
    identified: Uncertainty,
    motion: Information | None,
    alone: Validation,
    everything: Validation,
    *,
    info: Information,
    memory: float,
    accused: Collection[str | None],
) -> tuple[tuple[str, ...], LinksGain]:
    """Links that stay as the file has them: of every part of a robot for which identified ones are not better.

    Args:
        given, identified, motion, info, memory: as of `links_gain`.
        alone, everything: torque errors of both fits.
        accused: joints with a fault that a fit puts into links, None for all; their part stays until it is undone.

    Returns:
        Names of these links, and what identified ones gain: of a part where that is certain, if any.
    """
    robot = given.require_robot()
    whole = links_gain(given, identified, motion, alone, everything, info=info, memory=memory)
    if not given.physical or alone.relative_error >= 1:  # which is no better than links without any mass
        return (), whole
    kept, gains, parts = [], [], branches(robot)
    for dofs, links in parts:
        part = dofs if len(parts) > 1 else None  # all rows: closed loops have fewer than degrees
        gained = links_gain(given, identified, motion, alone, everything, info=info, memory=memory, dofs=part)
        gains.append(gained)
        own = {robot.dof_names[dof] for dof in dofs}
        wrong = any(each is None or each in own for each in accused)
        if wrong or not (gained.certain or (whole.certain and gained.likely)):
            kept += links
    return tuple(kept), max(gains, key=lambda each: (each.certain, each.apart))


def branches(robot: Robot) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Parts of a robot that share no moving link and no motion: arms on one fixed base, legs of a trunk that is held.

    Args:
        robot: without closed loops; one with them is one part.

    Returns:
        Degrees of freedom and links of each part.
    """
    root = list(range(len(robot.joints)))
    for joint, above in enumerate(robot.parents):
        root[joint] = root[above] if above >= 0 else joint
    if robot.loops:
        root = [0] * len(root)
    for joint, own in enumerate(robot.joints):
        if own.mimics is not None:  # moves with a joint that may be of another part
            master = root[[each.name for each in robot.joints].index(own.mimics)]
            root = [master if each == root[joint] else each for each in root]
    parts: dict[int, tuple[list[int], list[str]]] = {}
    for joint, own in enumerate(robot.joints):
        dofs, _ = parts.setdefault(root[joint], ([], []))
        if own.mimics is None:
            dofs.extend(range(robot.v_slices[joint].start, robot.v_slices[joint].stop))
    for name, joint in zip(robot.body_names, robot.body_joints, strict=True):
        parts[root[joint]][1].append(name)
    return [(tuple(dofs), tuple(links)) for dofs, links in parts.values()]


def _one_unit(robot: Robot, chosen) -> bool:
    """Whether the efforts of some degrees of freedom are all torques, or all forces, which can be added."""
    kinds = np.array([(joint.nv == 1, joint.turns) for joint in robot.free_joints for _ in range(joint.nv)])
    return bool(kinds[chosen, 0].all() and len(set(kinds[chosen, 1].tolist())) == 1)


def _followed_by_drives(info: Information, noise) -> np.ndarray:
    """(r, r) what the fit of drives beside given links makes of errors of base parameters. noise: (g,) of rows."""
    layout = info.layout
    drives = info.basis.regrouping[:, np.arange(layout.inertial.stop, layout.size)]
    told = drives.T @ info.base.squares.weighted(1 / noise**2)
    return drives @ np.linalg.pinv(told @ drives, hermitian=True) @ told


def _expected(d, moved, alone, covariance, G) -> float:
    """Gain of energy over its deviation. d: (r,) difference of both models. moved, alone: (r, k) roots of what noise
    moves the identified one by, and of what of it does not move the given one, too."""
    gained = d @ G @ d - 2 * np.sum(alone * (G @ moved))
    return gained / max(2 * np.sqrt(max(G @ d @ covariance @ G @ d, 0.0)), 1e-300)


def _share_off(before, after) -> float:
    whole = before.sum()
    return float(1 - np.sqrt(after.sum() / whole)) if whole > 0 else 0.0


def _paired(before, after, t, memory: float) -> float:
    """Mean difference of energies (n, nv) over its deviation, by blocks no shorter than errors stay alike, if any.

    0 where there are too few samples to know the deviation: no difference is certain then.
    """
    span, most = float(t[-1] - t[0]) if len(t) else 0.0, min(BLOCKS, len(t) // 4)
    if most < FEWEST:
        return 0.0
    alone = np.clip(span / memory, 1, most) if memory > 0 else most  # stretches that tell something of their own
    count = max(FEWEST, int(alone))
    edges = np.linspace(0, len(t), count + 1).astype(int)[:-1]
    gained = np.add.reduceat((before - after).sum(axis=1), edges)
    deviation = np.std(gained, ddof=1) / np.sqrt(min(alone, count))
    return float(gained.mean() / max(deviation, 1e-300 + 1e-12 * abs(gained.mean())))
