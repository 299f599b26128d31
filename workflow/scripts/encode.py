"""Encode one dataset."""

from optree.bench.cli import reporting
from optree.bench.encode import encode, specification
from optree.datasets import Dataset

with reporting(snakemake.log[0]):
    spec, repeat = specification(snakemake.params.encoding)
    encode(snakemake.input[0], Dataset(**snakemake.params.row), spec, snakemake.output[0], repeat)
