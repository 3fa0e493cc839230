"""Databases that labels, results and the service share: connections that read, and one that writes at a time."""
