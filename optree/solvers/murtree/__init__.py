"""MurTree (Demirovic et al. 2022) and its predecessor DL8.5: the best tree of limited depth and number of splits."""

SOLVERS = {"dl85": "dl85", "murtree": "solver"}
