"""Coverage-guided fuzzing of everything that reads a file (docs/evidence/fuzzing.md); `make fuzz` runs it."""
