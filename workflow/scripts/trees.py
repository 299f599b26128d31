"""Write a page of the optimal trees of each dataset."""

from pathlib import Path

from optree.bench.figures import tree_pages
from optree.bench.system.cli import reporting
from optree.bench.tables.frame import read
from optree.files import write_whole

with reporting(snakemake.log[0]):
    searches, models = read(snakemake.input.records)
    for path in map(Path, snakemake.output):
        write_whole(path, tree_pages.page(searches, path.stem, models).encode())
