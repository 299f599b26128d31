"""Tables of results: the data frame of all run records, statistics and comparisons of it, and writers of tables."""
