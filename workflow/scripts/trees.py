"""Draw a tree of each dataset, encoding and algorithm."""

from pathlib import Path

from optree.bench import plots
from optree.bench.cli import reporting
from optree.bench.frame import load

with reporting(snakemake.log[0]):
    chosen = plots.representatives(load(snakemake.input[0]))
    for path in snakemake.output:
        cell = Path(path).with_suffix("").parts[-3:]
        plots.save(plots.tree(chosen[cell]), path)
