"""Peers, other people's solvers: declarations, environments of their own, and runs of them under limits."""
