"""Whole files of every format, how they are mutated, and what reads them. The suite is `evidence.fuzzing`."""
