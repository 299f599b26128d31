"""Write a page of the optimal trees of each dataset."""

from pathlib import Path

from optree.bench.figures import tree_pages as trees
from optree.bench.fits import plan as fits
from optree.bench.system.cli import reporting
from optree.bench.tables.frame import frame, load
from optree.files import write_whole

with reporting(snakemake.log[0]):
    runs, more = frame(load(snakemake.input.records)), fits.read(snakemake.input.fits)
    for path in map(Path, snakemake.output):
        write_whole(path, trees.page(runs, path.stem, **more).encode())
