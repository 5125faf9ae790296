"""Bodies of an adaptation kept in all that is known of them: projection by the divergence of its Lyapunov function.

With `d(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4`, the nearest bodies P of a convex set satisfy `d(truth || P) <=
d(truth || J0) - d(P || J0)` for every truth in the set (Bregman 1967): each projection lowers the Lyapunov function of
natural adaptation, and one onto a tighter set by more (paper B, Remark 6).
"""

from dataclasses import replace

import numpy as np

from steelyard.arguments import require_type, with_options
from steelyard.errors import OptionError
from steelyard.fit.cone_solver import minimum
from steelyard.fit.constraints import ConstraintRows
from steelyard.fit.knowledge import TOLD_NOTHING, Known, knowledge_of_bodies
from steelyard.fit.newton import followed
from steelyard.fit.prior import REGULARIZERS, congruence
from steelyard.fit.program import Coordinates, Infeasible, Objective, Residual, contradiction, freedom
from steelyard.inertia import is_consistent
from steelyard.model import Robot
from steelyard.terms import ParameterLayout


class Projection:
    """A function of bodies (nb, 10) that returns the nearest ones that meet all that is known of a robot.

    nominal: (nb, 10) those nearest to the prior, to start from. notes: what was assumed or repaired.
    """

    def __init__(self, robot: Robot, known: Known = TOLD_NOTHING, **more):
        """Read what is known.

        Args:
            robot: whose bodies are meant, and their prior.
            known: `prior`, `within`, `masses`, `fixed` and `tied`, as of `consistent`.
            more: fields of Known by name, in the place of those of `known`.

        Raises:
            OptionError: knowledge about things that are not there.
            FitError: pieces of knowledge contradict each other (they are named).

        Example:
            >>> import numpy as np, steelyard as sy
            >>> robot = sy.library.scara()
            >>> projection = sy.fit.Projection(robot, masses={"all": 9.0})
            >>> bool(np.isclose(projection(2 * robot.inertias)[:, 0].sum(), 9.0))
            True
        """
        require_type(Robot, robot=robot)
        layout = ParameterLayout(robot.body_names)
        told = knowledge_of_bodies(robot, layout, with_options(known, "Projection", more))
        self.notes, self._told = told.notes, told.constraints
        self._knowledge = knowledge = replace(told.without_margins(), regularizer=REGULARIZERS["entropic"], weight=1.0)
        prior = knowledge.prior.ravel()
        self._coordinates = Coordinates(prior, prior, congruence(knowledge.prior), np.zeros(0))
        self._freedom = freedom(self._coordinates, knowledge.constraints)
        self._rows = ConstraintRows(knowledge.constraints)
        self.nominal = knowledge.prior
        self.nominal = self(knowledge.prior)

    def __call__(self, theta, *, near=None, residual: Residual | None = None) -> np.ndarray:
        """The bodies that meet all that is known, of least summed divergence from theta.

        Args:
            theta: (nb, 10) of physically consistent bodies.
            near: (nb, 10) that meet all that is known, from which steps start; the nominal ones by default.
            residual: a quadratic cost of the parameters, which is added to the divergence.

        Returns:
            (nb, 10).

        Raises:
            OptionError: another shape, or parameters of no body.
        """
        theta = np.asarray(theta, dtype=float)
        if theta.shape != self._knowledge.prior.shape or not is_consistent(theta).all():
            raise OptionError(
                f"theta is {self._knowledge.prior.shape} of physically consistent bodies; found shape {theta.shape}. "
                "Start from Projection.nominal."
            )
        flat = theta.ravel()
        if residual is None and self._inside(flat):
            return theta
        residual = residual or Residual(np.zeros((0, len(flat))), np.zeros(0), 0.0)
        objective = self._objective(residual, replace(self._coordinates, prior=flat), self._freedom)
        if not objective.size:  # everything is known
            return objective.start.reshape(theta.shape)
        found = followed(objective, np.ravel(self.nominal if near is None else near))
        if found is None:  # no start inside, or sets that steps along linear bounds do not know
            around = Coordinates(flat, flat, congruence(theta), np.zeros(0))
            objective = self._objective(residual, around, freedom(around, self._knowledge.constraints))
            try:
                found = minimum(objective)
            except Infeasible as error:
                raise contradiction(around, self._told) from error
        return objective.parameters(found.w).reshape(theta.shape)

    def _objective(self, residual: Residual, coordinates: Coordinates, freedom) -> Objective:
        """The divergence from the prior of coordinates, and a quadratic cost of the parameters."""
        unknowns = coordinates.within(freedom)
        b = residual.b - residual.A @ unknowns["start"]
        quadratic = Residual(residual.A @ unknowns["directions"], b, residual.constant)
        return Objective(replace(self._knowledge, prior=coordinates.prior.reshape(-1, 10)), quadratic, **unknowns)

    def _inside(self, parameters) -> bool:
        """Whether parameters (p,) meet everything as they are; not known where a set has auxiliary variables."""
        if self._freedom is not None or self._rows.free.any():
            return False
        return bool((self._rows.depths(self._rows.slack(parameters)) >= 0).all())
