"""SPLIT and LicketySPLIT (Babbar, McTavish, Rudin, Seltzer 2025): exact first levels, greedy trees below them."""

SOLVERS = {
    "licketymultisplit": "solvers:LICKETYMULTISPLIT",
    "licketysplit": "solvers:LICKETYSPLIT",
    "multisplit": "solvers:MULTISPLIT",
    "split": "solvers:SPLIT",
}
