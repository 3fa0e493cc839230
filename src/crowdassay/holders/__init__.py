"""Where labels are held: in memory, in files, on a graphics card or in Spark."""
