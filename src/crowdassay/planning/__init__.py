"""What to label next, by whom, when to stop, and how much to order before anything is labelled."""
