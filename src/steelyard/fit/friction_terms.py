"""Friction beyond Coulomb and viscous, by variable projection around a convex fit.

At joint j, with `s` the smoothed sign of speed:

    tau_f = viscous v + coulomb s + offset + stribeck s / (1 + (v / speed)^2) + load s |tau_load|

Coulomb friction and offset together are friction of another size in either direction. The Stribeck term (Hess and Soom
1990) is the excess near standstill; the load term grows with the torque that bodies put on the joint (Hamon, Gautier
and Garrec 2010). All but `speed` are linear, and `speed` is profiled: columns of all candidates are summed in one pass
over the logs, block by block, so that every choice is fitted and judged by blocked cross-validation from sums alone.
A term stays only where it lowers the held-out error.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from steelyard.dynamics import inverse_dynamics
from steelyard.errors import FitError, OptionError, choices
from steelyard.fit.estimate import Estimate
from steelyard.fit.gain_of_links import nonnegative_least_squares
from steelyard.fit.m_estimators import Fit, as_list, fit_of
from steelyard.fit.thresholds import THRESHOLDS
from steelyard.identifiable import regression_basis
from steelyard.information import Information, accumulate
from steelyard.job import FRICTION
from steelyard.log import Log
from steelyard.log import folds as split_folds
from steelyard.model import Robot
from steelyard.terms import CHOSEN_FRICTION, COULOMB_WIDTH, TERMS, UserColumn

SPEEDS = (0.1, 0.2, 0.4, 0.8)  # rad/s or m/s, first candidates of the Stribeck speed
STRIBECK, LOAD = ".stribeck below ", ".load"  # behind the joint in names of columns
REFINED = (2**-0.5, 2**-0.25, 2**0.25, 2**0.5)  # candidates around the best, in its own size


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint. forward, backward: N m (or N) of Coulomb friction in either direction, offset included.

    stribeck: what is added at standstill, fading at stribeck_speed (rad/s or m/s); load: friction over the torque of
    bodies. None where the term was not kept.
    """

    name: str
    viscous: float
    forward: float
    backward: float
    stribeck: float | None = None
    stribeck_speed: float | None = None
    load: float | None = None


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """estimate: of all data with the terms kept. columns: of these terms, for `accumulate`. joints: friction of each.
    error, plain_error: held-out error over torque by blocked cross-validation, with the terms and without (a little
    flattering, as it chose them)."""

    estimate: Estimate
    columns: tuple[UserColumn, ...]
    joints: tuple[JointFriction, ...]
    error: float
    plain_error: float

    def summary(self) -> str:
        """One line a joint, and what the terms save."""
        lines = [f"held-out error {self.error:.2%}, without Stribeck and load terms {self.plain_error:.2%}"]
        for j in self.joints:
            line = f"  {j.name}: viscous {j.viscous:.3g}, Coulomb {j.forward:.3g} forward, {j.backward:.3g} backward"
            if j.stribeck is not None:
                line += f", Stribeck {j.stribeck:.3g} below {j.stribeck_speed:.3g} rad/s or m/s"
            lines.append(line if j.load is None else f"{line}, {j.load:.3g} of the load")
        return "\n".join(lines)


def friction(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    terms: Sequence[str] = CHOSEN_FRICTION,
    fit: str | Fit = "consistent",
    folds: int = 3,
    least: float = 0.0,
    extra: Iterable[UserColumn] = (),
    coulomb_width: float = COULOMB_WIDTH,
    **columns,
) -> FrictionFit:
    """Fit with Stribeck and load-dependent friction where cross-validation says that they are there.

    Args:
        robot: the robot.
        logs: one or several, with q, v, a and tau.
        terms: any of "stribeck", "load".
        fit: "consistent" (then no term is negative), "least_squares" or a function of an Information, called for every
            candidate.
        folds: blocks of each log, held out in turn.
        least: held-out error over torque, below which no term is looked for.
        extra: further `UserColumn`s.
        coulomb_width: half-width of standstill, rad/s.
        columns: options of `accumulate`.

    Returns:
        The FrictionFit.

    Raises:
        OptionError: unknown terms; and what `accumulate` and the fit raise.
    """
    if unknown := set(terms) - set(CHOSEN_FRICTION):
        raise OptionError(f"Unknown friction term '{min(unknown)}'. Choose from {choices(CHOSEN_FRICTION)}.")
    blocks = list(zip(*([test for _, test in split_folds(log, folds)] for log in as_list(logs)), strict=True))
    solve, extra = fit_of(fit), tuple(extra)
    options = {"coulomb_width": coulomb_width, "columns": "all"} | columns

    def profile(candidates: Sequence[_Candidate]) -> _Profile:
        """One pass over the logs."""
        added = (*extra, *(candidate.column for candidate in candidates))
        infos = [accumulate(robot, block, extra=added, **options).as_gram() for block in blocks]
        return _Profile(infos, tuple(candidates), solve)

    bare = profile(())
    plain = bare.fit(())
    joints, fitted = plain.layout.dof_names, plain.require_robot()
    if least and (error := bare.error(())) < least:
        return FrictionFit(plain, (), tuple(_joint_friction(plain, joint, ()) for joint in joints), error, error)
    loads = [_load(fitted, joint, coulomb_width) for joint in joints] if "load" in terms else []
    speeds = {joint: SPEEDS for joint in joints if "stribeck" in terms}
    first = profile([*(_stribeck(fitted, j, s, coulomb_width) for j, each in speeds.items() for s in each), *loads])
    kept = first.search(joints, ())
    speeds = {c.joint: [c.speed * m for m in REFINED] for c in kept if c.speed is not None}
    finer = [_stribeck(fitted, j, s, coulomb_width) for j, each in speeds.items() for s in each]
    last = profile([*kept, *finer, *(load for load in loads if load not in kept)])
    kept = last.search(joints, kept)
    estimate = last.fit(kept)
    return FrictionFit(
        estimate=replace(estimate, method=f"{estimate.method}, friction terms chosen by cross-validation"),
        columns=tuple(candidate.column for candidate in kept),
        joints=tuple(_joint_friction(estimate, joint, kept) for joint in joints),
        error=last.error(kept),
        plain_error=last.error(()),
    )


