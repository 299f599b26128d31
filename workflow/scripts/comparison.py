"""Write one table that compares all algorithms with the reference."""

from optree.bench import certificates, comparison, formats
from optree.bench.ablation import ablation
from optree.bench.cli import reporting
from optree.bench.frame import frame, load
from optree.bench.problems import problems

TABLES = {
    "problems": problems,
    "algorithms": comparison.versus,
    "wrong_certificates": lambda runs, reference: certificates.table(runs),
    "ablation": ablation,
}

with reporting(snakemake.log[0]):
    runs = frame(load(snakemake.input[0]))
    table = TABLES[snakemake.wildcards.table](runs, snakemake.params.reference)
    for path in snakemake.output:
        formats.write(table, path)
