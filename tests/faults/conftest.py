"""Fuzzing needs an extra that tests do not."""

collect_ignore = ["fuzz.py"]
