"""Where the labels are: engines turn worker parameters into sums."""
