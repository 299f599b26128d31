"""Draw the figures that are about all runs."""

from pathlib import Path

from optree.bench import plots, record
from optree.bench.cli import reporting
from optree.bench.frame import frame

with reporting(snakemake.log[0]):
    records = [record.read(path) for path in snakemake.input]
    runs = frame(records)
    figures = {quantity: plots.against_lambda(runs, quantity) for quantity in plots.QUANTITIES}
    figures |= {"accuracy": plots.accuracy(runs), "anytime": plots.anytime(records)}
    for path in snakemake.output:
        plots.save(figures[Path(path).stem], path)
