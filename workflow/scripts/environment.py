"""Make the environment of one peer."""

from optree.bench.peers.declaration import read
from optree.bench.peers.install import install
from optree.bench.system.cli import reporting

with reporting(snakemake.log[0]):
    install(read(snakemake.params.peer), snakemake.output[0])
