"""Write one table that compares all algorithms with the reference."""

from optree.bench.system.cli import reporting
from optree.bench.tables import certificates, comparison, formats
from optree.bench.tables.ablation import ablation
from optree.bench.tables.by_problem import problems
from optree.bench.tables.frame import read

TABLES = {
    "problems": problems,
    "algorithms": comparison.against_reference,
    "wrong_certificates": lambda runs, reference: certificates.wrong_certificates(runs),
    "ablation": ablation,
}

with reporting(snakemake.log[0]):
    runs = read(snakemake.input[0])[0]
    table = TABLES[snakemake.wildcards.table](runs, snakemake.params.reference)
    for path in snakemake.output:
        formats.write(table, path)
