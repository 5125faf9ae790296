"""Information: all that a fit needs from data, and it adds."""

from steelyard.information.accumulation import Columns, accumulate
from steelyard.information.blocks import accumulate_blocks
from steelyard.information.files import load_information, save_information
from steelyard.information.samples import reversal_weights
from steelyard.information.sums import Information

__all__ = [
    "Columns",
    "Information",
    "accumulate",
    "accumulate_blocks",
    "load_information",
    "reversal_weights",
    "save_information",
]
