"""Draw a tree of each dataset, encoding and algorithm."""

from optree.bench import plots, record
from optree.bench.cli import reporting

with reporting(snakemake.log[0]):
    chosen = plots.representatives(map(record.read, snakemake.input))
    for cell, png, svg in zip(snakemake.params.cells, snakemake.output.png, snakemake.output.svg, strict=True):
        figure = plots.tree(chosen[tuple(cell)])
        plots.save(figure, png)
        plots.save(figure, svg)
