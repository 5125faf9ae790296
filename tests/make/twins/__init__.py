"""What the compiled core computes, in Python: the same numbers, sample by sample."""
