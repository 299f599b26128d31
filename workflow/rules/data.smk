"""One job per dataset: generate, read from the mirror or download; verify; save."""


rule data:
    output:
        f"{RESULTS}/data/{{dataset}}.csv",
    log:
        f"{RESULTS}/logs/data/{{dataset}}.log",
    localrule: True  # seconds; and where a cluster's jobs start, there is a network
    params:
        row=lambda wildcards: vars(TABLE[wildcards.dataset]),
        mirror=config.get("data_mirror"),
    message:
        "data of {wildcards.dataset}"
    script:
        "../scripts/data.py"
