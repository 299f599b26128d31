"""Compare the runs with one table of a paper."""

from pathlib import Path

from optree.bench import fits, formats, papers
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    make = papers.get(snakemake.params.paper).tables[snakemake.wildcards.table]
    more = fits.read(snakemake.input.fits)
    runs = frame(load(snakemake.input.records))
    comparison = make(Path(snakemake.params.folder), runs, **more)
    for path in snakemake.output:
        formats.write(comparison, path)
