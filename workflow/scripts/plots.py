"""Draw the figures of all runs; list the figures without data."""

from functools import partial

from optree.bench.figures import critical_difference, plots, profiles
from optree.bench.system.cli import reporting
from optree.bench.tables.frame import read

with reporting(snakemake.log[0]):
    runs, reference = read(snakemake.input[0])[0], snakemake.params.reference
    figures = {quantity: partial(plots.against_lambda, runs, quantity) for quantity in plots.QUANTITIES} | {
        "accuracy": partial(plots.accuracy, runs),
        "anytime": partial(plots.anytime, runs),
        "certified": partial(profiles.certified, runs, reference),
        "profile": partial(profiles.profile, runs),
        "ranks": partial(critical_difference.figure, runs),
    }
    if reference:
        figures["scatter"] = partial(profiles.scatter, runs, reference)
    plots.draw_all(figures, snakemake.params.titles, *snakemake.output)
