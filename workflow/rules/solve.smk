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
    priority: 1  # before all runs, so that a peer's runs can alternate with others
    localrule: True
    params:
        peer=lambda wildcards: f"{PEERS_FOLDER}/{wildcards.peer}",
    message:
        "environment of {wildcards.peer}"
    script:
        "../scripts/environment.py"


rule solve:
    # The name of a job is a digest of its cells, their code included. Finished cells stay in the store.
    input:
        rows=rows_of,
        peers=peers_of,
    output:
        f"{RESULTS}/jobs/{{job}}.jsonl",
    log:
        f"{RESULTS}/logs/solve/{{job}}.log",
    wildcard_constraints:
        job="[0-9a-f]{16}",
    threads: lambda wildcards: threads(job_of(wildcards).runs)
    resources:
        mem_mb=lambda wildcards: resources(job_of(wildcards).runs)["mem_mb"],
        runtime=lambda wildcards: resources(job_of(wildcards).runs)["runtime"],
    params:
        job=lambda wildcards: job_file(wildcards.job),
        about=lambda wildcards: job_of(wildcards).about,
        store=STORE,
        peers=PEERS_FOLDER,
    message:
        "{params.about}"
    shell:
        "exec python -m optree.bench.runs.job {params.job} {input.rows} {output} --store {params.store}"
        " --peers {params.peers:q} --log {log} --parent $PPID"


rule prove:
    # After the searches of a job: proofs of their trees, and the answers of an independent program.
    input:
        records=f"{RESULTS}/jobs/{{job}}.jsonl",
        table=lambda wildcards: f"{RESULTS}/data/{job_of(wildcards).dataset}.csv",
        program=f"{HOME}/verify/optree_verify.py",
    output:
        f"{RESULTS}/proofs/{{job}}.jsonl",
    log:
        f"{RESULTS}/logs/prove/{{job}}.log",
    wildcard_constraints:
        job="[0-9a-f]{16}",
    resources:
        mem_mb=2 * int(PROOF_LIMITS.memory_mib),  # of the process that writes, and of the program
        runtime=lambda wildcards: 60 + len(job_of(wildcards).runs) * PROOF_LIMITS.minutes,
    params:
        job=lambda wildcards: job_file(wildcards.job),
        about=lambda wildcards: job_of(wildcards).about,
        code=PROVER,
        limits=json.dumps(asdict(PROOF_LIMITS)),
    message:
        "proofs of {params.about}"
    shell:
        "exec python -m optree.bench.runs.prove {params.job} {input.records} {input.table} {input.program} {output}"
        " --limits {params.limits:q} --log {log} --parent $PPID"
