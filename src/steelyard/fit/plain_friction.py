"""Friction of any shape as model files have it: viscous and Coulomb."""

import numpy as np

from steelyard.fit.estimate import Estimate
from steelyard.fit.linear import nonnegative_least_squares
from steelyard.information import Information
from steelyard.terms import SHAPED_FRICTION, TERMS

FAINT = 1e-9  # share of a column's square, by which what no motion tells stays as the estimate has it
TINY = 1e-300


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
    further = [at for at, each in enumerate(layout.extras) if each.kind in SHAPED_FRICTION]
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
        square, x = gram[np.ix_(rows, rows)], estimate.parameters
        stay = np.diag(FAINT * np.diag(square) + TINY)
        root = np.linalg.cholesky(square + stay)
        wanted = np.linalg.solve(root, gram[np.ix_(rows, columns)] @ x[every] + stay @ x[plain])
        for term, value in zip(terms, nonnegative_least_squares(root.T, wanted)[0], strict=True):
            found[str(TERMS[term].stated)][dof] = value
    return found
