"""One job per run. A limit is a result; only bad input and broken infrastructure fail a job."""


rule solve:
    input:
        problem=rules.encode.output,
        depth_of=told_by,
    output:
        f"{RESULTS}/runs/{SPACE.wildcard_pattern}.json",
    log:
        f"{RESULTS}/logs/runs/{SPACE.wildcard_pattern}.log",
    wildcard_constraints:
        algorithm=one_of(run.algorithm for run in RUNS if run.solver not in PEERS),
    priority: turn
    resources:
        mem_mb=memory_mib,
    params:
        run=lambda wildcards: run_of(wildcards).to_json(),
        depth_of=lambda wildcards, input: f"--depth-of {input.depth_of}" if input.depth_of else "",
        code=CODE,
    message:
        "{wildcards.algorithm} on {wildcards.dataset}/{wildcards.encoding}"
    shell:
        "python -m optree.bench.solve {input.problem} {output} --run {params.run:q} {params.depth_of} --log {log}"


rule environment:
    # Made once, where the network is. A peer that cannot be installed leaves the reason, and its runs are skipped.
    input:
        lock=f"{PEERS_FOLDER}/{{peer}}/requirements.lock",
        runner=f"{PEERS_FOLDER}/{{peer}}/run.py",
    output:
        ".peers/{peer}.json",
    log:
        ".peers/{peer}.log",
    priority: len(TURNS) + 1  # before all runs, or those of a peer could not alternate with others
    localrule: True
    params:
        peer=lambda wildcards: f"{PEERS_FOLDER}/{wildcards.peer}",
    message:
        "environment of {wildcards.peer}"
    script:
        "../scripts/environment.py"


rule solve_peer:
    input:
        problem=rules.encode.output,
        depth_of=told_by,
        environment=lambda wildcards: f".peers/{run_of(wildcards).solver}.json",
        runner=lambda wildcards: multiext(f"{PEERS_FOLDER}/{run_of(wildcards).solver}/", "run.py", "peer.yaml"),
        runners=f"{PEERS_FOLDER}/runner.py",
    output:
        f"{RESULTS}/runs/{SPACE.wildcard_pattern}.json",
    log:
        f"{RESULTS}/logs/runs/{SPACE.wildcard_pattern}.log",
    wildcard_constraints:
        algorithm=one_of(run.algorithm for run in RUNS if run.solver in PEERS),
    priority: turn
    resources:
        mem_mb=memory_mib,
    params:
        run=lambda wildcards: run_of(wildcards).to_json(),
        depth_of=lambda wildcards, input: f"--depth-of {input.depth_of}" if input.depth_of else "",
        peer=lambda wildcards: f"{PEERS_FOLDER}/{run_of(wildcards).solver}",
        code=CODE,
    message:
        "{wildcards.algorithm} on {wildcards.dataset}/{wildcards.encoding}"
    shell:
        "python -m optree.bench.peer {input.problem} {output} --run {params.run:q} {params.depth_of} --log {log}"
        " --peer {params.peer} --environment {input.environment}"
