"""Read the records of all fits; write them to one file."""

from optree.bench.fits.frame import collect_fits
from optree.bench.system.cli import reporting

with reporting(snakemake.log[0]):
    collect_fits(snakemake.input, snakemake.output[0])
