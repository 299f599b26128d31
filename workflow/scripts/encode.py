"""Encode one dataset."""

from optree.bench.cli import reporting
from optree.bench.encode import encode
from optree.datasets import Dataset
from optree.encoding import EncodingSpec

with reporting(snakemake.log[0]):
    encode(
        snakemake.input[0],
        Dataset(**snakemake.params.row),
        EncodingSpec(**snakemake.params.encoding),
        snakemake.output[0],
    )
