"""Compare the runs with one table of a paper."""

from pathlib import Path

from optree.bench import fits, formats, papers
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    paper, inputs = papers.get(snakemake.params.paper), snakemake.input
    more = [fits.frame(load(inputs.fits) if hasattr(inputs, "fits") else [])] if paper.fits else []
    comparison = paper.tables[snakemake.wildcards.table](
        Path(snakemake.params.folder), frame(load(inputs.records)), *more
    )
    for path in snakemake.output:
        formats.write(comparison, path)
