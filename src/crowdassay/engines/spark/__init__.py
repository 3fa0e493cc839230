"""Labels in Spark."""
