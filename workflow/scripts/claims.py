"""Put all claims of a paper into one table."""

from pathlib import Path

from optree.bench import papers
from optree.bench.papers import claims
from optree.bench.system.cli import reporting
from optree.bench.tables import formats
from optree.bench.tables.frame import read

with reporting(snakemake.log[0]):
    searches, models = read(snakemake.input.records)
    results = papers.Results(Path(snakemake.params.folder), searches, models)
    table = claims.claims(papers.get(snakemake.params.paper), results)
    for path in snakemake.output:
        formats.write(table, path)
