"""Public datasets: what there is, how to fetch it, and how to load it."""
