"""Tables of results: the data frame of all run records, its statistics and comparisons, and writers of tables.

Everywhere, ``runs`` is the data frame from :func:`optree.bench.tables.frame.frame`, and ``reference`` is the algorithm
that the others are compared with.
"""
