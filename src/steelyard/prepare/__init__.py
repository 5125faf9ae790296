"""Log and robot to data that a fit can use: corrections, gravity, clipping, a second look."""

from steelyard.job import NOTHING, Corrections, corrections_from
from steelyard.prepare.clipped import Clipped, unclipped
from steelyard.prepare.corrections import corrected
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
