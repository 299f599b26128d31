"""Draw one figure of a paper from the runs."""

from pathlib import Path

from optree.bench import fits, papers, plots
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    make = papers.get(snakemake.params.paper).figures[snakemake.wildcards.figure]
    more = fits.read(snakemake.input.fits)
    runs = frame(load(snakemake.input.records))
    figure = make(Path(snakemake.params.folder), runs, **more)
    for path in snakemake.output:
        plots.save(figure, path)
