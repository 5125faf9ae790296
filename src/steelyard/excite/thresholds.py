"""Thresholds of the design of motions, each with where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _table(**values: float):
    return field(default_factory=lambda: MappingProxyType(values))


@dataclass(frozen=True)
class Thresholds:
    """Limits that hold where a model states none, and what counts as reached, active or visible."""

    position: Mapping[str, float] = _table(revolute=3.141592653589793, prismatic=0.25)
    """rad, m: range to each side of a joint whose model states none; a turn, and an arm's length."""
    velocity: Mapping[str, float] = _table(revolute=2.0, prismatic=0.5)
    """rad/s, m/s: speed of a joint whose model states none; below that of every arm of example-robot-data."""
    acceleration: float = 5.0  # 1/s: accelerations up to this times the velocity limit; models state none
    no_range: float = 1e-6  # rad, m: a joint with less room does not move
    active: float = 0.97  # Share of a limit from which it counts as active: the optimiser aims at `aim` of each
    aim: float = 0.985  # Share of each limit to aim at: the grid of the optimiser sees peaks to a per cent
    spare: float = 0.008  # m beyond the clearance to aim at: collisions are looked for on a sparse grid
    pressure: float = 0.05  # m of missing room that press like the whole of a joint limit
    nearby: float = 0.05  # m beyond the clearance within which the nearest approach of a pair is reported
    usually_close: float = 0.5
    """Share of random poses from which a pair nearer than the clearance is only kept from touching."""
    sole: float = 0.002
    """m above the lowest point within which geometry counts as touching the ground: meshes of feet are rounded."""
    least_load: float = 0.1  # Share of the weight below which a robot counts as about to jump
    visible: float = 1e-9  # Share of the largest singular value below which a combination is rounding
    satisfied: float = 2e-3
    """Violation of a limit, and with `settled` change of the cost in a round, from which more rounds change nothing."""
    settled: float = 1e-3


THRESHOLDS = Thresholds()
