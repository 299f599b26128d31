"""One job per dataset: generate, read from the mirror or download; verify; save with a record of its facts."""

LOCK = HOME / Path(DATASETS_TABLE).with_name("datasets.lock.json")


rule data:
    output:
        table=f"{RESULTS}/data/{{dataset}}.csv",
        record=f"{RESULTS}/data/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/data/{{dataset}}.log",
    localrule: True  # takes seconds, and may need the network of the login node
    params:
        row=lambda wildcards: vars(TABLE[wildcards.dataset]),
        mirror=config.get("data_mirror"),
        lock=str(LOCK),
        quarantine=f"{RESULTS}/quarantine",
    message:
        "data of {wildcards.dataset}"
    script:
        "../scripts/data.py"
