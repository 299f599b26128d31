"""The project's own search for MurTree's problem: depth first, with counts of pairs of columns."""
