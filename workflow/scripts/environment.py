"""Make the environment of one peer."""

from optree.bench.peers.declaration import read_peer
from optree.bench.peers.install import install
from optree.bench.system.cli import reporting

with reporting(snakemake.log[0]):
    install(read_peer(snakemake.params.peer), snakemake.output[0])
