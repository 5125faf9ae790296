"""A scale that logs of commands may leave open, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scale:
    """One common factor of masses, friction and gains that commands and motion do not show.

    Attributes:
        joints: that share it.
        bodies: that their torques depend on.
        fixed_by: what says it, each by itself if not `together`; empty where nothing does.
        together: whether all of `fixed_by` are needed.
        parameters: base parameters that are known only up to it; empty where it is fixed.
        loaded: bodies on which a payload of known mass in one more log would fix it, tips first.
        weighed: bodies, or "all", whose mass alone would fix it.
        balanced: bodies whose mass and centre of mass together would fix it, tips first.
        gains: by joint, the number of its drive that would fix it: kp, kd or gain.
        limits: by joint, the stated limit of its drive, N m: reached in a log, it would fix it.
    """

    joints: tuple[str, ...]
    bodies: tuple[str, ...]
    fixed_by: tuple[str, ...] = ()
    together: bool = False
    parameters: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    weighed: tuple[str, ...] = ()
    balanced: tuple[str, ...] = ()
    gains: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def fixed(self) -> bool:
        """Whether something says it."""
        return bool(self.fixed_by)
