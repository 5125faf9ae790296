"""A permanent adversary: seeded random jobs that try to make Steelyard fail or say what is not true."""
