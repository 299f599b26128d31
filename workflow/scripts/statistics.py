"""Write one table of statistics."""

from optree.bench import duels, formats, statistics
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

TABLES = {"statistics": statistics.statistics, "duels": duels.duels}

with reporting(snakemake.log[0]):
    table = TABLES[snakemake.wildcards.table](frame(load(snakemake.input[0])))
    for path in snakemake.output:
        formats.write(table, path)
