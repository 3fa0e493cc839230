"""Whether methods are right: conformance suites, simulated labels with known truth, and the tables of the paper."""
