"""All records in one file, a line each: the only input of tables and plots."""


rule collect:
    # The only reader of the jobs' records: it reports a broken one once, and earlier tables and plots stay.
    input:
        records=RECORDS,
        proofs=PROOFS,
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
