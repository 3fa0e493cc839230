"""Files, frames and arrays to `Labels`, and results to files."""
