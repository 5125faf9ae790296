"""What the project claims to be able to do, with the tests and measured figures that prove it: one file an area.

Short words of our own; the topic says which part of the library a claim is about. Figures are named, not typed: row and
column of the table that a benchmark writes. What stands in `limits` and `short` is known and explained.
"""

from tools.claim_list import experiments, fits, logs, models, product, trust

CLAIMS = (*models.CLAIMS, *fits.CLAIMS, *experiments.CLAIMS, *logs.CLAIMS, *product.CLAIMS, *trust.CLAIMS)
