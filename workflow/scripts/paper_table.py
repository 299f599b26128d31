"""Compare the runs with one table of a paper."""

from pathlib import Path

from optree.bench import formats, papers
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    runs = frame(load(snakemake.input.records))
    comparison = papers.compare(snakemake.wildcards.table, Path(snakemake.input.printed[0]).parent, runs)
    for path in snakemake.output:
        formats.write(comparison, path)
