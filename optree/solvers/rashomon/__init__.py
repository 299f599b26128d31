"""Rashomon sets: all trees whose cost is within a bound, counted exactly on a graph."""

SOLVERS = {"rashomon": "solver"}
