"""Draw the figures of all runs."""

from pathlib import Path

from optree.bench.figures import critical_difference, plots, profiles
from optree.bench.system.cli import reporting
from optree.bench.tables.frame import read

with reporting(snakemake.log[0]):
    runs, reference = read(snakemake.input[0])[0], snakemake.params.reference
    figures = {quantity: plots.against_lambda(runs, quantity) for quantity in plots.QUANTITIES} | {
        "accuracy": plots.accuracy(runs),
        "anytime": plots.anytime(runs),
        "certified": profiles.certified(runs, reference),
        "profile": profiles.profile(runs),
        "ranks": critical_difference.figure(runs),
    }
    if reference:
        figures["scatter"] = profiles.scatter(runs, reference)
    for path in snakemake.output:
        plots.save(figures[Path(path).stem], path)