def nearest_plain(estimate: Estimate, info: Information) -> dict[str, np.ndarray]:
    """Viscous and Coulomb friction alone, as close to all friction of an estimate as they come in the recorded motion:
    for model files, which have no place for friction near standstill and by load.

    Args:
        estimate: of a robot.
        info: that it was fitted to.

    Returns:
        By attribute of the Robot (nv,), none without such terms.
    """
    layout, robot = info.layout, estimate.require_robot()
    further = [at for at, each in enumerate(layout.extras) if STRIBECK in each.name or each.name.endswith(LOAD)]
    terms = [term for term in ("viscous", "coulomb") if term in layout.terms]
    place = {column: at for at, column in enumerate(info.base.columns)}
    gram = info.base.squares.weighted(np.ones(len(info.energy)))  # columns of one joint share its row alone
    found = {str(TERMS[term].stated): getattr(robot, str(TERMS[term].stated)).copy() for term in terms if further}
    for dof in {layout.extras[at].dofs[0] for at in further}:
        plain = [layout.term(term).start + layout.dofs.index(dof) for term in terms]
        every = [*plain, *(layout.extra.start + at for at in further if layout.extras[at].dofs[0] == dof)]
        if not plain or not all(column in place for column in every):
            continue
        rows, columns = [place[column] for column in plain], [place[column] for column in every]
        root = np.linalg.cholesky(gram[np.ix_(rows, rows)])
        wanted = np.linalg.solve(root, gram[np.ix_(rows, columns)] @ estimate.parameters[every])
        for term, value in zip(terms, nonnegative_least_squares(root.T, wanted)[0], strict=True):
            found[str(TERMS[term].stated)][dof] = value
    return found


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A term that one joint may have. speed: of the Stribeck term, None for the load's."""

    joint: str
    speed: float | None
    column: UserColumn


def chosen_column(robot: Robot, name: str) -> UserColumn | None:
    """The column of friction near standstill or by load that `friction` has called so.

    Args:
        robot: whose links make the load of a joint.
        name: of the column.

    Returns:
        The UserColumn; None for names of other columns.
    """
    loaded, (joint, _, speed) = name.endswith(LOAD), name.partition(STRIBECK)
    joint = name.removesuffix(LOAD) if loaded else joint
    if joint not in robot.dof_names or not (loaded or speed):
        return None
    return (
        _load(robot, joint, COULOMB_WIDTH) if loaded else _stribeck(robot, joint, float(speed), COULOMB_WIDTH)
    ).column


def _stribeck(robot: Robot, joint: str, speed: float, coulomb_width: float) -> _Candidate:
    dof = robot.dof_names.index(joint)

    def column(q, v, a):
        torque = np.zeros_like(v)
        torque[:, dof] = np.tanh(v[:, dof] / coulomb_width) / (1 + (v[:, dof] / speed) ** 2)
        return torque

    name = f"{joint}{STRIBECK}{speed:.3g}"
    return _Candidate(joint, speed, UserColumn(name, column, joints=(joint,), nonnegative=True))


def _load(robot: Robot, joint: str, coulomb_width: float) -> _Candidate:
    """Friction that grows with the torque of the bodies of a fitted model."""
    dof, bodies = robot.dof_names.index(joint), robot.with_joint_properties(armature=np.zeros(robot.nv))

    def column(q, v, a):
        torque = np.zeros_like(v)
        torque[:, dof] = np.tanh(v[:, dof] / coulomb_width) * np.abs(inverse_dynamics(bodies, q, v, a)[:, dof])
        return torque

    return _Candidate(joint, None, UserColumn(f"{joint}{LOAD}", column, "1", joints=(joint,), nonnegative=True))


