"""Write a page of the optimal trees of each dataset."""

from pathlib import Path

from optree.bench import trees
from optree.bench.cli import reporting
from optree.bench.frame import frame, load
from optree.files import write_whole

with reporting(snakemake.log[0]):
    runs = frame(load(snakemake.input[0]))
    for path in map(Path, snakemake.output):
        write_whole(path, trees.page(runs, path.stem).encode())
