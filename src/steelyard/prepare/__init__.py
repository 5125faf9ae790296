"""Log and robot to data that fits can use: mistakes undone, checked, filtered, cleared, completed, in one order."""

from steelyard.prepare.prepared import Prepared, prepare

__all__ = ["Prepared", "prepare"]
