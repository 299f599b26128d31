"""Datasets: a table of where each comes from, one way to fetch them, and checks that it is the right one.

``read_table`` reads the table (``config/datasets.csv``), ``fetch`` gets one of its rows from a generator, a mirror
directory, OpenML or an address and verifies it; ``save_table`` and ``load_table`` keep it in a file.
``python -m optree.datasets mirror DIR`` fills a mirror.
"""

from optree.datasets.content import Table, load_table, save_table
from optree.datasets.fetch import fetch
from optree.datasets.policy import Policy
from optree.datasets.table import Dataset, read_table

__all__ = ["Dataset", "Policy", "Table", "fetch", "load_table", "read_table", "save_table"]
