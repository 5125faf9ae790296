"""A robot to look at: its meshes, masses and motions in a page that opens anywhere.

`view` writes such a page, `embed` gives the same view as a piece of HTML for other pages.
"""

from steelyard.viewer.command import command, require_outputs, written
from steelyard.viewer.motion import Motion, motion_of
from steelyard.viewer.movie import film
from steelyard.viewer.show import embed, view

__all__ = [
    "Motion",
    "command",
    "embed",
    "film",
    "motion_of",
    "require_outputs",
    "view",
    "written",
]
