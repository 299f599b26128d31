"""One job per dataset and encoding: codes, names, and the seconds of encoding."""


rule encode:
    input:
        rules.data.output.table,
    output:
        f"{RESULTS}/encoded/{{dataset}}/{{encoding}}.npz",
    log:
        f"{RESULTS}/logs/encode/{{dataset}}/{{encoding}}.log",
    localrule: True  # takes seconds
    params:
        row=lambda wildcards: vars(TABLE[wildcards.dataset]),
        encoding=lambda wildcards: config["encodings"][wildcards.encoding],
        code=code_digest("optree.bench.runs.encode"),
    message:
        "encode {wildcards.dataset} as {wildcards.encoding}"
    script:
        "../scripts/encode.py"
