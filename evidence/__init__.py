"""What holds and how well, measured: suites of cases, their rows and the pages made of them (`python -m evidence`)."""
