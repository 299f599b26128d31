"""Write the tables of all searches and of all models, and their summaries."""

from pathlib import Path

from optree.bench.figures.tree_pages import picture_numbers
from optree.bench.system.cli import reporting
from optree.bench.tables import formats, model_summary
from optree.bench.tables.frame import read
from optree.bench.tables.proofs import proofs
from optree.bench.tables.rashomon_sets import rashomon_sets
from optree.bench.tables.summary import summary

with reporting(snakemake.log[0]):
    runs, models = read(snakemake.input[0])
    path, of_models, *others = map(Path, snakemake.output)
    pictures = picture_numbers(runs)
    runs.drop(columns=["tree", "trace"]).assign(picture=pictures).to_csv(path, index=False)
    models.drop(columns=["staged", "trials", "surface", "root_splits", "tree"]).to_csv(of_models, index=False)
    tables = {"summary": summary(runs, pictures), "model_summary": model_summary.summary(models)}
    if runs["proof_verdict"].notna().any():
        tables["proofs"] = proofs(runs)
    if runs["set_bound"].notna().any():
        tables["rashomon_sets"] = rashomon_sets(runs)
    for path in others:
        formats.write(tables[path.stem], path)
