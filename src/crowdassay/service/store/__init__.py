"""Where a labelling job lives: labels, items, truths, decisions, fits and tokens, in SQLite or PostgreSQL."""
