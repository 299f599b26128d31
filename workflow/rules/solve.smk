"""One job per run. A limit is a result; only bad input and broken infrastructure fail a job."""


rule solve:
    input:
        rules.encode.output,
    output:
        f"{RESULTS}/runs/{SPACE.wildcard_pattern}.json",
    log:
        f"{RESULTS}/logs/runs/{SPACE.wildcard_pattern}.log",
    params:
        run=lookup(
            query=" & ".join(f"`{name}` == '{{{name}}}'" for name in SPACE.dataframe.columns),
            within=FRAME,
            cols="json",
        ),
        code=CODE,
    message:
        "{wildcards.algorithm} on {wildcards.dataset}/{wildcards.encoding}"
    shell:
        "python -m optree.bench.solve {input} {output} --run {params.run:q} --log {log}"
