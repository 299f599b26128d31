"""Write the table and the figure of all datasets of the run."""

from pathlib import Path

from optree.bench.figures import plots
from optree.bench.report import datasheets
from optree.bench.system.cli import reporting
from optree.bench.tables import formats

with reporting(snakemake.log[0]):
    records = datasheets.read(snakemake.input)
    table, figure = datasheets.table(records), datasheets.figure(records)
    for path in snakemake.output:
        if Path(path).parent.name == "plots":
            plots.save(figure, path)
        else:
            formats.write(table, path)
