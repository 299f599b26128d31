"""Plots from all records. `snakemake --report` puts them and the tables into one page."""

from optree.bench.report import snakemake_pages


report: "../report/workflow.rst"


if (page := snakemake_pages.requested()) and workflow.is_main_process:
    driver.at_exit(snakemake_pages.complete, page, HOME / "workflow/report", f"optree: {config['name']}", START)

# The command that made the results, without the directory of raw files.
FILES = [min(os.path.relpath(path), str(path), key=len) for path in workflow.overwrite_configfiles]
VALUES = [f"level={LEVEL}"] * bool(LEVEL) + ["data_mirror=DIR"] * bool(config.get("data_mirror"))
COMMAND = " ".join(
    ["snakemake --cores all", *(f"--configfile {path}" for path in FILES), *["--config"] * bool(VALUES), *VALUES]
)


FIGURES = {
    "search_seconds": "seconds against lambda",
    "iterations": "iterations against lambda",
    "accuracy": "accuracy against size",
    "anytime": "incumbent and bound over time",
    "certified": "problems proven over time",
    "profile": "performance profiles",
    "ranks": "mean ranks and critical differences",
}

if not SEARCHES:
    FIGURES = {}
elif REFERENCE:
    FIGURES |= {"scatter": "seconds against the reference's"}


rule plots:
    input:
        LINES,
    output:
        figures=report(
            directory(f"{RESULTS}/plots/figures"),
            patterns=["{figure}.svg"],
            category="Plots",
            caption="../report/figures.rst",
            labels=lambda wildcards: {"figure": FIGURES[wildcards.figure]},
        ),
        not_drawn=f"{RESULTS}/tables/figures_not_drawn.txt",
    log:
        f"{RESULTS}/logs/plots.log",
    localrule: True
    params:
        reference=REFERENCE,
        titles=FIGURES,
        code=READERS,
    message:
        "figures of all runs"
    script:
        "../scripts/plots.py"


rule trees:
    # A page per dataset, because thousands of runs prove far fewer different trees.
    input:
        records=LINES,
    output:
        [
            report(
                f"{RESULTS}/plots/trees/{dataset}.html",
                category="Trees",
                caption="../report/trees.rst",
                labels={"dataset": dataset},
            )
            for dataset in PICTURED
        ],
    log:
        f"{RESULTS}/logs/trees.log",
    localrule: True
    params:
        code=READERS,
    message:
        "pages of trees"
    script:
        "../scripts/trees.py"


rule paper_figures:
    input:
        records=LINES,
        printed=PRINTED,
    output:
        figures=report(
            directory(f"{RESULTS}/plots/paper_figures"),
            patterns=["{figure}.svg"],
            category="Paper against measured",
            caption="../report/paper_figure.rst",
            labels={"of the paper": "figure {figure}"},
        ),
        not_drawn=f"{RESULTS}/tables/paper_figures_not_drawn.txt",
    log:
        f"{RESULTS}/logs/paper_figures.log",
    localrule: True
    params:
        **PAPER_OF,
    message:
        "figures of {params.paper}"
    script:
        "../scripts/paper_figures.py"


DRAWN = [rules.plots] * bool(FIGURES) + [rules.paper_figures] * bool(PAPER_FIGURES)


rule first_page:
    input:
        records=LINES,
        claims=rules.claims.output[0] if PAPER else [],
        not_drawn=[rule.output.not_drawn for rule in DRAWN],
    output:
        f"{RESULTS}/tables/findings.rst",
    log:
        f"{RESULTS}/logs/first_page.log",
    localrule: True
    params:
        paper=config.get("paper"),
        required=papers.required(config),
        command=COMMAND,
        missing=MISSING,
        results=lambda wildcards: GIVEN or RESULTS,
        cells=str(STORE),
        code=READERS,
    message:
        "the first page of the report"
    script:
        "../scripts/first_page.py"


if not GIVEN:

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
