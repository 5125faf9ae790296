"""Information: all that a fit needs from data, and it adds."""

from steelyard.information.accumulate import accumulate
from steelyard.information.blocks import accumulate_blocks
from steelyard.information.engines import CHUNK
from steelyard.information.files import load_information, save_information
from steelyard.information.residuals import residuals
from steelyard.information.reversals import reversal_weights
from steelyard.information.rows import direction_of
from steelyard.information.sums import Information

__all__ = [
    "CHUNK",
    "Information",
    "accumulate",
    "accumulate_blocks",
    "direction_of",
    "load_information",
    "residuals",
    "reversal_weights",
    "save_information",
]
