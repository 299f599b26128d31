"""BRANCHES (Chaouki, Read, Bifet 2024): best-first AND/OR search with purification bounds."""

SOLVERS = {"branches": "solver"}
