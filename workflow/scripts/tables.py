"""Write the table of all runs, and their summary."""

from optree.bench.figures import tree_pages as trees
from optree.bench.system.cli import reporting
from optree.bench.tables import formats
from optree.bench.tables import summary as tables
from optree.bench.tables.frame import frame, load

with reporting(snakemake.log[0]):
    runs = frame(load(snakemake.input[0]))
    path, *others = snakemake.output
    pictures = trees.numbered(runs)
    runs.drop(columns=["tree", "trace"]).assign(picture=pictures).to_csv(path, index=False)
    summary = tables.summary(runs, pictures)
    for path in others:
        formats.write(summary, path)
