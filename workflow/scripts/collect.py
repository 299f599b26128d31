"""Read all records; write them to one file."""

from optree.bench.system.cli import reporting
from optree.bench.tables.frame import collect

with reporting(snakemake.log[0]):
    collect(snakemake.input, snakemake.output[0])
