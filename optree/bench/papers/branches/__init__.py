"""The BRANCHES paper, and the upper bounds of its Table 1."""
