"""Proofs that a tree is optimal, for the independent program ``optree-verify``."""
