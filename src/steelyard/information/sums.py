"""Information: all that a fit needs from data, and it adds.

For every row group (a degree of freedom) it keeps `G = sum y y^T`, `b = sum y tau`, `c = sum tau^2` and the number of
samples, in base columns by default; on request also the triangular factor of `[y | tau]`, which squares no condition
number. Row weights are chosen afterwards; `info_a + info_b` is the information of both logs. No samples are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError, OptionError, choices
from steelyard.identifiable.basis import Basis, from_null_space
from steelyard.information.gram import Squares, factors_of_rows, merged_factors, selected_factors, sums_of_factors
from steelyard.information.model_discrepancy import Discrepancy
from steelyard.model import Robot
from steelyard.terms import COULOMB_WIDTH, ParameterLayout

KINDS = ("gram", "qr")
MOST_SAMPLES = 2**53


@dataclass(frozen=True, eq=False, repr=False)
class Information(Card):
    """Sums over samples of a regression `y theta = tau`, per row group.

    Attributes:
        squares: Gram matrices of g row groups in the k columns of `columns`.
        moment: (g, k) products with the torque.
        energy: (g,) sums of squared torques.
        counts: (g,) samples, or sums of their weights, less the shares of rows that forces of contacts explain.
        weights: (g,) of the row groups, 1 / variance once known.
        columns: (k,) which of the p columns of `layout` the sums are in.
        group_names: (g,) names of the row groups.
        layout: names and units of all p columns.
        basis: identifiable combinations of the p columns.
        robot: the model they belong to, None for raw regressions.
        coulomb_width: smoothing of the Coulomb columns, rad/s.
        independence: share of the samples whose noise is independent.
        engine: which path made the sums, for information only.
        factors: (g, k + 1, k + 1) upper triangular with `factors^T factors` the sums of `[y | tau]`, None where only
            sums were kept.
        projection: (g,) row weights by which unknown forces of contacts were eliminated, None where there were none.
        contacts: kinds of these contacts, one for all or by frame.
        discrepancy: sums of what the model may lack, where `accumulate_blocks` made them.
        model_facts: whether a fit takes what the model's files know of bodies, its geometry and its side file.
    """

    squares: Squares
    moment: np.ndarray
    energy: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    columns: np.ndarray
    group_names: tuple[str, ...]
    layout: ParameterLayout
    basis: Basis
    robot: Robot | None = None
    coulomb_width: float = COULOMB_WIDTH
    independence: float = 1.0
    engine: str = "numpy"
    factors: np.ndarray | None = None
    projection: np.ndarray | None = None
    contacts: str | Mapping[str, str] = "point"
    discrepancy: Discrepancy | None = None
    model_facts: bool = False

    def _title(self) -> str:
        return f"Information({self.n:.6g} samples, {len(self.columns)} columns, {len(self.group_names)} row groups)"

    def _rows(self):
        return {
            "row groups": self.group_names,
            "base parameters": f"{self.basis.count} of {self.layout.size}",
            "robot": self.robot.name if self.robot is not None else "none: raw regression",
            "independent samples": f"{100 * self.independence:.3g} %",
            "summed by": self.engine,
        }

    @property
    def kind(self) -> str:
        """What is kept: "gram" or "qr" (see `accumulate`, option sums)."""
        return "gram" if self.factors is None else "qr"

    @property
    def gram(self) -> np.ndarray:
        """(g, k, k) Gram matrices with all their zeros, most of what they are: `squares` has them without."""
        return self.squares.dense

    @property
    def G(self) -> np.ndarray:
        """(k, k) weighted Gram matrix."""
        return self.squares.weighted(self.weights)

    @property
    def b(self) -> np.ndarray:
        """(k,) weighted right-hand side."""
        return self.weights @ self.moment

    @property
    def c(self) -> float:
        """Weighted energy of the measured torque."""
        return float(self.weights @ self.energy)

    @property
    def n(self) -> int:
        """Number of samples (of the row group with most)."""
        return int(self.counts.max(initial=0))

    @property
    def rms(self) -> np.ndarray:
        """(g,) root-mean-square of what was measured, by row group."""
        return np.sqrt(self.energy / np.maximum(self.counts, 1))

    @property
    def degree_rms(self) -> np.ndarray:
        """(nv,) RMS torque of each degree of a robot; where no rows of its own tell, that of the largest group."""
        known, largest = dict(zip(self.group_names, self.rms, strict=True)), self.rms.max(initial=0.0)
        names = () if self.robot is None else self.robot.dof_names
        return np.array([known.get(n, known.get(f"momentum({n})", largest)) for n in names])

    def weighted(self, weights) -> "Information":
        """The same data with other row weights (g,)."""
        weights = np.asarray(weights, dtype=float)
        if weights.shape != self.weights.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise OptionError(
                f"Row weights are {len(self.weights)} finite, non-negative numbers, one for each of "
                f"{choices(self.group_names)}."
            )
        return replace(self, weights=weights)

    def discounted(self, factor: float) -> "Information":
        """The same data counted `factor` (0, 1] times: `info = info.discounted(0.99) + new` forgets exponentially."""
        if not 0 < factor <= 1:
            raise OptionError(f"A forgetting factor lies in (0, 1]; got {factor!r}.")
        sums = {name: factor * getattr(self, name) for name in ("moment", "energy", "counts")} | {"discrepancy": None}
        return replace(
            self,
            squares=self.squares * factor,
            **sums,
            factors=None if self.factors is None else np.sqrt(factor) * self.factors,
        )

    def as_gram(self) -> "Information":
        """The same sums without triangular factors: what adding an Information without factors makes of it."""
        return replace(self, factors=None)

    def rescaled(self, gains) -> "Information":
        """The Information of torques that are `gains` (g,) times as large, such as gains of currents.

        Raises FitError for sums with unknown forces of contacts, whose rows mix torques of all joints.
        """
        if self.projection is not None:
            raise FitError(
                "Forces of contacts were eliminated from these sums, which mixed torques of all joints: each can no "
                "longer be scaled alone. Scale the torques of the log, and accumulate it again."
            )
        gains = np.asarray(gains, dtype=float)
        factors = self.factors
        if factors is not None:
            factors = factors.copy()
            factors[..., -1] *= gains[:, None]
        scaled = {"moment": gains[:, None] * self.moment, "energy": gains**2 * self.energy}
        return replace(self, **scaled, factors=factors, discrepancy=None)

    def without(self, parameters) -> "Information":
        """The Information of what is left of the torques when known parameters (k,) of these columns are subtracted."""
        x = np.asarray(parameters, dtype=float)
        factors = self.factors
        if factors is not None:
            factors = factors.copy()
            factors[..., -1] -= factors[..., :-1] @ x
        energy = self.residual_energy(x)
        return replace(self, moment=self.moment - self.squares @ x, energy=energy, factors=factors, discrepancy=None)

    @cached_property
    def base(self) -> "Information":
        """The same information in base columns only (lossless: `Y theta = Y_b Regroup theta`)."""
        if len(self.columns) == self.basis.count and (self.columns == self.basis.columns).all():
            return self
        if len(self.columns) != self.layout.size:
            raise FitError("This Information holds neither all columns nor its base columns.")
        return self._in(self.basis.columns, columns=self.basis.columns)

    @cached_property
    def plain(self) -> "Information":
        """The same information without the columns whose size evidence tells, in base columns."""
        if not any(extra.weighed for extra in self.layout.extras):
            return self
        info, layout = self.base, self.layout
        left = np.array(layout.in_plain)
        own = np.flatnonzero(np.isin(info.columns, left))
        basis = Basis(
            np.searchsorted(left, info.columns[own]),
            info.basis.regrouping[np.ix_(own, left)],
            info.basis.null_space[left],
        )
        return info._in(own, columns=basis.columns, layout=layout.plain, basis=basis)

    def _in(self, own, **about) -> "Information":
        """The sums of some columns only: places `own` (r,) among these."""
        return replace(
            self,
            squares=self.squares.selected(own),
            moment=self.moment[:, own],
            factors=None if self.factors is None else selected_factors(self.factors, own),
            discrepancy=None if self.discrepancy is None else self.discrepancy.selected(own),
            **about,
        )

    def residual_energy(self, parameters) -> np.ndarray:
        """(g,) sum of squared residuals a row group. parameters: (k,) for this object's columns."""
        x = np.asarray(parameters)
        if self.factors is not None:
            return np.sum((self.factors @ np.append(-x, 1.0)) ** 2, axis=1)
        return np.maximum(self.energy - 2 * self.moment @ x + self.squares.forms(x), 0.0)

    def __add__(self, other: "Information") -> "Information":
        if not isinstance(other, Information):
            return NotImplemented
        _require_same_regression(self, other)
        both = self.factors is not None and other.factors is not None
        return replace(
            self,
            squares=self.squares + other.squares,
            moment=self.moment + other.moment,
            energy=self.energy + other.energy,
            counts=_added_counts(self.counts, other.counts),
            factors=merged_factors(self.factors, other.factors) if both else None,
            independence=_shared_independence(self, other),
            engine=self.engine if self.engine == other.engine else "mixed",
            projection=other.projection if self.projection is None else self.projection,
            contacts=other.contacts if self.projection is None else self.contacts,
            discrepancy=self.discrepancy + other.discrepancy if self.discrepancy and other.discrepancy else None,
            model_facts=self.model_facts or other.model_facts,
        )

    def __radd__(self, other):
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @classmethod
    def from_arrays(
        cls,
        Y,
        tau,
        *,
        weights=None,
        layout: ParameterLayout | None = None,
        sums: str = "gram",
        basis: Basis | None = None,
    ) -> "Information":
        """Information of a raw regression Y (n, g, p), tau (n, g), or Y (n, p), tau (n,).

        weights: (g,) of the row groups. layout: names of the p columns. sums: "gram" or "qr", see `accumulate`. basis:
        identifiable combinations; without a robot they are by default those that this very Y reveals.
        """
        Y, tau = np.asarray(Y, dtype=float), np.asarray(tau, dtype=float)
        if Y.ndim == 2:
            Y, tau = Y[:, None], tau[:, None] if tau.ndim == 1 else tau
        if Y.ndim != 3 or tau.shape != Y.shape[:2]:
            raise OptionError(f"Y is (n, g, p) and tau (n, g), or (n, p) and (n,); got {Y.shape} and {tau.shape}.")
        n, groups, size = Y.shape
        layout = layout or ParameterLayout((), tuple(f"p{i}" for i in range(size)), tuple(range(size)), ("offset",))
        if layout.size != size:
            raise OptionError(f"The layout names {layout.size} columns; Y has {size}.")
        require_kind(sums)
        factors = factors_of_rows(np.concatenate([Y, tau[..., None]], axis=2)) if sums == "qr" else None
        gram, moment, energy = _products(Y, tau) if factors is None else sums_of_factors(factors)
        return cls(
            squares=Squares.of(gram),
            moment=moment,
            energy=energy,
            counts=np.full(groups, n),
            weights=np.ones(groups) if weights is None else np.asarray(weights, dtype=float),
            columns=np.arange(size),
            group_names=tuple(f"row{i}" for i in range(groups)),
            layout=layout,
            basis=_numeric_basis(Y.reshape(-1, size)) if basis is None else basis,
            factors=factors,
        )


