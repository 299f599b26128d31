"""Encode one dataset."""

from optree.bench.runs.encode import encode, parse_encoding
from optree.bench.system.cli import reporting
from optree.datasets import Dataset

with reporting(snakemake.log[0]):
    spec, repeat = parse_encoding(snakemake.params.encoding)
    encode(snakemake.input[0], Dataset(**snakemake.params.row), spec, snakemake.output[0], repeat)
