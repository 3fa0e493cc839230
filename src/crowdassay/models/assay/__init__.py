"""The default method: its constants, learned from real datasets, and the law by which labels on one item repeat each other."""
