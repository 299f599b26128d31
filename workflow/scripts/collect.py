"""Read all records; write them to one file, and the table of all runs."""

from optree.bench.cli import reporting
from optree.bench.frame import collect, frame

with reporting(snakemake.log[0]):
    runs = frame(collect(snakemake.input, snakemake.output.records))
    runs.drop(columns="tree").to_csv(snakemake.output.runs, index=False)
