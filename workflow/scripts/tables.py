"""Write the table of all runs, and their summary."""

from optree.bench import formats, tables
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    runs = frame(load(snakemake.input[0]))
    path, *others = snakemake.output
    runs.drop(columns=["tree", "trace"]).to_csv(path, index=False)
    summary = tables.summary(runs)
    for path in others:
        formats.write(summary, path)
