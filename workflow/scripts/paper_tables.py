"""Compare the runs with the tables of a paper."""

from pathlib import Path

from optree.bench import papers
from optree.bench.figures import tree_pages
from optree.bench.system.cli import reporting
from optree.bench.tables import formats
from optree.bench.tables.frame import read

with reporting(snakemake.log[0]):
    searches, models = read(snakemake.input.records)
    results = papers.Results(Path(snakemake.params.folder), searches, models)
    for name, make in papers.get(snakemake.params.paper).tables.items():
        table = tree_pages.with_links(make(results), searches)
        for path in snakemake.output:
            if Path(path).stem == f"paper_table_{name}":
                formats.write(table, path)
