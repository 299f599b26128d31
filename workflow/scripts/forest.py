"""Train and test random forests on one dataset."""

from optree.bench import forests
from optree.bench.cli import reporting
from optree.problem import Problem

with reporting(snakemake.log[0]):
    problem, _ = Problem.load(snakemake.input[0])
    table = forests.measure(problem, snakemake.params.splits, snakemake.params.test_size)
    forests.write(table.assign(**dict(snakemake.wildcards.items())), snakemake.output[0])
