"""Compare the runs with the tables of a paper."""

from pathlib import Path

from optree.bench import fits, formats, papers, trees
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    more, runs = fits.read(snakemake.input.fits), frame(load(snakemake.input.records))
    for name, make in papers.get(snakemake.params.paper).tables.items():
        table = trees.linked(make(Path(snakemake.params.folder), runs, **more), runs)
        for path in snakemake.output:
            if Path(path).stem == f"paper_table_{name}":
                formats.write(table, path)
