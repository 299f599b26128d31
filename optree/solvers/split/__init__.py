"""SPLIT and LicketySPLIT (Babbar, McTavish, Rudin, Seltzer 2025): exact first levels, greedy trees below them."""

SOLVERS = {
    "licketymultisplit": "family:LICKETYMULTISPLIT",
    "licketysplit": "family:LICKETYSPLIT",
    "multisplit": "family:MULTISPLIT",
    "split": "family:SPLIT",
}
