"""Log and robot to data that a fit can use: corrections, gravity, clipping, a second look."""

from steelyard.prepare.clipped import Clipped, unclipped
from steelyard.prepare.corrections import NOTHING, Corrections, corrected, corrections_from
from steelyard.prepare.second_look import in_torques, load_word, synchronised

__all__ = [
    "NOTHING",
    "Clipped",
    "Corrections",
    "corrected",
    "corrections_from",
    "in_torques",
    "load_word",
    "synchronised",
    "unclipped",
]
