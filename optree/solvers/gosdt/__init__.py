"""GOSDT (Lin, Zhong, Hu, Rudin, Seltzer 2020): best-first search over a dependency graph of supports."""

SOLVERS = {"gosdt": "solver"}
