"""The whole product on every robot model at hand, beside engines that we did not write: `make conformance`."""
