"""Fits of estimators to tables: planning, execution, parameter searches, and records."""
