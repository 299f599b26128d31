"""The DPDT paper, "Breiman meets Bellman", and its figures."""
