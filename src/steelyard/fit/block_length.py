"""How long blocks must be: neighbours are merged until their scores are no longer alike."""

import numpy as np

from steelyard.fit.sandwich import Sandwich

ALIKE = 0.05  # correlation of neighbours that may stay: variances are then at most a tenth too small
FEWEST = 12  # blocks kept: with fewer, lost degrees of freedom cost more than the correlation that is left


def independent_blocks(fine: Sandwich) -> Sandwich:
    """The finest merging by 1, 2, 4, ... neighbours whose scores are uncorrelated, or the coarsest one allowed."""
    blocks = fine
    while blocks.count >= 2 * FEWEST and neighbour_correlation(blocks) > ALIKE:
        blocks = blocks.merged(2)
    return blocks


def neighbour_correlation(blocks: Sandwich) -> float:
    """Correlation of the scores of neighbouring blocks, over all directions together.

    Scores add up to zero, which alone makes neighbours differ; what independent residuals would show is taken off.
    """
    gram, score = blocks.gram, blocks.score
    power = np.sum(score**2)
    level = power / (np.einsum("kii->", gram) - np.sum(gram**2))
    expected = -level * np.sum(gram[:-1] * gram[1:])
    return float((np.sum(score[:-1] * score[1:]) - expected) / power) if power > 0 else 0.0
