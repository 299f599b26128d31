"""CART: scikit-learn's greedy tree, pruned for the same objective. The baseline."""

SOLVERS = {"cart": "solver"}
