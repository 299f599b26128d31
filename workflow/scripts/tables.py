"""Write the table of all runs and its summary."""

from pathlib import Path

from optree.bench import formats, record, tables
from optree.bench.cli import reporting
from optree.bench.frame import frame

with reporting(snakemake.log[0]):
    runs = frame(map(record.read, snakemake.input))
    summary = tables.summary(runs)
    runs.to_csv(snakemake.output.runs, index=False)
    for path in snakemake.output:
        if Path(path).stem == "summary":
            formats.write(summary, path)
