"""Compare the records with one table of a paper."""

from optree.bench import formats, papers, record
from optree.bench.cli import reporting
from optree.bench.frame import frame

with reporting(snakemake.log[0]):
    records = [path for path in snakemake.input if path not in snakemake.input.printed]
    comparison = papers.compare(snakemake.wildcards.table, snakemake.params.folder, frame(map(record.read, records)))
    for path in snakemake.output:
        formats.write(comparison, path)
