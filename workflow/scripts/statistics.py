"""Write the tables of statistics."""

from pathlib import Path

from optree.bench.system.cli import reporting
from optree.bench.tables import formats, pairwise, statistics
from optree.bench.tables.frame import read

with reporting(snakemake.log[0]):
    runs = read(snakemake.input[0])[0]
    tables = {"statistics": statistics.statistics(runs), "duels": pairwise.pairwise_comparisons(runs)}
    for path in snakemake.output:
        formats.write(tables[Path(path).stem], path)
