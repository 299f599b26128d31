"""OSDT (Hu, Rudin, Seltzer 2019) and PyGOSDT (Lin et al. 2020): branch and bound over trees as sets of leaves."""

SOLVERS = {"osdt": "search:OSDT", "pygosdt": "search:PYGOSDT"}
