"""Draw the figures that are about all runs."""

from pathlib import Path

from optree.bench import plots, races, ranks
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    records = load(snakemake.input[0])
    runs = frame(records)
    figures = {quantity: plots.against_lambda(runs, quantity) for quantity in plots.QUANTITIES}
    figures |= {"accuracy": plots.accuracy(runs), "anytime": plots.anytime(records)}
    reference = snakemake.params.reference
    figures |= {
        "certified": races.certified(runs, reference),
        "profile": races.profile(runs),
        "ranks": ranks.figure(runs),
    }
    if reference:
        figures |= {"scatter": races.scatter(runs, reference)}
    for path in snakemake.output:
        plots.save(figures[Path(path).stem], path)
