"""Motions that are searched for briefly and drives of few samples, for tests of what holds for any."""

from steelyard.drives import motion_fit
from steelyard.excite import optimise
from steelyard.pipeline import drive_identification


def search_briefly(patch):
    """patch: of `pytest.MonkeyPatch`."""
    for name, value in {"DRAWS": 1, "FIRST": 4, "LATER": 4}.items():
        patch.setattr(optimise, name, value)


def draw_few(patch, most: int = 30):
    """Samples of results of drives, each of which is simulated."""
    patch.setattr(drive_identification, "draws", lambda fit, count, seed: motion_fit.draws(fit, min(count, most), seed))
