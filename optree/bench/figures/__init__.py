"""Figures of results: small multiples, performance profiles, critical differences, and pages of trees."""
