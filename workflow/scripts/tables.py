"""Write the table of all runs, and their summary."""

from optree.bench.figures.tree_pages import picture_numbers
from optree.bench.system.cli import reporting
from optree.bench.tables import formats
from optree.bench.tables.frame import frame, load
from optree.bench.tables.summary import summary

with reporting(snakemake.log[0]):
    runs = frame(load(snakemake.input[0]))
    path, *others = snakemake.output
    pictures = picture_numbers(runs)
    runs.drop(columns=["tree", "trace"]).assign(picture=pictures).to_csv(path, index=False)
    table = summary(runs, pictures)
    for path in others:
        formats.write(table, path)
