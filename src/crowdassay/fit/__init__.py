"""One way from labels to results, wherever the labels are."""
