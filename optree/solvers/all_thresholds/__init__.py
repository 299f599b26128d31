"""Trees over all thresholds of numeric columns, by bounds on intervals of thresholds: of limited depth, or sparse."""

SOLVERS = {"allthresholds": "solver", "sparsethresholds": "solver:SPARSE"}
