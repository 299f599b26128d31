"""Runs of solvers on encoded problems: planning, grouping into jobs, execution under limits, and records."""
