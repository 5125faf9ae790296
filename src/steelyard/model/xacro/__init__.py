"""xacro: a bounded evaluator of its expressions, its macros, and the URDF that a file stands for.

Nothing of a file is run: expressions are walked as syntax trees, with what is named in `functions` and nothing else.
"""
