"""Multiway SPLIT, research in progress that was shown on slides."""
