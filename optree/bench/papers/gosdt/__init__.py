"""The GOSDT paper and its figures."""
