"""Fits of a job in the background, and what is known of its items at any moment: the last fit and what came since."""
