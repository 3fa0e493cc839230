"""What annotation tools export: one file per tool, one table of them all, one common record."""
