"""The default method's pool: what real crowds have taught, and how an item's labels are weighed by it."""
