"""The static site of results: pages of papers, datasets and solvers, and a table of all records.

``python -m optree.bench.site`` reads the records of finished configurations, and runs no job.
"""
