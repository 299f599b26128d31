"""One job per fit of an estimator to a table, for everything beyond a search over encoded features."""

FIT_OF = {(fit.dataset, fit.model, fit.split): fit for fit in FITS}
FIT_RECORDS = [f"{RESULTS}/fits/{'/'.join(name)}.json" for name in FIT_OF]


def rows_of(wildcards):
    """Return the dataset's table, or its encoded problem if the model has an encoding."""
    encoding = FIT_OF[tuple(wildcards)].encoding
    return f"{RESULTS}/encoded/{{dataset}}/{encoding}.npz" if encoding else rules.data.output.table


def peer_of(wildcards):
    """Return the files of the fitted peer, if the model is one."""
    fit = FIT_OF[tuple(wildcards)]
    return peer_files([fit.parameters["peer"]] if fit.estimator == "Peer" else [])


rule fit:
    input:
        table=rows_of,
        peer=peer_of,
    output:
        f"{RESULTS}/fits/{{dataset}}/{{model}}/{{seed}}.json",
    log:
        f"{RESULTS}/logs/fits/{{dataset}}/{{model}}/{{seed}}.log",
    wildcard_constraints:
        model=one_of(fit.model for fit in FITS),
        seed=one_of(fit.split for fit in FITS),
    resources:  # fits have no limits: an hour, and one more for every five candidates of a random search
        runtime=lambda wildcards: 60 * (1 + (FIT_OF[tuple(wildcards)].trials or 0) // 5),
    params:
        fit=lambda wildcards: FIT_OF[tuple(wildcards)].to_json(),
        row=lambda wildcards: json.dumps(vars(TABLE[wildcards.dataset])),
        peers=PEERS_FOLDER,
        code=CODE,
    message:
        "{wildcards.model} on {wildcards.dataset}, split {wildcards.seed}"
    shell:
        "python -m optree.bench.fits.fit {input.table} {output} --fit {params.fit:q} --dataset {params.row:q}"
        " --peers {params.peers:q} --log {log}"
