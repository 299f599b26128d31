"""All records -> one file of runs, one of fits, a line each. What comes after reads nothing else."""


rule collect:
    # The one reader of record files: a broken one is reported once, and tables and plots made before stay.
    input:
        RECORDS,
    output:
        LINES,
    log:
        f"{RESULTS}/logs/collect.log",
    localrule: True
    params:
        code=READERS,
    message:
        "collect the records of all runs"
    script:
        "../scripts/collect.py"


if FITS:

    rule collect_fits:
        input:
            FIT_RECORDS,
        output:
            FIT_LINES,
        log:
            f"{RESULTS}/logs/collect_fits.log",
        localrule: True
        params:
            code=READERS,
        message:
            "collect the records of all fits"
        script:
            "../scripts/collect_fits.py"
