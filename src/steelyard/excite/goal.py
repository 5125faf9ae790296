"""What an experiment should reveal, as one number of the information it brings, with its gradient.

Unknowns are in units of what the prior leaves open: the pullback metric of `fit.consistent` for bodies, wide normal
spreads for friction. `precision` is one plus what earlier logs brought, the information of a motion adds
`spread^T G spread`, and the covariance of what is wanted is a block of the inverse (D-, A- and E-optimality: Pukelsheim
2006; with a prior: Chaloner and Verdinelli 1995); "prediction" is the mean variance of torques over random motions at
all speeds that the limits allow (V-optimality). Condition numbers are of base columns of unit length.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.errors import FitError, OptionError, choices
from steelyard.excite.measured import JOINTS, measured_kinds
from steelyard.fit.consistent import EFFECT_SPREAD
from steelyard.fit.prior import consistent_prior
from steelyard.fit.program import congruence
from steelyard.fit.whitening import weigh_by_noise
from steelyard.identifiability.basis import Basis
from steelyard.identifiability.structure import regression_basis
from steelyard.information import Information
from steelyard.information.kinds import groups_of, sensors_of
from steelyard.model.robot import Robot
from steelyard.parameters import COULOMB_WIDTH, FRICTION, ParameterLayout, layout_of

CRITERIA = ("D", "A", "E", "prediction", "condition")
SEEN = 1e-9  # share of the largest below which a combination is rounding
SHARP = 6.0  # power of the norms that stand for largest eigenvalues


@dataclass(frozen=True, eq=False)
class Goal:
    """Which unknowns matter and how they are judged.

    noise: (rows,) standard deviation of each row, rate: independent samples a second. spread: (r, c) base parameters of
    one unit of each unknown; precision: (c, c) known before. wanted: columns of the regression that count; seen: (w, c)
    what of each, in units of its prior, the unknowns make up; `contrasts` (k, c) span it.
    rank: base directions that some allowed motion shows. earlier: (r, r) information of earlier logs. reference: (k, c)
    deviations of torques (of what sensors feel where torques are not measured) that one unit of each unknown makes in
    random motions, over what is typical of each row, so that squares add up to their mean. share: of the RMS of a row
    along a motion, as further noise. kinds: of rows that are measured.
    """

    robot: Robot
    layout: ParameterLayout
    basis: Basis
    noise: np.ndarray
    rate: float
    criterion: str
    spread: np.ndarray
    precision: np.ndarray
    wanted: np.ndarray
    seen: np.ndarray
    rank: int
    earlier: np.ndarray
    reference: np.ndarray
    share: float = 0.0
    coulomb_width: float = COULOMB_WIDTH
    kinds: tuple[str, ...] = (JOINTS,)

    @property
    def measured(self) -> slice:
        """Rows that are measured."""
        return _measured(self.robot, self.kinds)

    def noise_along(self, forces) -> np.ndarray:
        """(rows,) standard deviation of each row along a motion that needs forces (rows, n): `noise` and a share of
        their RMS."""
        return np.sqrt(self.noise**2 + self.share**2 * np.mean(forces**2, axis=1))

    def louder(self, forces, slope) -> np.ndarray:
        """Gradient (rows, n) by forces of a cost with derivative `slope` by the logarithm of each row's information."""
        return -2 * self.share**2 / forces.shape[1] * forces * (slope / self.noise_along(forces) ** 2)[:, None]

    def cost(self, gram) -> tuple[float, np.ndarray]:
        """Cost of a weighted Gram matrix (r, r) in base columns, to be minimised, and its gradient (r, r)."""
        if self.criterion == "condition":
            return _condition(gram + self.earlier, self.rank)
        if self.criterion == "D" and self._known is not None:
            return self._volume(gram)
        inverse = np.linalg.inv(self.precision + self.spread.T @ gram @ self.spread)
        block = self.contrasts @ inverse @ self.contrasts.T
        if self.criterion == "D":
            value, inner = np.linalg.slogdet(block)[1] / len(block), np.linalg.inv(block) / len(block)
        elif self.criterion in ("A", "prediction"):
            trace = np.trace(block)
            value, inner = np.log(trace), np.eye(len(block)) / trace
        else:
            values, vectors = np.linalg.eigh(block)
            power = (values / values[-1]) ** SHARP
            value = np.log(values[-1]) + np.log(power.sum()) / SHARP
            inner = (vectors * (power / values / power.sum())) @ vectors.T
        half = self.spread @ inverse @ self.contrasts.T
        return float(value), -half @ inner @ half.T

    def _volume(self, gram) -> tuple[float, np.ndarray]:
        """The same for "D" where everything counts: a volume does not depend on units, so base columns will do."""
        assert self._known is not None
        known, constant = self._known
        L = np.linalg.cholesky(known + gram)
        half = np.linalg.inv(L)
        value = constant - 2 * np.sum(np.log(np.diag(L)))
        return float(value) / len(L), -half.T @ half / len(L)

    @cached_property
    def _known(self) -> tuple[np.ndarray, float] | None:
        """Information (r, r) in base columns before the motion, and the part of the logarithm of the volume that does
        not change; None unless all base parameters count."""
        size = len(self.spread)
        if self.spread.shape != (size, size) or self.contrasts.shape != (size, size):
            return None
        units = np.linalg.inv(self.spread)
        logarithm = np.linalg.slogdet(self.contrasts)[1] - np.linalg.slogdet(self.spread)[1]
        return units.T @ self.precision @ units, 2 * logarithm

    def covariance(self, gram) -> np.ndarray:
        """(r, r) of the base parameters after a motion with this weighted Gram matrix, with prior and earlier logs."""
        return self.spread @ np.linalg.solve(self.precision + self.spread.T @ gram @ self.spread, self.spread.T)

    def left(self, gram) -> np.ndarray:
        """(w,) deviation of each wanted parameter as a share of what prior and earlier logs left, its unseen part
        counted."""
        unseen = 1.0 - np.sum(self.seen**2, axis=1)
        precisions = self.precision, self.precision + self.spread.T @ gram @ self.spread
        before, after = (unseen + np.sum(self.seen @ np.linalg.inv(x) * self.seen, axis=1) for x in precisions)
        return np.sqrt(after / before)

    def condition(self, gram) -> float:
        """Condition number of the regressor with unit columns, earlier logs counted, of what can be shown at all."""
        values = np.linalg.eigvalsh(_unit(gram + self.earlier)[0])[::-1][: self.rank]
        return float(np.sqrt(values[0] / values[-1])) if values[-1] > 0 else np.inf

    @cached_property
    def contrasts(self) -> np.ndarray:
        if self.criterion == "prediction":
            return self.reference
        _, singular, Vt = np.linalg.svd(self.seen, full_matrices=False)
        kept = singular > SEEN
        return singular[kept, None] * Vt[kept]

    def judged_by(self, criterion: str) -> "Goal":
        return replace(self, criterion=criterion)


