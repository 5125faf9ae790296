"""Drives of joints that log commands instead of torques."""

from steelyard.drives.drive import Drive, drives_of

__all__ = ["Drive", "drives_of"]
