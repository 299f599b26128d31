"""SPLIT and LicketySPLIT (Babbar, McTavish, Rudin, Seltzer 2025): exact first levels, greedy trees below them."""

SOLVERS = {
    "licketymultisplit": "licketymultisplit",
    "licketysplit": "licketysplit",
    "multisplit": "multisplit",
    "split": "split",
}
