"""The tables of a report, each from a summary."""
