"""Labels in memory."""
