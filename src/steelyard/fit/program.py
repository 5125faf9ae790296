"""A consistent fit assembled, ready to be inspected or solved: cost, unknowns and constraints.

Each body is written around its prior pseudo-inertia, `J = L (1 + Y) L^T` with `J0 = L L^T`. In the ten numbers `y =
svec(Y)` the constant pullback distance is `1/2 ||y||^2` and the entropic one `tr Y - log det(1 + Y)`, both free of
units: the program stays well scaled for a gripper finger and for a torso. Only the triangular factor of the data
enters, so its size does not depend on the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.arguments import with_options
from steelyard.errors import FitError
from steelyard.fit.constraints import Constraint, conflicting
from steelyard.fit.homogeneous import Ratios, ratios
from steelyard.fit.knowledge import TOLD_NOTHING, Knowledge, Known, knowledge_of
from steelyard.fit.prior import TRIANGLES, Moved, congruence, effect_pull, prior_parameters
from steelyard.fit.whitening import Whitened, first_noise, whiten
from steelyard.inertia import cones
from steelyard.information import Information
from steelyard.numbers import NEGLIGIBLE

CONTRADICTION = 1e-8  # error of equalities, relative to the size of what they tie, that no parameters remove
NOTHING_FOUND = (
    "The solver found no parameters that satisfy all constraints, and no conflict among them either. That is a fault "
    "of Steelyard, not of your log: please report it; until then leave out bounds one by one, or raise the weight."
)


class Infeasible(FitError):
    """No parameters satisfy all constraints."""


@dataclass(frozen=True, eq=False)
class Residual:
    """`||A w - b||^2 + constant` over w (k,). constant: what no parameters can explain."""

    A: np.ndarray
    b: np.ndarray
    constant: float

    @cached_property
    def triangle(self) -> tuple[np.ndarray, np.ndarray]:
        """R, z and nothing more of `||A w - b||`: all that the minimisation needs."""
        if not self.A.shape[1]:
            return np.zeros((0, 0)), np.zeros(0)
        factor = np.asarray(np.linalg.qr(np.column_stack([self.A, self.b]), mode="r"))[: self.A.shape[1]]
        return factor[:, :-1], factor[:, -1]

    @cached_property
    def remainder(self) -> float:
        """Part of the cost that no w changes."""
        return self.constant + max(float(self.b @ self.b - self.triangle[1] @ self.triangle[1]), 0.0)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Unknowns that are free of units and of order one: parameters `start + directions @ y` of y (p,).

    bodies: (nb, 10, 10) and effects: (e,) directions of the unknowns from there, of bodies as in `prior.congruence`.
    """

    prior: np.ndarray  # (p,) parameters of the prior
    start: np.ndarray  # (p,) where all unknowns are zero, the prior or others
    bodies: np.ndarray
    effects: np.ndarray

    @property
    def directions(self) -> np.ndarray:
        """(p, p) directions of all unknowns."""
        directions, count = np.zeros((len(self.start), len(self.start))), 10 * len(self.bodies)
        for i, block in enumerate(self.bodies):
            directions[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
        effects = np.arange(count, len(self.start))
        directions[effects, effects] = self.effects
        return directions

    @property
    def relative(self) -> tuple[np.ndarray, np.ndarray]:
        """Changes of second moments relative to the prior's, ten a body as in `Program`: constants (10 nb,), and what
        (10 nb, p) unknowns change."""
        count = 10 * len(self.bodies)
        if self.start is self.prior:
            return np.zeros(count), np.eye(count, len(self.start))
        constant, change = np.zeros(count), np.zeros((count, len(self.start)))
        for i, C in enumerate(congruence(self.prior[:count].reshape(-1, 10))):
            at = slice(10 * i, 10 * i + 10)
            change[at, at] = np.linalg.solve(C, self.bodies[i])
            constant[at] = np.linalg.solve(C, self.start[at] - self.prior[at])
        return constant, change

    def within(self, freedom: tuple[np.ndarray, np.ndarray] | None) -> dict[str, Any]:
        """The fields of an Objective that unknowns decide, those left by equalities (see `freedom`)."""
        start, directions, (offset, spread) = self.start, self.directions, self.relative
        if freedom is not None:
            y, N = freedom
            start, directions, offset, spread = start + directions @ y, directions @ N, offset + spread @ y, spread @ N
        return {"start": start, "directions": directions, "offset": offset, "spread": spread}


@dataclass(frozen=True, eq=False, repr=False)
class Objective:
    """`min residual(w) + entropic_weight * sum d(J || J0)` over w (k,), subject to constraints by name.

    Parameters are `x = start + directions @ w`, the relative change of the bodies' second moments is `Y = offset +
    spread @ w`, ten numbers a body.
    """

    knowledge: Knowledge  # prior, its weight, and all that is known
    residual: Residual  # weighed data and the quadratic part of the prior
    start: np.ndarray  # (p,)
    directions: np.ndarray  # (p, k)
    offset: np.ndarray  # (10 nb,)
    spread: np.ndarray  # (10 nb, k)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All that is known of bodies and friction, equalities first."""
        return self.knowledge.constraints

    @property
    def entropic_weight(self) -> float:
        return self.knowledge.weight * self.knowledge.regularizer.divergence

    @property
    def body_count(self) -> int:
        return len(self.offset) // 10

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.directions.shape[1]

    def parameters(self, w) -> np.ndarray:
        """(p,) in SI units."""
        return self.start + self.directions @ w

    def relative(self, w) -> np.ndarray:
        """(nb, 4, 4) `1 + Y`, the identity at the prior."""
        y = (self.offset + self.spread @ w).reshape(-1, 10)
        return np.eye(4) + np.tensordot(y, TRIANGLES, axes=1)

    def cost(self, w) -> float:
        """Objective, infinite where an entropic term ends."""
        R, z = self.residual.triangle
        value = self.residual.remainder + float(np.sum((R @ w - z) ** 2))
        if self.entropic_weight:
            eigenvalues = np.linalg.eigvalsh(self.relative(w))
            if (eigenvalues <= 0).any():
                return np.inf
            value += self.entropic_weight * float(np.sum(eigenvalues - 1 - np.log(eigenvalues)))
        return value

    @property
    def quadratic(self) -> tuple[np.ndarray, np.ndarray]:
        """F and t of the residual's cost `||F w - t||^2 / 2` but for what no w changes; F upper triangular."""
        R, z = self.residual.triangle
        return np.sqrt(2) * R, np.sqrt(2) * z

    def hessian(self, w) -> np.ndarray:
        """(k, k) triangular F of the cost's Hessian `F^T F`."""
        F = self.quadratic[0]
        if not self.entropic_weight:
            return F
        rows = [F]
        for i, C in enumerate(np.linalg.cholesky(self.relative(w))):
            inverse = np.linalg.inv(C)
            local = cones.congruence_matrix(inverse)
            rows.append(np.sqrt(self.entropic_weight) * local @ self.spread[10 * i : 10 * i + 10])
        return np.asarray(np.linalg.qr(np.concatenate(rows), mode="r"))


@dataclass(frozen=True, eq=False, repr=False)
class Program(Objective):
    """The Objective of an Information. Made by `fit.build`, solved by `fit.solve`; `table()` shows it.

    info: Information that is fitted. noise: (g,) standard deviations by which row groups are weighed [N m or N].
    ratios: what rows without torque tell. weighted: the Information as it counts; problem: the same whitened.
    coordinates: the unknowns before equalities were solved for. fixed: columns that equalities settle.
    """

    info: Information
    noise: np.ndarray
    ratios: Ratios
    weighted: Information
    problem: Whitened
    coordinates: Coordinates
    fixed: tuple[int, ...] = ()

    def at(self, noise, ratios: Ratios) -> "Program":
        """The same fit at another noise (g,): the data is weighed anew, unknowns and constraints stay.

        ratios: what rows without torque tell now.
        """
        data = _weighed(self.info, ratios, noise)
        unknowns = self.start, self.directions, self.offset, self.spread
        residual = _residual(self.info, self.knowledge, self.coordinates.prior, data, *unknowns)
        return replace(self, ratios=ratios, **data, residual=residual)

    def __repr__(self) -> str:
        equal = sum(each.equality for each in self.constraints)
        return (
            f"Program({self.size} unknowns, {equal} equalities, {len(self.constraints) - equal} inequalities, "
            f"{self.knowledge.regularizer.name} prior of weight {self.knowledge.weight:g}, {self.info.n} samples)"
        )

    def table(self) -> str:
        """Cost, unknowns and constraints, one line each."""
        layout, prior = self.info.layout, self.knowledge
        rows = ", ".join(f"{n} {s:.3g}" for n, s in zip(self.info.group_names, self.noise, strict=True))
        lines = [
            f"unknowns     {self.size} of {layout.size} parameters; the data shows {self.problem.rank} of "
            f"{self.info.basis.count} identifiable combinations",
            f"data         {self.info.n} samples, least squares weighed by noise: {rows}",
            f"prior        {prior.regularizer.name}, weight {prior.weight:g}: {prior.regularizer.meaning}",
        ]
        if self.fixed:
            lines.append(f"fixed        {', '.join(layout.names[column] for column in self.fixed)}")
        lines += [f"{'equality' if each.equality else 'inequality':<13}{each.label}" for each in self.constraints]
        return "\n".join([*lines, *(f"note         {note}" for note in prior.notes)])


def build(info: Information, known: Known = TOLD_NOTHING, **more) -> Program:
    """The fit that `consistent` starts from, assembled and not yet solved: to look at it, or to solve it once.

    Args:
        info: Information of a robot or of a raw regression.
        known: prior and knowledge besides the data. Of noise, what unconstrained least squares leaves by default.
        more: fields of Known by name, in the place of those of `known`.

    Returns:
        A frozen Program: its cost, unknowns and constraints by name.

    Raises:
        OptionError: knowledge about things that are not there, or an unknown regularizer.
        FitError: no usable prior, or equalities that contradict each other, which are named.

    Example:
        >>> import numpy as np, steelyard as sy
        >>> robot, rng = sy.library.scara(), np.random.default_rng(0)
        >>> q, v, a = rng.normal(size=(3, 200, robot.nv))
        >>> tau = sy.inverse_dynamics(robot, q, v, a)
        >>> log = sy.Log(t=np.arange(200) * 0.01, q=q, v=v, a=a, tau=tau, joint_names=robot.joint_names)
        >>> program = sy.fit.build(sy.accumulate(robot, log), masses={"all": float(robot.inertias[:, 0].sum())})
        >>> program.constraints[0].equality, program.size < program.info.layout.size
        (True, True)
        >>> sy.fit.solve(program).physical
        True
    """
    info = info.plain
    knowledge = knowledge_of(info, with_options(known, "build", more))
    prior = prior_parameters(info, knowledge.prior)
    silent = ratios(info, prior)
    return assembled(info, knowledge, ratios=silent)


def assembled(info: Information, knowledge: Knowledge, *, ratios: Ratios, noise=None, around=None) -> Program:
    """The program of an Information and what is known, at a noise (g,). around: (p,) bodies that can exist, where
    unknowns are zero and which tell how large they are, by default the prior's. Raises FitError where equalities
    contradict each other."""
    if noise is None:
        noise = first_noise(ratios.of(info)) if knowledge.noise is None else knowledge.noise
    data = _weighed(info, ratios, noise)
    weighted, layout = data["weighted"], info.layout
    prior = prior_parameters(weighted, knowledge.prior)
    start = prior if around is None else around
    told = np.linalg.norm(data["problem"].R @ info.basis.regrouping[:, layout.inertial.stop :], axis=0)
    coordinates = Coordinates(
        prior=prior,
        start=start,
        bodies=congruence(start[layout.inertial].reshape(-1, 10)),
        effects=1.0 / np.hypot(told, effect_pull(weighted, knowledge.weight)),
    )
    reach = np.linalg.norm(coordinates.directions, axis=1)
    unknowns = coordinates.within(freedom(coordinates, knowledge.constraints))
    return Program(
        info=info,
        knowledge=knowledge,
        ratios=ratios,
        **data,
        coordinates=coordinates,
        residual=_residual(info, knowledge, prior, data, **unknowns),
        **unknowns,
        fixed=tuple(np.flatnonzero(np.linalg.norm(unknowns["directions"], axis=1) <= NEGLIGIBLE * reach).tolist()),
    )


def _weighed(info: Information, ratios: Ratios, noise) -> dict[str, Any]:
    """The fields of a Program that a noise (g,) decides."""
    seen, noise = ratios.of(info), np.asarray(noise, dtype=float)
    weighted = seen.weighted(seen.independence / noise**2)
    return {"noise": noise, "weighted": weighted, "problem": whiten(weighted)}


def _residual(info: Information, knowledge: Knowledge, prior, data, start, directions, offset, spread) -> Residual:
    """The quadratic cost of unknowns. prior: (p,); data: of `_weighed`; the others as of a Program."""
    weighted, problem = data["weighted"], data["problem"]
    rows, pull = problem.R @ info.basis.regrouping, effect_pull(weighted, knowledge.weight)
    bodies, effects, changed = info.layout.inertial, slice(info.layout.inertial.stop, None), start - prior
    moved = Moved((offset, spread), (changed[bodies], directions[bodies]))
    squares = [  # roots of weights, constants, and what unknowns change
        *knowledge.regularizer.squares(moved, knowledge.weight),
        (1.0, pull * changed[effects], pull[:, None] * directions[effects]),
    ]
    A = np.concatenate([rows @ directions, *(root * change for root, _, change in squares)])
    b = np.concatenate([problem.r - rows @ start, *(-root * constant for root, constant, _ in squares)])
    return Residual(A, b, max(weighted.c - float(problem.r @ problem.r), 0.0))


def contradiction(coordinates: Coordinates, constraints: Sequence[Constraint]) -> FitError:
    """The error that names what contradicts what."""
    labels = conflicting(coordinates.start, coordinates.directions, constraints)
    if not labels:
        return FitError(NOTHING_FOUND)
    return FitError(
        f"No parameters satisfy everything that is said to be known. In conflict: {'; '.join(labels)}. Correct or "
        "leave out one of them."
    )


def freedom(coordinates: Coordinates, known: Sequence[Constraint]) -> tuple[np.ndarray, np.ndarray] | None:
    """Particular y (p,) and orthonormal N (p, k) with all equalities met by unknowns `y + N w`, whatever w; None
    without any. Raises FitError that names those that contradict each other."""
    equalities, start, directions = [each for each in known if each.equality], coordinates.start, coordinates.directions
    if not equalities:
        return None
    A = np.concatenate([each.A for each in equalities])
    missing = np.concatenate([each.b for each in equalities]) - A @ start
    rows = A @ directions
    size = np.linalg.norm(rows, axis=1)
    rows, missing = rows / size[:, None], missing / size
    touched = np.abs(rows).max(axis=0) > NEGLIGIBLE  # others keep coordinates of their own, and their digits
    U, singular, Vt = np.linalg.svd(rows[:, touched])
    rank = int(np.count_nonzero(singular > NEGLIGIBLE * singular.max(initial=0.0)))
    y, N = np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1] - rank))
    y[touched] = Vt[:rank].T @ ((U[:, :rank].T @ missing) / singular[:rank])
    if np.abs(rows @ y - missing).max(initial=0.0) > CONTRADICTION:
        raise contradiction(coordinates, known)
    free = int(np.count_nonzero(~touched))
    N[np.flatnonzero(~touched), np.arange(free)] = 1.0
    N[touched, free:] = Vt[rank:].T
    return y, N
