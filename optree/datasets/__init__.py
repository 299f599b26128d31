"""Datasets: a table of their sources, and functions to fetch, verify and store them.

``read_table`` reads the table (``config/datasets.csv``); ``fetch`` gets and verifies a dataset; ``save_table`` and
``load_table`` store it.
"""

from optree.datasets.content import Table, load_table, save_table
from optree.datasets.fetch import fetch
from optree.datasets.policy import Policy
from optree.datasets.table import Dataset, read_table

__all__ = ["Dataset", "Policy", "Table", "fetch", "load_table", "read_table", "save_table"]
