"""Tables from all records: all runs, the summary, the statistics, and the comparison with a paper."""

from optree.bench import papers

# The paper of the configuration, if there is one, its printed numbers, and its tables and figures.
PAPER = papers.get(config["paper"]) if config.get("paper") else None
PAPER_TABLES, PAPER_FIGURES = (list(PAPER.tables), list(PAPER.figures)) if PAPER else ([], [])
PAPER_OF = {"paper": config.get("paper"), "folder": f"{HOME}/resources/papers/{config.get('paper')}", "code": READERS}
PRINTED = sorted(map(str, Path(PAPER_OF["folder"]).glob("*.csv")))
STATISTICS = {"statistics": "statistics of each algorithm", "duels": "pairwise comparisons"} if SEARCHES else {}
# Tables of a comparison; an ablation needs the reference's solver with other parameters.
COMPARISONS = ["problems", "algorithms", "wrong_certificates"] if REFERENCE else []
SOLVER_OF = {
    name: config.get("algorithms", {}).get(name, {}).get("solver", name)
    for name in dict.fromkeys(name for entry in EXPERIMENTS for name in entry["algorithms"])
}
if REFERENCE and list(SOLVER_OF.values()).count(SOLVER_OF[REFERENCE]) > 1:
    COMPARISONS.append("ablation")


# Summaries of searches and of models, of which there may be none.
SUMMARIES = {"summary": "summary of all searches"} if SEARCHES else {}
SUMMARIES |= {"proofs": "proofs, checked by an independent program"} if PROOFS else {}
SUMMARIES |= {"rashomon_sets": "numbers of trees of Rashomon sets"} if COUNTS_TREES else {}
SUMMARIES |= {"model_summary": "summary of all models"} if MODELS else {}


rule tables:
    input:
        LINES,
    output:
        f"{RESULTS}/tables/runs.csv",
        f"{RESULTS}/tables/models.csv",
        [multiext(f"{RESULTS}/tables/{table}", ".csv", ".md", ".tex") for table in SUMMARIES],
        [
            report(
                f"{RESULTS}/tables/{table}.html",
                category="Results",
                caption=f"../report/{table}.rst",
                labels={"table": title},
            )
            for table, title in SUMMARIES.items()
        ],
    log:
        f"{RESULTS}/logs/tables.log",
    localrule: True
    params:
        code=READERS,
    message:
        "all runs and their summaries"
    script:
        "../scripts/tables.py"


rule statistics:
    # One process for both tables, because its start takes longer than the tables.
    input:
        LINES,
    output:
        [multiext(f"{RESULTS}/tables/{table}", ".csv", ".md", ".tex") for table in STATISTICS],
        [
            report(
                f"{RESULTS}/tables/{table}.html",
                category="Results",
                caption="../report/statistics.rst",
                labels={"table": title},
            )
            for table, title in STATISTICS.items()
        ],
    log:
        f"{RESULTS}/logs/statistics.log",
    localrule: True
    params:
        code=READERS,
    message:
        "statistics and pairwise comparisons"
    script:
        "../scripts/statistics.py"


rule comparison:
    input:
        LINES,
    output:
        multiext(f"{RESULTS}/tables/{{table}}", ".csv", ".md", ".tex"),
        report(
            f"{RESULTS}/tables/{{table}}.html",
            category="Comparison",
            caption="../report/comparison.rst",
            labels={"table": "{table}"},
        ),
    log:
        f"{RESULTS}/logs/{{table}}.log",
    wildcard_constraints:
        table=one_of(COMPARISONS),
    localrule: True
    params:
        reference=REFERENCE,
        code=READERS,
    message:
        "comparison with {params.reference}: {wildcards.table}"
    script:
        "../scripts/comparison.py"


rule paper_tables:
    input:
        records=LINES,
        printed=PRINTED,
    output:
        [multiext(f"{RESULTS}/tables/paper_table_{table}", ".csv", ".md", ".tex") for table in PAPER_TABLES],
        [
            report(
                f"{RESULTS}/tables/paper_table_{table}.html",
                category="Paper against measured",
                caption="../report/paper_table.rst",
                labels={"of the paper": f"table {table}"},
            )
            for table in PAPER_TABLES
        ],
    log:
        f"{RESULTS}/logs/paper_tables.log",
    localrule: True
    params:
        **PAPER_OF,
    message:
        "tables of {params.paper}"
    script:
        "../scripts/paper_tables.py"


rule claims:
    # The check of the claims is a rule of its own, because a failing job would lose this table.
    input:
        records=LINES,
        printed=PRINTED,
    output:
        multiext(f"{RESULTS}/tables/claims", ".csv", ".md", ".tex"),
        report(
            f"{RESULTS}/tables/claims.html",
            category="Claims",
            caption="../report/claims.rst",
            labels={"table": "claims of the paper"},
        ),
    log:
        f"{RESULTS}/logs/claims.log",
    localrule: True
    params:
        **PAPER_OF,
    message:
        "claims of {params.paper}"
    script:
        "../scripts/claims.py"


rule check_claims:
    input:
        rules.claims.output[0],
    output:
        touch(f"{RESULTS}/tables/claims.checked"),
    log:
        f"{RESULTS}/logs/check_claims.log",
    localrule: True
    params:
        tables=[] if config.get("partial") else papers.required(config),  # Partial results decide little.
        code=READERS,
    message:
        "check the required claims"
    script:
        "../scripts/check_claims.py"
