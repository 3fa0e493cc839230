"""Language models as judges with a few people: the real rate of each class, and which judges may be trusted."""
