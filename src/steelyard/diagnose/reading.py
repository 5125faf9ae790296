"""What a log may hold in the place of positions and torques of joints, and the same samples read so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.diagnose.case import Case
from steelyard.diagnose.faults import Fault, fault


@dataclass(frozen=True, eq=False)
class Reading:
    """Matrices that make positions and torques of joints of what a log has, and how to say so.

    code, said, remedy, options, joint: of the fault; remedy: by default that of the code's record. position, torque:
    (nv, nv), None for those of joints. offset: (nv,) of positions, rad or m. pace: of the motion over that of the
    stamps. gravity: (3,) of the robot. weighs: whether gravity of the given links is to be added. mixed: joints that
    positions mix. least: nats a number that it
    has to win; price: nats, as of many figures. of_links: whether only links tell it, by
    becoming those of the file. figures: evidence of the fault.
    """

    code: str
    said: str
    options: tuple[str, ...] = ()
    joint: str | None = None
    remedy: str = ""
    position: np.ndarray | None = None
    torque: np.ndarray | None = None
    offset: np.ndarray | None = None
    pace: float = 1.0
    gravity: np.ndarray | None = None
    weighs: bool = False
    mixed: tuple[str, ...] = ()
    least: float = 0.0
    price: float = 0.0
    of_links: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)

    def of(self, case: Case) -> Case:
        """The samples of a case, read so."""
        changes: dict = {} if self.position is None else _moved(case, self.position)
        if self.offset is not None:
            changes["q"] = case.regression.moved(self.offset).q
        if self.pace != 1:
            changes |= _faster(case, self.pace)
        if self.gravity is not None:
            changes["robot"] = replace(case.robot, gravity=self.gravity)
        read = case.undone(self.code, mixed=self.torque, **changes)
        return replace(read, added=read.added + read.regression.still.torque(case.robot)) if self.weighs else read

    @property
    def moves(self) -> bool:
        """Whether it is more than factors of torques, which it does not need to know."""
        factors = (
            self.position is None and self.torque is not None and (self.torque == np.diag(np.diag(self.torque))).all()
        )
        return not (factors or self.weighs)

    @property
    def words(self) -> str:
        """Its code and options, or what it says."""
        return f"{self.code.replace('_', ' ')} ({' '.join(self.options) or self.said})"

    @property
    def volume(self) -> float:
        """Logarithm of the factor by which it changes densities of torques."""
        return 0.0 if self.torque is None else float(np.linalg.slogdet(self.torque)[1])

    def fault(
        self, before: float, after: float, nats: float, beside: Sequence["Reading"] = (), also: str = ""
    ) -> Fault:
        """before, after: share of the torque that the given links leave. beside: readings that are corrected with it.
        also: those that explain as much."""
        all_of_it = " and ".join(["this", *(each.words for each in beside)])
        said = f"{self.said}. With {all_of_it} corrected, "
        if self.of_links and after > before:
            said += f"links that are those of the file, more or less, explain the torque; else others do.{also}"
        else:
            said += f"the links of the given model leave {after:.1%} of the torque unexplained instead of "
            said += f"{before:.1%}.{also}"
        figures = {"relative_error": before, "relative_error_undone": after, "nats": nats, **self.figures}
        return fault(self.code, said, self.remedy, joint=self.joint, options=self.options, **figures)


def _faster(case: Case, pace: float) -> dict[str, np.ndarray]:
    """Motion of a regression in less time."""
    regression, nv = case.regression, case.robot.nv
    v, direction = pace * regression.v, regression.direction.copy()
    direction[:, :nv] = np.tanh(v / regression.coulomb_width)
    return {"v": v, "a": pace**2 * regression.a, "direction": direction}


def _moved(case: Case, position: np.ndarray) -> dict[str, np.ndarray]:
    """Motion of a regression by a matrix."""
    regression, places = case.regression, case.robot.scalar_positions
    q, dofs, at = regression.q.copy(), list(places), list(places.values())
    q[:, at] = q[:, at] @ position[np.ix_(dofs, dofs)].T
    v, a = regression.v @ position.T, regression.a @ position.T
    direction = regression.direction.copy()
    whole = np.isin(position, (-1.0, 0.0, 1.0)).all() and (np.abs(position).sum(axis=1) == 1).all()
    nv = case.robot.nv
    direction[:, :nv] = direction[:, :nv] @ position.T if whole else np.tanh(v / regression.coulomb_width)
    return {"q": q, "v": v, "a": a, "direction": direction}
