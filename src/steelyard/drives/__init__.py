"""Drives of joints that log commands instead of torques: how they move in simulation, and what makes them move so."""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.drives.rollouts import Rollout, rollout

# Loaded on first use: what simulates.
__getattr__ = lazy(__name__, {"Rollout": "rollouts", "rollout": "rollouts"})

__all__ = ["Rollout", "rollout"]
