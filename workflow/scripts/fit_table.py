"""Write the table of all fits."""

from optree.bench.fits.frame import read_fits
from optree.bench.system.cli import reporting

with reporting(snakemake.log[0]):
    table = read_fits(snakemake.input)["fits"]
    table.drop(columns=["staged", "trials", "surface", "tree"]).to_csv(snakemake.output[0], index=False)
