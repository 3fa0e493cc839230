"""Where labels are and how sums over them are computed: in memory, in files, on Spark or on a GPU."""
