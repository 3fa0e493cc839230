"""Conformance suites, shipped for third parties too."""
