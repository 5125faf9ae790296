"""Zeros of encoders elsewhere than in the model: offsets of positions, estimated beside all parameters and friction.

To first order an offset adds the torque's rate of change with that position. What is left of it beside all that
parameters explain says how well torques show the offset; what it shares with another offset is not known of either.
What an offset of the last joint does, a turned last link does as well, and an offset about a vertical first axis does
nothing at all: those are not seen, and harm no torque that the identified model predicts for positions read alike.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from steelyard.cards import Card
from steelyard.diagnose.added_columns import Added, add_columns, certain, lasting, scatter
from steelyard.diagnose.case import Case
from steelyard.diagnose.given_links import GivenLinks
from steelyard.diagnose.hypothesis import Mistake, Trial

SMALLEST = 0.01  # rad or m; less is within what calibration leaves
ROUNDS = 8  # of Gauss-Newton
LONGEST = 0.4  # rad or m a round
SETTLED = 1e-4  # rad or m, below which another round changes nothing
SHOWN = 0.2  # rad or m: an offset known no better is taken for none
TINY = 1e-300
CENTRES = 0.05  # rad or m by which centres of mass of given links turn the offsets that they say
GROSS = 0.05  # rad or m, from which on the links of the given model may tell an offset alone
PROMISING = 0.8  # share of what they leave, at most, that one step must leave
TURNS = (0.0, np.pi / 2, -np.pi / 2, np.pi)  # zeros that makers of models and of robots choose differently
SMALL = 3.0  # standard deviations, within which the first step is right enough


@dataclass(frozen=True, eq=False, repr=False)
class PositionOffsets(Card):
    """By which positions come short of what the torques say, to be added to them: rad or m, and their covariance.

    offset (nv,), covariance (nv, nv): NaN where torques do not show it, as of a first joint about the vertical, of the
    last joint of an arm, and of light links. lasting: how many times longer than noise what is left stays alike.
    """

    offset: np.ndarray
    covariance: np.ndarray
    lasting: float

    @property
    def deviation(self) -> np.ndarray:
        """(nv,) standard deviations, NaN where torques do not show an offset."""
        return np.sqrt(np.diag(self.covariance))

    def by_name(self, names: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Offset and standard deviation of the joints whose torques show theirs. names: (nv,)."""
        pairs = zip(names, self.offset, self.deviation, strict=True)
        return {name: (float(x), float(sigma)) for name, x, sigma in pairs if np.isfinite(x)}

    def certain(self, deviations: float) -> tuple[int, ...]:
        """Degrees whose offset is none by chance, each beside the others: so many standard deviations or more."""
        return tuple(certain(self.offset, self.covariance, deviations)[0])


def position_offsets(case: Case) -> PositionOffsets:
    """Offsets of all joints, estimated together; those that torques do not show are left out."""
    offset, covariance = np.full(case.robot.nv, np.nan), np.full((case.robot.nv, case.robot.nv), np.nan)
    dofs, added = _shown(case)
    if added is None:
        return PositionOffsets(offset, covariance, 1.0)
    changed, found = case, added.coefficients
    if (np.abs(found) > SMALL * added.deviations * scatter(case, added)).any():
        found, added, changed = _settled(case, dofs, added)
    offset[dofs], covariance[np.ix_(dofs, dofs)] = found, added.covariance * scatter(changed, added) ** 2
    return PositionOffsets(offset, covariance, lasting(changed, added.left))


def _shown(case: Case) -> tuple[list[int], Added | None]:
    """Degrees whose offsets torques show beside each other, and the first step towards these if any."""
    dofs = np.array([dof for dof in case.dofs if dof in case.robot.scalar_positions], dtype=int)
    if not len(dofs):
        return [], None
    columns = case.regression.position_rates(case.free[0], dofs)
    added = add_columns(case, columns)
    least = scatter(case, added) / np.sqrt(np.maximum(np.diag(added.information), TINY))  # if all others were right
    kept = least <= SHOWN
    while kept.any():
        added = add_columns(case, columns[:, :, kept])
        hidden = added.deviations * scatter(case, added)
        if hidden.max() <= SHOWN:
            return dofs[kept].tolist(), added
        kept[np.flatnonzero(kept)[np.argmax(hidden)]] = False
    return [], None


