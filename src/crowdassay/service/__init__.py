"""A labelling job that lives: a store of labels, and an HTTP service with a page over it."""
