"""Rank things from comparisons of two: with ties, position bias, and the reliability of whoever compared."""