def goal_of(
    robot: Robot,
    probe,
    *,
    criterion: str = "D",
    focus=None,
    friction=FRICTION,
    armature: bool = False,
    noise=None,
    noise_share: float = 0.0,
    rate: float = 100.0,
    after: Information | None = None,
    weight: float = 1.0,
    coulomb_width: float = COULOMB_WIDTH,
    rows=JOINTS,
) -> Goal:
    """Goal for a robot; options as of `design`. probe: random allowed states q, v, a (nv, n) and their torques."""
    if criterion not in CRITERIA:
        raise OptionError(f"criterion is one of {choices(CRITERIA)}; got {criterion!r}.")
    from steelyard.excite.rows import regression_of

    kinds = measured_kinds(robot, rows)
    layout = layout_of(robot, friction=friction, armature=armature)
    basis = regression_basis(robot, layout, sensors_of(robot, kinds))
    q, v, a, tau = probe
    plan = regression_of(robot, layout, basis, coulomb_width, kinds)
    shown = plan.at(q, v, a)
    typical = np.sqrt(np.mean(tau**2, axis=1))
    typical = np.maximum(typical, 1e-3 * max(typical.max(initial=0.0), 1e-9))
    if after is not None:
        after, noise = _earlier(robot, layout, kinds, after, noise)
    usual = np.concatenate([typical, _felt(shown.forces[robot.nv :])])
    noise = _noise(robot, kinds, usual, noise)
    if not (np.isfinite(noise_share) and noise_share >= 0):
        raise OptionError(f"noise_share is a share of the RMS torque, 0 or more; got {noise_share}.")
    theta = consistent_prior(None, robot, robot.nb)[0]
    unit = np.zeros((layout.size, layout.size))
    for i, each in enumerate(theta):
        unit[layout.body(i), layout.body(i)] = congruence(each) * np.sqrt(2 / weight)
    effects = np.arange(layout.inertial.stop, layout.size)
    unit[effects, effects] = EFFECT_SPREAD * np.tile(typical[list(layout.dofs)], len(layout.terms)) / np.sqrt(weight)
    earlier = np.zeros((basis.count, basis.count)) if after is None else after.base.G
    columns, wanted = _unknowns(robot, layout, basis, focus)
    open_before = basis.regrouping[:, columns] @ unit[:, columns][columns]
    spread, directions = _whitened(open_before)
    places = np.searchsorted(columns, wanted)
    seen = directions[places]
    tempo = np.linspace(0, 1, q.shape[1])  # from standing still to the limits
    predicted = slice(0, robot.nv) if JOINTS in kinds else slice(robot.nv, None)
    paced = plan.at(q, tempo * v, tempo**2 * a).dense()[:, predicted]
    relative = (paced / usual[predicted, None]).reshape(basis.count, -1)
    reference = np.linalg.qr(relative.T, mode="r") @ open_before[:, places] @ seen / np.sqrt(relative.shape[1])
    gram = shown.gram(np.ones(len(noise)))
    rank = np.linalg.matrix_rank(_unit(gram + earlier)[0], tol=1e-10)
    return Goal(
        robot=robot,
        layout=layout,
        basis=basis,
        noise=noise,
        rate=rate,
        criterion=criterion,
        spread=spread,
        precision=np.eye(spread.shape[1]) + spread.T @ earlier @ spread,
        wanted=wanted,
        seen=seen,
        rank=int(rank),
        earlier=earlier,
        reference=reference,
        share=float(noise_share),
        coulomb_width=coulomb_width,
        kinds=kinds,
    )


