"""Scores against the truth."""
