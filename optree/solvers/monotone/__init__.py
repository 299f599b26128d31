"""Optimal monotone trees; `solver.py` has the idea. The solver depends on the directions of the columns of a table."""
