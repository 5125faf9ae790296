"""What conformance does with one model, beside engines that we did not write."""
