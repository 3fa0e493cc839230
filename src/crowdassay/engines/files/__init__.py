"""Labels in a spool on disk."""
