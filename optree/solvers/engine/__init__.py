"""The project's own engine, the solver ``optree``: exact search over supports, with bounds from pairs of features."""

SOLVERS = {"optree": "solver"}
