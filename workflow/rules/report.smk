"""All records -> plots. `snakemake --report` puts them and the tables into one page."""


report: "../report/workflow.rst"


FIGURES = {
    "search_seconds": "seconds against lambda",
    "iterations": "iterations against lambda",
    "accuracy": "accuracy against size",
    "anytime": "incumbent and bound over time",
}

if REFERENCE:
    FIGURES |= {"certified": "problems proven over time", "scatter": "seconds against the reference's"}


rule plots:
    input:
        rules.collect.output.records,
    output:
        expand(f"{RESULTS}/plots/{{figure}}.png", figure=FIGURES),
        [
            report(
                f"{RESULTS}/plots/{figure}.svg",
                category="Plots",
                caption=f"../report/{figure}.rst",
                labels={"figure": title},
            )
            for figure, title in FIGURES.items()
        ],
    log:
        f"{RESULTS}/logs/plots.log",
    localrule: True
    params:
        reference=REFERENCE,
        code=READERS,
    message:
        "plots"
    script:
        "../scripts/plots.py"


rule trees:
    input:
        rules.collect.output.records,
    output:
        png=[f"{RESULTS}/plots/trees/{'/'.join(cell)}.png" for cell in CELLS],
        svg=[
            report(
                f"{RESULTS}/plots/trees/{'/'.join(cell)}.svg",
                category="Trees",
                subcategory=cell[0],
                caption="../report/tree.rst",
                labels={"encoding": cell[1], "algorithm": cell[2]},
            )
            for cell in CELLS
        ],
    log:
        f"{RESULTS}/logs/trees.log",
    localrule: True
    params:
        code=READERS,
    message:
        "trees"
    script:
        "../scripts/trees.py"


rule paper_figure:
    input:
        records=rules.collect.output.records,
        printed=PRINTED,
        forests=FOREST_TABLES,
        fits=FIT_TABLE,
    output:
        f"{RESULTS}/plots/paper_figure_{{figure}}.png",
        report(
            f"{RESULTS}/plots/paper_figure_{{figure}}.svg",
            category="Paper against measured",
            caption="../report/paper_figure.rst",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{RESULTS}/logs/paper_figure_{{figure}}.log",
    wildcard_constraints:
        figure=one_of(PAPER_FIGURES),
    localrule: True
    params:
        **PAPER_OF,
    message:
        "figure {wildcards.figure} of {params.paper}"
    script:
        "../scripts/paper_figure.py"


rule datasets:
    input:
        expand(rules.data.output.record, dataset=DATASETS),
    output:
        multiext(f"{RESULTS}/tables/datasets", ".csv", ".md", ".tex"),
        report(
            f"{RESULTS}/tables/datasets.html",
            category="Data",
            caption="../report/datasets.rst",
            labels={"data": "table of all datasets"},
        ),
        f"{RESULTS}/plots/datasets.png",
        report(
            f"{RESULTS}/plots/datasets.svg",
            category="Data",
            caption="../report/datasets.rst",
            labels={"data": "classes, columns and rows"},
        ),
    log:
        f"{RESULTS}/logs/datasets.log",
    localrule: True
    params:
        code=READERS,
    message:
        "summary of the datasets"
    script:
        "../scripts/datasets.py"
