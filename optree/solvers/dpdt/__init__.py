"""DPDT (Kohler, Akrour, Preux 2025): dynamic programming over the splits that CART proposes."""

SOLVERS = {"dpdt": "solver"}
