"""Explanations frozen as text; each sentence was checked by hand against the tables and the geometry of the robot."""

import pytest

from robots import urdf
from steelyard.errors import OptionError
from steelyard.identifiability.analyze import identifiability
from steelyard.model import library, load
