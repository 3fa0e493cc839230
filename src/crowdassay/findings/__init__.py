"""What a fit says about workers, items and itself: accuracies, verdicts, agreement, scores."""