def _products(Y, tau):
    """gram (g, k, k), moment (g, k), energy (g,) of rows Y (n, g, k), tau (n, g)."""
    gram = np.einsum("ngi,ngj->gij", Y, Y, optimize=True)
    return gram, np.einsum("ngi,ng->gi", Y, tau), np.einsum("ng,ng->g", tau, tau)


def _numeric_basis(Y) -> Basis:
    """Basis of the columns that a given matrix (n, p) reveals."""
    scale = np.linalg.norm(Y, axis=0)
    scale[scale == 0] = 1.0
    _, singular, Vt = np.linalg.svd(np.linalg.qr(Y / scale, mode="r"))
    rank = int(np.count_nonzero(singular > 1e-10 * singular[0])) if singular.size else 0
    return from_null_space(Vt[rank:].T / scale[:, None], scale)


def require_kind(sums: str):
    """Raise OptionError for another kind of sums than those of `accumulate`."""
    if sums not in KINDS:
        raise OptionError(f"sums is one of {choices(KINDS)}; got {sums!r}.")


def _shared_independence(one: Information, other: Information) -> float:
    total = one.n + other.n  # 0 of two stretches whose torques do not count
    return (one.n * one.independence + other.n * other.independence) / total if total else one.independence


def _added_counts(one, other) -> np.ndarray:
    """Sum of two counts. Raises FitError beyond 2^53, where one sample more no longer changes a count."""
    largest = float(np.max(one, initial=0)) + float(np.max(other, initial=0))
    if largest >= MOST_SAMPLES:
        raise FitError(
            f"Together these Informations count {largest:.4g} samples; above 2^53 = {MOST_SAMPLES:.4g} a count is no "
            "longer exact. Keep them apart, or let old data fade with discounted()."
        )
    return np.asarray(one) + np.asarray(other)


