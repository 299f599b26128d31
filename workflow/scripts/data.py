"""Fetch and verify one dataset."""

from optree.bench.cli import reporting
from optree.datasets import Dataset, fetch, save_table

with reporting(snakemake.log[0]):
    save_table(fetch(Dataset(**snakemake.params.row), snakemake.params.mirror), snakemake.output[0])