class _Profile:
    """Fits and held-out errors of any choice among candidates, from the sums of each block alone."""

    def __init__(self, blocks: Sequence[Information], candidates: tuple[_Candidate, ...], solve: Fit):
        self.blocks, self.candidates, self.solve = blocks, candidates, solve
        self.whole = reduce(add, blocks)
        self.rest = [reduce(add, (b for b in blocks if b is not held)) for held in blocks]
        self._held_out: dict[frozenset[_Candidate], np.ndarray] = {}

    def fit(self, chosen: Sequence[_Candidate]) -> Estimate:
        """Fit of all data."""
        return self.solve(self._part(self.whole, chosen))

    def error(self, chosen: Sequence[_Candidate]) -> float:
        """Held-out error over torque."""
        return float(np.sqrt(self._energies(chosen).sum() / self.whole.energy.sum()))

    def search(self, joints: Sequence[str], kept: Sequence[_Candidate]) -> tuple[_Candidate, ...]:
        """The choice that predicts best, joint by joint, among those that predict every block better than none."""
        for joint in joints:
            others = tuple(c for c in kept if c.joint != joint)
            own = [c for c in self.candidates if c.joint == joint]
            fades, load = [c for c in own if c.speed is not None], [c for c in own if c.speed is None]
            fade = self._best(others, [(), *([c] for c in fades)])
            kept = (*others, *self._best(others, [(), fade, load, [*fade, *load]]))
        return tuple(kept)

    def _best(self, others, options):
        """The first of the options, or one that saves more than its terms must and is worse in no block."""

        def cost(option):
            energy = np.maximum(self._energies((*others, *option)), np.finfo(float).tiny)
            return np.log(energy.sum(axis=0)).sum() + THRESHOLDS.friction_term * len(option), np.log(energy).sum(axis=1)

        costs = [cost(option) for option in options]
        steady = [i for i, (_, blocks) in enumerate(costs) if (blocks <= costs[0][1]).all()]
        return options[min(steady, key=lambda i: costs[i][0])]

    def _energies(self, chosen) -> np.ndarray:
        """(block, g) squared held-out error of each block and joint."""
        key = frozenset(chosen)
        if key not in self._held_out:
            pairs = zip(self.rest, self.blocks, strict=True)
            self._held_out[key] = np.stack([self._tried(rest, held, chosen) for rest, held in pairs])
        return self._held_out[key]

    def _tried(self, rest: Information, held: Information, chosen) -> np.ndarray:
        """(g,) squared error on one block of a fit of the rest; infinite when this choice cannot be fitted."""
        try:
            estimate = self.solve(self._part(rest, chosen))
        except FitError:
            return np.full(len(held.energy), np.inf)
        bounded = [extra.nonnegative for extra in estimate.layout.extras]
        if (estimate.extras[bounded] < 0).any():
            return np.full(len(held.energy), np.inf)  # a term that drives the joint is no friction
        return self._part(held, chosen).residual_energy(estimate.base)

    def _part(self, info: Information, chosen) -> Information:
        """The Information without the columns of candidates that are not chosen, in base columns."""
        given = len(info.layout.extras) - len(self.candidates)
        wanted = [*range(given), *(given + i for i, c in enumerate(self.candidates) if c in chosen)]
        layout = replace(info.layout, extras=tuple(info.layout.extras[i] for i in wanted))
        basis = regression_basis(info.robot, layout)
        place = np.concatenate([np.arange(info.layout.extra.start), info.layout.extra.start + np.array(wanted, int)])
        keep = place[basis.columns]
        squares, moment = info.squares.selected(keep), info.moment[:, keep]
        return replace(info, squares=squares, moment=moment, columns=basis.columns, layout=layout, basis=basis)


def _joint_friction(estimate: Estimate, joint: str, kept: Sequence[_Candidate]) -> JointFriction:
    values = dict(zip((extra.name for extra in estimate.layout.extras), estimate.extras, strict=True))
    place = estimate.layout.dof_names.index(joint)
    term = {name: float(estimate.friction[name][place]) if name in estimate.friction else 0.0 for name in FRICTION}
    own = {c.speed is None: c for c in kept if c.joint == joint}
    fade, load = own.get(False), own.get(True)
    return JointFriction(
        name=joint,
        viscous=term["viscous"],
        forward=term["coulomb"] + term["offset"],
        backward=term["coulomb"] - term["offset"],
        stribeck=None if fade is None else float(values[fade.column.name]),
        stribeck_speed=None if fade is None else fade.speed,
        load=None if load is None else float(values[load.column.name]),
    )
