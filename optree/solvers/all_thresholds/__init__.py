"""Trees of limited depth over all thresholds of numeric columns, by bounds on intervals of thresholds."""

SOLVERS = {"allthresholds": "solver"}
