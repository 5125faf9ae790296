"""Coverage-guided fuzzing of everything that reads a file (docs/fuzzing.md); `make fuzz` runs it."""
