"""What a fit returns: parameters, how they were obtained, and how sure they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np

from steelyard.cards import Card
from steelyard.errors import FitError, OptionError
from steelyard.fit.constraints import Constraint
from steelyard.fit.draws import COUNT, Draws, drawn
from steelyard.fit.evidence import PosteriorForm
from steelyard.fit.joint_normal import JointNormal
from steelyard.identifiable.basis import Basis
from steelyard.inertia import pseudo
from steelyard.information import Information
from steelyard.model import Robot
from steelyard.terms import TERMS, ParameterLayout, stated_values
from steelyard.weighed_columns import NUISANCES, Extra

CERTAIN = 3.0  # standard deviations: one of 370 by chance


class Status(Enum):
    """Outcome of a fit; the text says what to change."""

    OK = "solved; every certificate holds"
    WEAK_EXCITATION = (
        "solved, but this log barely excites some identifiable combinations; "
        "their values come from the prior: record a richer motion"
    )
    LOST_SCALE = (
        "solved, but this log tells ratios of masses and not how large they are, which comes from the prior: give what "
        "the robot weighs, --mass all=KG or masses={'all': KG}, or measure torques that carry it"
    )
    INACCURATE = "the solver stopped before full accuracy; check units and scales of the log"

    @property
    def usable(self) -> bool:
        return self is not Status.INACCURATE


@dataclass(frozen=True, repr=False)
class Certificate(Card):
    """Proof of a constrained solution, each figure checked on the result and not taken from the solver's word.

    duality_gap: relative to the cost, above the best of all parameters that keep 1e-10 clear of every bound (1e-7 at
    worst, where a solver finds no more digits); smallest_eigenvalue: of all pseudo-inertias, relative to the prior's;
    smallest_slack: of all other bounds, in units of what each bounds (0 is on the bound).
    """

    duality_gap: float
    smallest_eigenvalue: float
    smallest_slack: float


@dataclass(frozen=True, order=True)
class ExpectedError:
    """Root of the expected square of an error over torque, and the ends of its interval of 95 %."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Nuisance:
    """A mistake of a log: its size, standard deviation and unit."""

    value: float
    deviation: float
    unit: str

    @property
    def certain(self) -> bool:
        """Whether it is there beyond doubt."""
        return abs(self.value) > CERTAIN * self.deviation


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Card):
    """Identified parameters of a robot, how they were obtained and how sure they are.

    Attributes:
        method: name of the estimator and its settings, for people.
        layout: name, unit and place of every parameter.
        basis: choice and regrouping of the base parameters.
        parameters: (p,) in the order of `layout`, SI units.
        covariance: (r, r) of the base parameters `basis.columns`.
        noise: (g,) standard deviation of the residual of each row group [N m or N].
        group_names: names of the row groups: joints, or axes of a force sensor.
        samples: number of samples, or their effective number for robust fits.
        status: outcome; its text says what to change.
        coulomb_width: half-width of standstill of Coulomb friction [rad/s or m/s].
        prior: the robot that the fit started from; None for raw regressions.
        robot: the same with the identified values; None for raw regressions.
        physical: whether every body is certified physically consistent.
        certificate: proof of a constrained solution; None without constraints.
        weakest: combinations that the data barely shows, one line each.
        binding: labels of active constraints: those that the estimate sits on.
        fixed: columns that are known exactly.
        lower_bounds: (p,) of friction and armature, -inf where there is none; None without constraints.
        notes: what was assumed, repaired or left out, in sentences.
        projection: (nv,) row weights by which forces of contacts were eliminated; None where there were none.
        contacts: kinds of these contacts, one for all or by frame.
        joint: what data and prior say of all parameters together; None where there is no prior.
        within: constraints that the fit kept.
        weighed: the log posterior at scales of most evidence, of `fit.posterior`; None of other estimators.
    """

    method: str
    layout: ParameterLayout
    basis: Basis
    parameters: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    group_names: tuple[str, ...]
    samples: int
    status: Status
    coulomb_width: float
    prior: Robot | None = None
    robot: Robot | None = None
    physical: bool = False
    certificate: Certificate | None = None
    weakest: tuple[str, ...] = ()
    binding: tuple[str, ...] = ()
    fixed: tuple[int, ...] = ()
    lower_bounds: np.ndarray | None = None
    notes: tuple[str, ...] = field(default=())
    projection: np.ndarray | None = None
    contacts: str | Mapping[str, str] = "point"
    joint: JointNormal | None = None
    within: tuple[Constraint, ...] = ()
    weighed: PosteriorForm | None = None

    def _title(self) -> str:
        return f"Estimate({self.method})"

    def _rows(self):
        masses = dict(zip(self.layout.body_names, (f"{m:.4g}" for m in self.theta[:, 0]), strict=False))
        return {
            "status": self.status.value,
            "samples": f"{self.samples:.6g}",
            "parameters": f"{self.layout.size}, of which {len(self.basis.columns)} combinations are determined",
            "masses, kg": masses or None,
            "physical": self.physical,
            "active constraints": self.binding or None,
            "barely shown": self.weakest or None,
            "notes": self.notes or None,
        }

    @property
    def theta(self) -> np.ndarray:
        """(nb, 10) inertial parameters of all links in body frames."""
        return self.parameters[self.layout.links].reshape(-1, 10)

    @property
    def rotors(self) -> np.ndarray:
        """(nr, 10) inertial parameters of the rotors that are bodies of the regression, in rotor frames."""
        return self.parameters[self.layout.rotors].reshape(-1, 10)

    def require_robot(self) -> Robot:
        """The identified model. Raises FitError for a raw regression, which has none."""
        if self.robot is None:
            raise FitError("This estimate comes from a raw regression without a robot.")
        return self.robot

    @cached_property
    def base(self) -> np.ndarray:
        """(r,) base parameters: what the data determines."""
        return self.basis.regroup(self.parameters)

    @property
    def base_names(self) -> tuple[str, ...]:
        """Names of the base columns."""
        return tuple(self.layout.names[i] for i in self.basis.columns)

    @cached_property
    def friction(self) -> dict[str, np.ndarray]:
        """Identified friction and armature by term, one value a degree of freedom in `layout.dof_names`."""
        return {term: self.parameters[self.layout.term(term)] for term in self.layout.terms}

    @property
    def extras(self) -> np.ndarray:
        """(e,) values of couplings, springs and columns of the user, in the order of `layout.extras`."""
        return self.parameters[self.layout.extra]

    @property
    def evidence(self) -> float:
        """Log marginal likelihood but for a constant. Raises FitError for an estimator that has none."""
        return self.require_weighed().evidence

    @cached_property
    def scales(self) -> dict[str, float]:
        """Lambda of each link, which says how well the file's fits the data (1,000: as well as can be told; below 1: it
        is another body), and the size of each group of other columns."""
        found = self.require_weighed()
        names = (*self.layout.bodies, *(group.name for group in found.problem.groups))
        return dict(zip(names, np.exp([*found.scales.links, *found.scales.groups]).tolist(), strict=True))

    @cached_property
    def nuisances(self) -> dict[str, "Nuisance"]:
        """Mistakes of the log that were columns, by name."""
        self.require_weighed()
        deviation = np.linalg.norm(self.root, axis=1)
        columns = [c for kind in NUISANCES for c in self.layout.of_kind(kind) if self._extra(c).weighed]
        return {
            self._extra(c).name: Nuisance(float(self.parameters[c]), float(deviation[c]), self._extra(c).unit)
            for c in columns
        }

    def expected_error(self, model: Robot | str = "written", motion: Information | None = None) -> "ExpectedError":
        """Torque error that links have in some motion, over the torque, as far as this posterior knows.

        Args:
            model: a Robot, "given" for the links of the file or "written" for those of this estimate.
            motion: Information of the motion, as of `prediction_error.ordinary_use`; that of the fit by default.

        Returns:
            The ExpectedError.

        Raises:
            OptionError: another word. FitError: an estimate that is no posterior.
        """
        found = self.require_weighed()
        links = {"given": self.prior, "written": self.robot}.get(model) if isinstance(model, str) else model
        if links is None:
            raise OptionError(f"model is {model!r}: expected a Robot, 'given' or 'written'.")
        info = found.problem.info if motion is None else motion.base
        count = self.layout.links.stop
        E = info.basis.regrouping[:, :count]
        G = E.T @ info.squares.weighted(np.ones(len(info.counts))) @ E
        root, d = self.root[:count], self.parameters[:count] - links.inertias.ravel()
        whole = max(float(self.parameters[:count] @ G @ self.parameters[:count]), np.finfo(float).tiny)
        square = float(d @ G @ d + np.sum(root * (G @ root)))
        drawn = d + np.random.default_rng(0).standard_normal((COUNT, root.shape[1])) @ root.T
        spread = np.quantile(np.einsum("ni,ij,nj->n", drawn, G, drawn, optimize=True), [0.025, 0.975])
        return ExpectedError(*np.sqrt(np.maximum([square, *spread], 0.0) / whole).tolist())

    @property
    def root(self) -> np.ndarray:
        """(p, s) root of the covariance of all parameters. Raises FitError for an estimate without a prior."""
        if self.joint is None:
            raise FitError(f"{self.method} has no prior, which leaves what the data does not show without any range.")
        return self.joint.root

    def _extra(self, column: int) -> Extra:
        return self.layout.extras[column - self.layout.extra.start]

    def require_weighed(self) -> PosteriorForm:
        """The log posterior of `fit.posterior`. Raises FitError."""
        if self.weighed is None:
            raise FitError(f"{self.method} weighs nothing by evidence: fit with sy.fit.posterior.")
        return self.weighed

    @cached_property
    def smallest_eigenvalues(self) -> np.ndarray:
        """(nb,) smallest eigenvalue of each body's pseudo-inertia; positive means physically consistent."""
        return np.linalg.eigvalsh(pseudo.to_matrix(self.theta))[:, 0]

    def draws(self, count: int | None = None, *, seed: int = 0) -> Draws:
        """Samples of the posterior, of bodies that can exist, for noise as independent as the Information says.

        Args:
            count: of samples; by default 256, of robots of more than 250 parameters 64.
            seed: of random numbers.

        Returns:
            The Draws.

        Raises:
            FitError: an estimate without a prior, which leaves what the data does not show without any range.
        """
        if self.joint is None:
            raise FitError(f"{self.method} has no prior, so nothing can be drawn: fit with sy.fit.consistent.")
        return drawn(self.joint, self.layout, self.prior, self.lower_bounds, count=count, seed=seed)

    def summary(self) -> str:
        """A few readable lines: method, status, certificates, noise."""
        lines = [
            f"{self.method}: {self.status.value}",
            f"{self.samples} samples, {self.basis.count} identifiable combinations of {self.layout.size} parameters",
        ]
        if self.certificate is not None:
            c = self.certificate
            lines.append(
                f"duality gap {c.duality_gap:.1e}, smallest relative eigenvalue {c.smallest_eigenvalue:.1e}, "
                f"smallest slack {c.smallest_slack:.1e}"
            )
        if self.robot is not None:
            bodies = self.parameters[self.layout.inertial].reshape(-1, 10)
            eigenvalues = np.linalg.eigvalsh(pseudo.to_matrix(bodies))[:, 0]
            lines += [
                f"  {name}: {theta[0]:.4g} kg, smallest pseudo-inertia eigenvalue {eigenvalue:.2e}"
                for name, theta, eigenvalue in zip(self.layout.bodies, bodies, eigenvalues, strict=True)
            ]
        return "\n".join([*lines, *self.notes])


def estimate_of(info: Information, method: str, parameters, covariance, **rest) -> Estimate:
    """The Estimate of parameters (p,) that an Information gave. rest: other fields."""
    return Estimate(
        method=method,
        layout=info.layout,
        basis=info.basis,
        parameters=parameters,
        covariance=covariance,
        group_names=info.group_names,
        samples=info.n,
        coulomb_width=info.coulomb_width,
        prior=info.robot,
        robot=_identified_robot(info.robot, info.layout, parameters),
        projection=info.projection,
        contacts=info.contacts,
        **rest,
    )


def _identified_robot(prior: Robot | None, layout: ParameterLayout, parameters) -> Robot | None:
    """The prior robot with identified inertias; damping, frictionloss, armature and rotors where they were columns."""
    if prior is None:
        return None
    properties = {}
    for term, values in stated_values(prior).items():
        if term in layout.terms:
            values = values.copy()
            values[list(layout.dofs)] = parameters[layout.term(term)]
            properties[TERMS[term].stated] = values
    robot = prior.with_inertias(parameters[layout.links]).with_joint_properties(**properties)
    return robot.with_rotor_inertias(parameters[layout.rotors]) if layout.rotor_names else robot
