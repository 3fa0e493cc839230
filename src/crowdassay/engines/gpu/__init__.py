"""Labels on a GPU."""
