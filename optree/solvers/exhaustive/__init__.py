"""Dynamic programming over all supports, without bounds: the oracle of the tests."""

SOLVERS = {"exhaustive": "solver"}
