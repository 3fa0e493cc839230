"""`crowdassay serve`: the HTTP service of a labelling job, and its page."""
