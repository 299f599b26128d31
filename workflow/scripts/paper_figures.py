"""Draw the figures of a paper from the runs; list the figures without data."""

from functools import partial
from pathlib import Path

from optree.bench import papers
from optree.bench.figures import plots
from optree.bench.system.cli import reporting
from optree.bench.tables.frame import read

with reporting(snakemake.log[0]):
    searches, models = read(snakemake.input.records)
    results = papers.Results(Path(snakemake.params.folder), searches, models)
    makers = papers.get(snakemake.params.paper).figures
    figures = {name: partial(make, results) for name, make in makers.items()}
    titles = {name: f"figure {name} of the paper" for name in figures}
    plots.draw_all(figures, titles, *snakemake.output)
