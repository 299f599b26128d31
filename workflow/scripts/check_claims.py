"""Fail if a required claim does not pass."""

import pandas as pd

from optree.bench.papers import claims
from optree.bench.system.cli import reporting

with reporting(snakemake.log[0]):
    table = pd.read_csv(snakemake.input[0], dtype=str, keep_default_na=False)
    print(claims.answer(table, snakemake.params.tables))
    claims.check(table, snakemake.params.tables, snakemake.input[0])