def _require_same_contacts(one: Information, other: Information):
    """Raise FitError for sums from which forces of other kinds of contacts were eliminated. Row weights of the
    elimination may differ: each sum is of equations that hold whatever these forces are."""
    if one.projection is None or other.projection is None:
        return
    if one.contacts != other.contacts:
        raise FitError(
            f"Contacts of these Informations are of other kinds, {one.contacts} and {other.contacts}. Accumulate both "
            "logs with the same contacts, those of both."
        )


def _require_same_regression(one: Information, other: Information):
    """Raise FitError unless two Informations have the same columns of the same robot."""
    _require_same_contacts(one, other)
    shared = (one.layout, one.basis, one.columns, one.group_names)
    same = all(map(is_, shared, (other.layout, other.basis, other.columns, other.group_names)))
    if same and one.coulomb_width == other.coulomb_width:
        return  # parts of one log
    if one.layout != other.layout or not np.array_equal(one.columns, other.columns):
        raise FitError(
            "These Informations have different columns (robot, friction or armature options), so they cannot be added."
        )
    if one.group_names != other.group_names:
        raise FitError(
            f"These Informations hold different rows: {choices(one.group_names)} and {choices(other.group_names)}. "
            "Accumulate both with the same rows."
        )
    if one.coulomb_width != other.coulomb_width:
        raise FitError(
            f"Coulomb widths differ: {one.coulomb_width} and {other.coulomb_width} rad/s; they cannot be added."
        )
    scale = np.abs(one.basis.regrouping).max(initial=1.0)
    if np.abs(one.basis.regrouping - other.basis.regrouping).max(initial=0.0) > 1e-9 * scale:
        raise FitError("These Informations come from robots with different kinematics, so they cannot be added.")
