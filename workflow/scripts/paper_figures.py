"""Draw the figures of a paper from the runs."""

from pathlib import Path

from optree.bench import papers
from optree.bench.figures import plots
from optree.bench.system.cli import reporting
from optree.bench.tables.frame import read

with reporting(snakemake.log[0]):
    runs, fits = read(snakemake.input.records)
    results = papers.Results(Path(snakemake.params.folder), runs, fits)
    for name, make in papers.get(snakemake.params.paper).figures.items():
        figure = make(results)
        for path in snakemake.output:
            if Path(path).stem == f"paper_figure_{name}":
                plots.save(figure, path)
