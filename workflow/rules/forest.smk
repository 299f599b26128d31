"""One job per dataset and encoding with random forests: a baseline that is no tree, and leaves a table."""


rule forest:
    input:
        rules.encode.output,
    output:
        f"{RESULTS}/forests/{{dataset}}/{{encoding}}.csv",
    log:
        f"{RESULTS}/logs/forests/{{dataset}}/{{encoding}}.log",
    resources:
        runtime=60,
    params:
        splits=config.get("forests", {}).get("splits"),
        test_size=config["test_size"],
        code=CODE,
    message:
        "random forests on {wildcards.dataset}/{wildcards.encoding}"
    script:
        "../scripts/forest.py"
