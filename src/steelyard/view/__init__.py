"""A robot to look at: its meshes, masses and motions in a page that opens anywhere.

`view` writes such a page, `embed` gives the same view as a piece of HTML for other pages.
"""

from steelyard.view.motion import Motion, motion_of
from steelyard.view.movie import film
from steelyard.view.show import embed, view

__all__ = ["Motion", "embed", "film", "motion_of", "view"]
