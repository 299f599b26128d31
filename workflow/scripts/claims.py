"""Put all claims of a paper into one table."""

from pathlib import Path

from optree.bench import fits, formats, papers
from optree.bench.cli import reporting
from optree.bench.frame import frame, load
from optree.bench.papers import claims

with reporting(snakemake.log[0]):
    more = fits.read(snakemake.input.fits)
    runs = frame(load(snakemake.input.records))
    table = claims.claims(papers.get(snakemake.params.paper), Path(snakemake.params.folder), runs, **more)
    for path in snakemake.output:
        formats.write(table, path)