def _settled(case: Case, dofs: Sequence[int], added: Added | None = None) -> tuple[np.ndarray, Added, Case]:
    """Offsets (d,) of some degrees by Gauss-Newton, its last step, and the case with positions moved by them.

    added: the first step, if known.
    """
    added = _step(case, dofs) if added is None else added
    offset, changed = np.zeros(case.robot.nv), case
    for _ in range(ROUNDS):
        offset[list(dofs)] += np.clip(added.coefficients, -LONGEST, LONGEST)
        changed = case.undone("position_offset", q=case.regression.moved(offset).q)
        added = _step(changed, dofs)
        if (np.abs(added.coefficients) < SETTLED).all():
            break
    return offset[list(dofs)], added, changed


def _step(case: Case, dofs: Sequence[int]) -> Added:
    return add_columns(case, case.regression.position_rates(case.free[0], dofs))


def by_given_links(case: Case, dofs: Sequence[int]) -> Iterator[Trial]:
    """The zero of one joint elsewhere, as the links of the given model have it. dofs: joints that are tried."""
    turning = {joint.name for joint in case.robot.free_joints if joint.turns}
    for dof in dofs:
        if dof not in case.robot.scalar_positions:
            continue
        name = case.robot.dof_names[dof]
        for start in TURNS if name in turning else TURNS[:1]:
            moved = _moved(case, dof, start)
            offset = start
            for _ in range(3):
                step = _towards_given_links(moved, dof)
                if step is None:
                    break
                offset += float(np.clip(step, -LONGEST, LONGEST))
                moved = _moved(case, dof, offset)
            if abs(offset) > GROSS:
                yield _trial(moved, dof, offset, partial(_finer, moved, dof, offset))


def _finer(moved: Case, dof: int, offset: float) -> Trial:
    """The offset that the torques say whatever the links, as far as they say it, and else that of the given links."""
    added = _step(moved, [dof])
    deviation = float(added.deviations[0] * scatter(moved, added))
    change = float(added.coefficients[0]) * CENTRES**2 / (CENTRES**2 + deviation**2) if deviation < CENTRES else 0.0
    return _trial(_moved(moved, dof, change), dof, offset + change)


def _trial(moved: Case, dof: int, offset: float, finer: Callable[[], Trial] | None = None) -> Trial:
    name = moved.robot.dof_names[dof]
    return Trial(
        moved,
        f"The zero of {name} is {offset:+.4f} rad (or m) elsewhere than in the model",
        options=("--offset", f"{name}={offset:.5f}"),
        joint=name,
        finer=finer,
    )


def _moved(case: Case, dof: int, offset: float) -> Case:
    places = offset * (np.arange(case.robot.nv) == dof)
    return case.undone("position_offset", q=case.regression.moved(places).q)


def _towards_given_links(case: Case, dof: int) -> float | None:
    """Change of one position, rad or m, that the torques of the given links ask for; None where they hardly do."""
    given = GivenLinks(case)
    step = 1e-4
    rate = (GivenLinks(_moved(case, dof, step)).torque - given.torque) / step
    left, size = case.target - given.torque, np.sqrt(np.maximum(case.energy, TINY))[:, None]
    slope, room = rate / size, left / size
    for own, drive, column in zip(slope, given.drives, room, strict=True):  # what drives explain says nothing
        kept = drive[:, np.linalg.norm(drive, axis=0) > 0]
        if kept.shape[1]:
            Q = np.linalg.qr(kept)[0]
            own -= Q @ (Q.T @ own)
            column -= Q @ (Q.T @ column)
    whole, square = float(np.sum(room**2)), float(np.sum(slope**2))
    if square <= 0 or whole <= 0:
        return None
    change = float(np.sum(slope * room)) / square
    return change if change**2 * square > (1 - PROMISING) * whole or abs(change) < SMALLEST else None


MISTAKE = Mistake(by_given_links=(by_given_links,))
