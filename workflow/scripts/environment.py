"""Make the environment of one peer."""

from optree.bench.cli import reporting
from optree.bench.install import install
from optree.bench.peers import read

with reporting(snakemake.log[0]):
    install(read(snakemake.params.peer), snakemake.output[0])
