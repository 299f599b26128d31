"""Compare the runs with the tables of a paper."""

from pathlib import Path

from optree.bench import papers
from optree.bench.figures.tree_pages import linked
from optree.bench.fits.frame import read_fits
from optree.bench.system.cli import reporting
from optree.bench.tables import formats
from optree.bench.tables.frame import frame, load

with reporting(snakemake.log[0]):
    more, runs = read_fits(snakemake.input.fits), frame(load(snakemake.input.records))
    for name, make in papers.get(snakemake.params.paper).tables.items():
        table = linked(make(Path(snakemake.params.folder), runs, **more), runs)
        for path in snakemake.output:
            if Path(path).stem == f"paper_table_{name}":
                formats.write(table, path)
