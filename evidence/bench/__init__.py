"""What each benchmark times or compares: a `run()` that returns a table. The suite is `evidence.benchmarks`."""
