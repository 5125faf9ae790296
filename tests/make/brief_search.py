"""Motions that are searched for briefly, for tests of what holds for any motion, the best or not."""

from steelyard.excite import optimise


def search_briefly(patch):
    """patch: of `pytest.MonkeyPatch`."""
    for name, value in {"DRAWS": 1, "FIRST": 4, "LATER": 4}.items():
        patch.setattr(optimise, name, value)
