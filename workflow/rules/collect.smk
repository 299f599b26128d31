"""All records in one file of runs and one of fits, a line each: the only input of tables and plots."""


rule collect:
    # The only reader of record files: it reports a broken one once, and earlier tables and plots stay.
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
