"""Pages of a report around the tables and figures: first page, datasets, Snakemake's report, REPRODUCE.md, archive."""
