"""ShapeCART (Upadhya, Cohen 2025): greedy trees whose children are unions of intervals of a feature."""

SOLVERS = {"shapecart": "solver"}
