"""Outer optimisers that see nothing but sums."""
