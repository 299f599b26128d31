"""The workflow: data, encode, solve, collect, tables, report. Start it with `snakemake --cores all`."""

from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"


if not GIVEN:

    include: "workflow/rules/data.smk"
    include: "workflow/rules/encode.smk"
    include: "workflow/rules/solve.smk"
    include: "workflow/rules/collect.smk"


include: "workflow/rules/aggregate.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        RECORDS,  # listed, so that a missing file of a job is made again even if the tables are there
        LINES,
        rules.tables.output,
        rules.statistics.output,
        [] if GIVEN else rules.datasets.output,
        expand(rules.comparison.output, table=COMPARISONS),
        [rules.claims.output, rules.check_claims.output] if PAPER else [],
        rules.paper_tables.output if PAPER_TABLES else [],
        rules.first_page.output,
        [rule.output for rule in DRAWN],
        rules.trees.output,
