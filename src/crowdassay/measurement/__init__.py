"""Measure workers and items on one scale, the truth known or taken from a fit."""
