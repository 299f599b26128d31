"""Read the records of all fits; write them to one file, and the table of all fits."""

from optree.bench import fits
from optree.bench.cli import reporting

with reporting(snakemake.log[0]):
    table = fits.frame(fits.collect(snakemake.input, snakemake.output.records))
    table.drop(columns=["staged", "trials", "surface", "tree"]).to_csv(snakemake.output.fits, index=False)