def _whitened(spread) -> tuple[np.ndarray, np.ndarray]:
    """Spread (r, c) of c <= p unknowns with unit prior that make up all that shows of p, and these in units of the p
    (p, c), orthonormal columns. spread: (r, p)."""
    size = np.linalg.norm(spread, axis=1)
    _, singular, Vt = np.linalg.svd(spread / np.where(size > 0, size, 1.0)[:, None], full_matrices=False)
    directions = Vt[singular > SEEN * singular[0]].T
    return spread @ directions, directions


def default_noise(robot: Robot, typical) -> np.ndarray:
    """(nv,) one percent of what each motor can, or of the joint's typical torque where the model does not say."""
    limited = np.isfinite(robot.effort_limits) & (robot.effort_limits > 0)
    return 0.01 * np.where(limited, np.where(limited, robot.effort_limits, 1.0), typical)


def _felt(wrenches) -> np.ndarray:
    """(6 a sensor,) RMS of the largest component of force and of moment. wrenches: (6 a sensor, n)."""
    return np.repeat(np.sqrt(np.mean(wrenches**2, axis=1).reshape(-1, 3).max(axis=1)), 3)


def _measured(robot: Robot, kinds: tuple[str, ...]) -> slice:
    return slice(0 if JOINTS in kinds else robot.nv, None)


