"""Read the records of all fits; write them to one file."""

from optree.bench.fits import plan as fits
from optree.bench.system.cli import reporting

with reporting(snakemake.log[0]):
    fits.collect(snakemake.input, snakemake.output[0])
