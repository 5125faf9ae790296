"""A robot to look at: its meshes, masses and motions in a page that opens anywhere.

`view` writes such a page, `embed` gives the same view as a piece of HTML for other pages."""

from steelyard.viewer.recording import write_recording
from steelyard.viewer.show import embed, view

__all__ = [
    "embed",
    "view",
    "write_recording",
]
