"""Fitted models in folders: saved, loaded, and brought up to date with new labels."""
