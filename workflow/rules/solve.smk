"""Jobs of one or more runs each. A limit is a result; only bad input and a broken machine fail a job."""


rule environment:
    # Made once, on a machine with a network. A failed installation leaves its reason, and the peer's runs are skipped.
    input:
        lock=f"{PEERS_FOLDER}/{{peer}}/requirements.lock",
        runner=f"{PEERS_FOLDER}/{{peer}}/run.py",
    output:
        ".peers/{peer}.json",
    log:
        ".peers/{peer}.log",
    priority: len(JOBS) + 1  # before all runs, so that a peer's runs can alternate with others
    localrule: True
    params:
        peer=lambda wildcards: f"{PEERS_FOLDER}/{wildcards.peer}",
    message:
        "environment of {wildcards.peer}"
    script:
        "../scripts/environment.py"


for number, job in enumerate(JOBS, 1):

    rule:
        # ``update``, because Snakemake would delete finished records before a job that continues.
        name:
            f"solve_{number}"
        input:
            problem=f"{RESULTS}/encoded/{job[0].dataset}/{job[0].encoding}.npz",
            peers=peers_of(job),
        output:
            [update(record) for record in runs_of(job)],
        log:
            f"{RESULTS}/logs/solve/{number}.log",
        priority: len(JOBS) - number
        resources:
            **requests(job),
        params:
            runs=json.dumps(list(runs_of(job).items())),
            peers=PEERS_FOLDER,
            code=CODE,
        message:
            f"{len(job)} runs on {job[0].dataset}/{job[0].encoding}"
        shell:
            "exec python -m optree.bench.runs.job {input.problem} --peers {params.peers:q} --log {log} --parent $PPID"
            " <<'RUNS'\n{params.runs}\nRUNS"
