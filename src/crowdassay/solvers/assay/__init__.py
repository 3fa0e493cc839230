"""Fit the default method: its members, what known items teach it, and the posterior that pools them."""
