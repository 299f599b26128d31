"""Read all records; write them to one file."""

from optree.bench.system.cli import reporting
from optree.bench.tables.frame import collect

with reporting(snakemake.log[0]):
    collect(snakemake.input.records, snakemake.output[0], snakemake.input.proofs)
