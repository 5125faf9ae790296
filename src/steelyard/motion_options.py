"""What decides the design of a motion. Each field says everything about its option once.

`excite.design` takes its options from these records, and `steelyard excite` is made of them. Loads no other library.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.errors import OptionError, choices
from steelyard.job import FRICTION
from steelyard.job_options import EXCITE, option
from steelyard.terms import friction_terms

CRITERIA = ("D", "A", "E", "prediction", "condition")
BASES = ("fourier", "spline")


def _own(default, help: str, **about) -> Any:
    """The option of a design alone."""
    return option(default, help, commands=(EXCITE,), **about)


@dataclass(frozen=True)
class Course:
    """What moves, for how long and along which curves. periods, ramp (s): of a Fourier motion; points: of a spline.

    Raises OptionError for a basis that there is not.
    """

    duration: float = _own(10.0, "Length of the motion, ramps included.", metavar="S", unit="s")
    locked: str | Sequence[str] = _own(
        (), "Joints that stay still, with commas; patterns such as left_*.", metavar="JOINTS", name="lock", joined=True
    )
    moved: str | Sequence[str] | None = _own(
        None, "Joints that alone move, likewise.", metavar="JOINTS", name="move", joined=True, unset="all"
    )
    basis: str = _own("fourier", "fourier or spline.", metavar="KIND")
    harmonics: int = _own(5, "Harmonics of a Fourier motion.", metavar="N")
    periods: int | None = None
    points: int = 12
    ramp: float = 1.0

    def __post_init__(self):
        if self.basis not in BASES:
            raise OptionError(f"basis is 'fourier' or 'spline'; got {self.basis!r}.")


@dataclass(frozen=True, eq=False)
class Aim:
    """What is to be known, by which criterion, and how it will be measured.

    noise: one number or one a measured row. weight: of the prior. Raises OptionError for a criterion that there is not
    and a negative share of noise.
    """

    criterion: str = _own("D", "D, A, E, prediction or condition.", metavar="NAME")
    focus: str | Sequence[str] | None = _own(
        None, "Wanted parameters: payload, friction, bodies or names, with commas.", metavar="NAMES", joined=True
    )
    target: float | None = _own(None, "Condition number to reach; a miss is 1.", metavar="C")
    rows: str | Sequence[str] = _own(
        ("joints",), "Measured rows: joints, base and wrench:LINK, with commas.", metavar="ROWS", joined=True
    )
    friction: str | Sequence[str] = _own(
        FRICTION, f"Any of {','.join(friction_terms())} with commas, or none.", metavar="TERMS", joined=True
    )
    armature: bool = _own(False, "The motors' inertia is unknown too.")
    noise: Any = option(
        None,
        "Standard deviation of torques.",
        metavar="NM",
        unit="N m",
        unset="1 % of effort limits",
        commands=(EXCITE,),
    )
    noise_share: float = _own(0.0, "Further noise, as a share of each joint's RMS torque.", metavar="SHARE")
    rate: float = 100.0  # independent samples a second
    after: Any = None  # Information of earlier logs, or a payload that was identified
    weight: float = 1.0

    def __post_init__(self):
        if self.criterion not in CRITERIA:
            raise OptionError(f"criterion is one of {choices(CRITERIA)}; got {self.criterion!r}.")
        if not (math.isfinite(self.noise_share) and self.noise_share >= 0):
            raise OptionError(f"noise_share is a share of the RMS torque, 0 or more; got {self.noise_share}.")

    @property
    def of_payload(self) -> bool:
        """Whether a load on the last body is all that is to be known."""
        return self.focus == "payload" or tuple(self.focus or ()) == ("payload",)


@dataclass(frozen=True)
class Search:
    """Where the search starts and what it may take. Raises OptionError for numbers out of their range."""

    warm: str | None = _own(None, "Motion to start from, such as an old -o.", metavar="LOG", path=True)
    seed: int = _own(0, "Of the random starts.", metavar="N")
    starts: int = _own(1, "Random starts to optimise to the end.", metavar="N")
    workers: int = _own(1, "Processes for several starts.", metavar="N")
    time_limit: float | None = _own(
        None, "Stop after this, with the best motion so far.", metavar="S", name="time", unit="s"
    )

    def __post_init__(self):
        if self.starts < 1 or self.workers < 1 or (self.time_limit is not None and not self.time_limit > 0):
            raise OptionError(
                f"starts={self.starts} and workers={self.workers} are 1 or more, and time_limit={self.time_limit} a "
                "positive number of s."
            )
