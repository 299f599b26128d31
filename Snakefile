"""The workflow: data -> encode -> solve -> aggregate -> report. Start with `snakemake --cores all`."""

from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/encode.smk"
include: "workflow/rules/solve.smk"
include: "workflow/rules/forest.smk"
include: "workflow/rules/aggregate.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        RECORDS,  # named, or a record that went missing would not be missed while the tables are there
        rules.collect.output,
        rules.collect_fits.output if FITS else [],
        rules.tables.output,
        rules.datasets.output,
        expand(rules.comparison.output, table=COMPARISONS),
        expand(rules.paper_table.output, table=PAPER_TABLES),
        expand(rules.paper_figure.output, figure=PAPER_FIGURES),
        rules.plots.output,
        rules.trees.output,
