"""Drives of joints that log commands instead of torques: how they move in simulation, and what makes them move so."""

from typing import TYPE_CHECKING

from steelyard.drives.drive import Drive, drives_of, twins
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.drives.arrays import LOAD_FRICTION, DriveArrays, arrays_of, effort, require_driven
    from steelyard.drives.coordinates import unknowns
    from steelyard.drives.free_swings import swings
    from steelyard.drives.held_out import (
        CLEARLY_LIKE,
        COARSE,
        COMMANDED,
        STAYS,
        WINDOW,
        Motion,
        Proven,
        judges_of,
        parted,
        parted_by_speed,
        proven_by,
    )
    from steelyard.drives.motion_fit import FREE, MotionFit, Stated, draws, fit_motion, search
    from steelyard.drives.refinement import Refined, Simulated, errors_of, refine, shown_by
    from steelyard.drives.rollouts import Rollout, rollout
    from steelyard.drives.simulation import Simulation, step_for, unbounded
    from steelyard.drives.windows import Recorded, Windows, stretches, windows_of

_HOMES = {
    "arrays": ("LOAD_FRICTION", "DriveArrays", "arrays_of", "effort", "require_driven"),
    "coordinates": ("unknowns",),
    "held_out": (
        *("CLEARLY_LIKE", "COARSE", "COMMANDED", "STAYS", "WINDOW", "Motion", "Proven", "judges_of"),
        *("parted", "parted_by_speed", "proven_by"),
    ),
    "motion_fit": ("FREE", "MotionFit", "Stated", "draws", "fit_motion", "search"),
    "refinement": ("Refined", "Simulated", "errors_of", "refine", "shown_by"),
    "rollouts": ("Rollout", "rollout"),
    "simulation": ("Simulation", "step_for", "unbounded"),
    "free_swings": ("swings",),
    "windows": ("Recorded", "Windows", "stretches", "windows_of"),
}
# Loaded on first use: what simulates.
__getattr__ = lazy(__name__, {name: home for home, names in _HOMES.items() for name in names})

__all__ = [
    "CLEARLY_LIKE",
    "COARSE",
    "COMMANDED",
    "FREE",
    "LOAD_FRICTION",
    "STAYS",
    "WINDOW",
    "Drive",
    "DriveArrays",
    "Motion",
    "MotionFit",
    "Proven",
    "Recorded",
    "Refined",
    "Rollout",
    "Simulated",
    "Simulation",
    "Stated",
    "Windows",
    "arrays_of",
    "draws",
    "drives_of",
    "effort",
    "errors_of",
    "fit_motion",
    "judges_of",
    "parted",
    "parted_by_speed",
    "proven_by",
    "refine",
    "require_driven",
    "rollout",
    "search",
    "shown_by",
    "step_for",
    "stretches",
    "swings",
    "twins",
    "unbounded",
    "unknowns",
    "windows_of",
]
