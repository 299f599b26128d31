"""Make one table or one figure of a paper from the runs, and from random forests where there are some."""

from pathlib import Path

from optree.bench import forests, formats, papers, plots
from optree.bench.cli import reporting
from optree.bench.frame import frame, load

with reporting(snakemake.log[0]):
    paper, kind = papers.get(snakemake.params.paper), snakemake.params.kind
    make = getattr(paper, kind)[snakemake.wildcards.name]
    runs, more = frame(load(snakemake.input.records)), forests.read(snakemake.input.forests)
    made = make(Path(snakemake.params.folder), runs, **more)
    for path in snakemake.output:
        {"tables": formats.write, "figures": plots.save}[kind](made, path)
