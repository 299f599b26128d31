"""Write the first page of the report."""

from pathlib import Path

import pandas as pd

from optree.bench import papers
from optree.bench.report.first_page import Command, first_page, missing, not_drawn
from optree.bench.system.cli import reporting
from optree.bench.tables.frame import read
from optree.files import write_whole

with reporting(snakemake.log[0]):
    paper, path = snakemake.params.paper, snakemake.input.claims
    claims = pd.read_csv(path, dtype=str, keep_default_na=False) if path else None
    title = papers.get(paper).title if paper else ""
    params = snakemake.params
    runs, models = read(snakemake.input.records)
    command = Command(params.command, params.results, params.cells)
    text = first_page(runs, models, command, title, claims, params.required)
    if params.missing:
        text = f"{missing(params.missing)}\n{text}"
    reasons = [line for path in snakemake.input.not_drawn for line in Path(path).read_text().splitlines()]
    text += not_drawn(reasons) if reasons else ""
    write_whole(snakemake.output[0], text.encode())
