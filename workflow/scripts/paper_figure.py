"""Draw one figure of a paper from the runs."""

from pathlib import Path

from optree.bench import fits, papers, plots
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    paper, inputs = papers.get(snakemake.params.paper), snakemake.input
    more = [fits.frame(load(inputs.fits) if hasattr(inputs, "fits") else [])] if paper.fits else []
    figure = paper.figures[snakemake.wildcards.figure](
        Path(snakemake.params.folder), frame(load(inputs.records)), *more
    )
    for path in snakemake.output:
        plots.save(figure, path)
