"""The health of a log: rates, gaps, noise, quantisation, bandwidth, delays and what to do about each."""

from steelyard.inspect.run import Inspection, cutoff_of, health, inspect
from steelyard.inspect.signal import Signal
from steelyard.log.bandwidth import Bandwidth, bandwidth

__all__ = ["Bandwidth", "Inspection", "Signal", "bandwidth", "cutoff_of", "health", "inspect"]
