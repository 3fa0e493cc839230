"""What a result says about its workers and items, and how far that can be trusted."""
