"""Write the summary of all runs."""

from optree.bench import formats, tables
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    summary = tables.summary(frame(load(snakemake.input[0])))
    for path in snakemake.output:
        formats.write(summary, path)
