"""The robot model: read, frozen, written back."""

from steelyard.model.load import load
from steelyard.model.robot import Link, Robot
from steelyard.model.rotor import Rotor

__all__ = ["Link", "Robot", "Rotor", "load"]
