"""Jobs of one or more runs each. A limit is a result; only bad input and broken infrastructure fail a job."""


rule environment:
    # Made once, where the network is. A peer that cannot be installed leaves the reason, and its runs are skipped.
    input:
        lock=f"{PEERS_FOLDER}/{{peer}}/requirements.lock",
        runner=f"{PEERS_FOLDER}/{{peer}}/run.py",
    output:
        ".peers/{peer}.json",
    log:
        ".peers/{peer}.log",
    priority: len(BATCHES) + 1  # before all runs, or those of a peer could not alternate with others
    localrule: True
    params:
        peer=lambda wildcards: f"{PEERS_FOLDER}/{wildcards.peer}",
    message:
        "environment of {wildcards.peer}"
    script:
        "../scripts/environment.py"


for number, batch in enumerate(BATCHES, 1):

    rule:
        # Records are updated, not made anew: Snakemake would delete those of the runs that had finished.
        name:
            f"solve_{number}"
        input:
            problem=f"{RESULTS}/encoded/{batch[0].dataset}/{batch[0].encoding}.npz",
            peers=peers_of(batch),
        output:
            [update(record) for record in orders(batch)],
        log:
            f"{RESULTS}/logs/solve/{number}.log",
        priority: len(BATCHES) - number
        resources:
            **requests(batch),
        params:
            orders=json.dumps(list(orders(batch).items())),
            peers=PEERS_FOLDER,
            code=CODE,
        message:
            f"{len(batch)} runs on {batch[0].dataset}/{batch[0].encoding}"
        shell:
            "exec python -m optree.bench.runs.job {input.problem} --peers {params.peers:q} --log {log} --parent $PPID"
            " <<'ORDERS'\n{params.orders}\nORDERS"