def _noise(robot: Robot, kinds: tuple[str, ...], usual, noise) -> np.ndarray:
    """(rows,) deviation of each row: as given, one or one a measured row, or one percent of what is usual there."""
    found = np.concatenate([default_noise(robot, usual[: robot.nv]), 0.01 * usual[robot.nv :]])
    measured = found[_measured(robot, kinds)]
    if noise is not None:
        if np.shape(noise) not in ((), measured.shape):
            raise OptionError(
                f"noise is one number or one a measured row ({len(measured)},); got shape {np.shape(noise)}."
            )
        measured[:] = noise
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise OptionError(f"noise is a positive standard deviation in N m, one or ({len(measured)},); got {noise}.")
    return found


def _earlier(robot: Robot, layout: ParameterLayout, kinds: tuple[str, ...], after: Information, noise):
    """Earlier logs weighed by their residuals (or by a noise that is given), and that noise, one a measured row."""
    if after.layout != layout or after.base.basis.count != len(after.base.columns):
        raise FitError(
            "The earlier Information has other columns than this design; accumulate it and design with the same "
            "friction and armature options."
        )
    names = tuple(name for kind in kinds for name in groups_of(robot, kind))
    if tuple(after.group_names) != names:
        raise FitError(
            f"The earlier Information holds other rows than this design, in their order: {choices(names)}. Accumulate "
            f"it with rows={kinds}."
        )
    if noise is None:
        return weigh_by_noise(after)
    noise = np.broadcast_to(noise, (len(names),)).astype(float)
    return after.weighted(after.independence / noise**2), noise


def _unknowns(robot: Robot, layout: ParameterLayout, basis: Basis, focus) -> tuple[np.ndarray, np.ndarray]:
    """Columns that are unknown, and which of them count."""
    everything = np.arange(layout.size)
    if focus is None:
        return everything, everything
    if focus == "payload":
        last = everything[layout.body(robot.nb - 1)]
        return last, last
    wanted: list[int] = []
    for name in (focus,) if isinstance(focus, str) else focus:
        if name == "friction":
            wanted += range(layout.inertial.stop, layout.size)
        elif name in layout.body_names:
            wanted += range(*layout.body(layout.body_names.index(name)).indices(layout.size))
        elif name in layout.names:
            wanted.append(_visible(layout, basis, name))
        else:
            raise OptionError(
                f"focus: '{name}' is neither 'payload', 'friction', a body ({choices(layout.body_names)}) nor one of "
                "their parameters, such as link2.Ixx."
            )
    if not wanted:
        raise OptionError("focus: nothing is left to be known; name bodies, parameters, 'friction' or 'payload'.")
    return everything, np.unique(wanted)


def _visible(layout: ParameterLayout, basis: Basis, name: str) -> int:
    column = layout.names.index(name)
    if not np.any(np.abs(basis.regrouping[:, column]) > 1e-9):
        raise OptionError(
            f"focus: joint torques can never show {name}, whatever the motion. Leave it out, or measure more: "
            "`steelyard analyze MODEL --explain all` says which sensor would show it."
        )
    if np.abs(basis.null_space[column]).max(initial=0.0) > 1e-9:
        raise OptionError(
            f"focus: joint torques never show {name} on its own, only in combinations, so its value is more than the "
            f"sensors can see. Name the whole body, or see `steelyard analyze MODEL --explain {name.split('.')[0]}`."
        )
    return column


def _unit(gram) -> tuple[np.ndarray, np.ndarray]:
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    size = np.where(size > 1e-12 * size.max(initial=1e-300), size, np.inf)
    return gram / size[:, None] / size, size


def _condition(gram, rank: int) -> tuple[float, np.ndarray]:
    """Logarithm of a smoothed condition number of the regressor with unit columns, and its gradient."""
    C, size = _unit(gram)
    values, vectors = np.linalg.eigh(C)
    values, vectors = np.maximum(values[-rank:], 1e-14), vectors[:, -rank:]
    large, small = (values / values[-1]) ** SHARP, (values[0] / values) ** SHARP
    value = np.log(values[-1] / values[0]) + (np.log(large.sum()) + np.log(small.sum())) / SHARP
    pull = large / values / large.sum() - small / values / small.sum()
    F = (vectors * pull) @ vectors.T
    by_size = np.diag((F * C).sum(axis=1)) / size**2
    return float(value) / 2, (F / size[:, None] / size - by_size) / 2
