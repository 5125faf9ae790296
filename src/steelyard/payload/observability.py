"""What a wrench log can reveal at all (paper E, Appendix A): rank and words, before any fit."""

from dataclasses import dataclass

import numpy as np

from steelyard.payload.information import wrench_regressor
from steelyard.payload.wrench_log import WrenchLog

RANK = 1e-8  # smallest singular value, relative to the largest, that counts
LENGTH = 0.1  # m, that makes masses, moments and inertias comparable
GROUPS = {"mass": (0,), "centre of mass": (1, 2, 3), "inertia": tuple(range(4, 10))}


@dataclass(frozen=True)
class Observability:
    """rank: identifiable combinations of the ten parameters; known: groups wholly determined; text: in words."""

    rank: int
    known: tuple[str, ...]
    text: str


def observability(log: WrenchLog, *, reduced: bool = False, bias: bool = False) -> Observability:
    """Which of mass, centre of mass and inertia the motion of a log can reveal.

    reduced: with the gravity-only model of E (6), whose rank is at most 4 whatever the motion. bias: with a constant
    wrench to be found beside.
    """
    Y = wrench_regressor(log, reduced=reduced) * np.array([1.0] + [1 / LENGTH] * 3 + [1 / LENGTH**2] * 6)
    if bias:
        Y = Y - Y.mean(axis=0)
    _, singular, Vt = np.linalg.svd(np.linalg.qr(Y.reshape(-1, 10), mode="r"))
    rank = int(np.count_nonzero(singular > RANK * max(singular[0], 1e-300)))
    hidden = Vt[rank:]
    known = tuple(name for name, columns in GROUPS.items() if np.abs(hidden[:, columns]).max(initial=0.0) < 1e-6)
    return Observability(rank, known, _words(rank, known, log, reduced))


def _words(rank, known, log, reduced):
    seen = " and ".join(known) if known else "neither mass nor centre of mass"
    text = f"Rank {rank} of 10: this log determines {seen}"
    if reduced or not log.moving or rank <= 4:
        text += ". Gravity alone acts on mass and first moment, four numbers; it never shows the inertia"
        if rank < 4:
            text += ". Fewer than four: the sensor must be tilted about two axes to see the whole centre of mass"
    elif rank < 10:
        text += f"; {10 - rank} combinations of inertia stay hidden: turn about more axes, with angular acceleration"
    return text + "."
