"""What all rules share: the checked configuration, the runs it asks for, and the names of files."""

import fcntl
import json
import os
import re
import sys
from pathlib import Path

import pandas as pd
from snakemake.utils import Paramspace

from optree.bench import fits, forests, schema
from optree.bench.environment import code_digest
from optree.bench.peers import read_all
from optree.bench.plan import cell, plan
from optree.datasets import read_table
from optree.errors import OptreeError

HOME = Path(workflow.basedir)
DATASETS_TABLE = "config/datasets.csv"
PEERS_FOLDER = HOME / "workflow/peers"


def checked():
    """The datasets table, the peers, the runs and the forests; bad input ends here with one line."""
    try:
        schema.check(config, HOME / "workflow/schemas/config.schema.yaml", "config")
        for row in pd.read_csv(HOME / DATASETS_TABLE, dtype=str, keep_default_na=False).to_dict("records"):
            where = f"{DATASETS_TABLE}: {row.get('name')}"
            schema.check(row, HOME / "workflow/schemas/datasets.schema.yaml", where)
        datasets = read_table(HOME / DATASETS_TABLE)
        peers = read_all(PEERS_FOLDER)
        forest_tables, fit_records = forests.planned(config, datasets), fits.plan(config, datasets)
        return datasets, peers, plan(config, datasets, peers), forest_tables, fit_records
    except OptreeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


TABLE, PEERS, RUNS, FORESTS, FITS = checked()
RESULTS = f"results/{config['name']}"

# One row per run: the wildcards of a run are its readable name.
FRAME = pd.DataFrame(
    {
        "dataset": run.dataset,
        "encoding": run.encoding,
        "algorithm": run.algorithm,
        "regularization": run.regularization,
        "penalty": run.penalty,
        "depth": "none" if run.max_depth is None else str(run.max_depth),
        "nodes": "none" if run.max_splits is None else str(run.max_splits),
        "leaf": str(run.min_samples_leaf),
        "measure": run.measure.replace(":", "-").replace("/", "-"),
        "split": run.split,
    }
    for run in RUNS
)
SPACE = Paramspace(FRAME, filename_params=["regularization", "penalty", "depth", "nodes", "leaf", "measure", "split"])
RECORDS = [f"{RESULTS}/runs/{pattern}.json" for pattern in SPACE.instance_patterns]
BY_NAME = dict(zip(FRAME.itertuples(index=False, name=None), RUNS))
BY_CELL = {(run.algorithm, cell(run)): record for run, record in zip(RUNS, RECORDS)}
TURNS = {key: number for number, key in enumerate(dict.fromkeys(map(cell, reversed(RUNS))), 1)}
REFERENCE = config.get("reference")
# Where algorithms are compared, all but one have the same trees.
CELLS = list(
    dict.fromkeys((run.dataset, run.encoding, run.algorithm) for run in RUNS if REFERENCE in (None, run.algorithm))
)
FOREST_TABLES = [f"{RESULTS}/forests/{dataset}/{encoding}.csv" for dataset, encoding in FORESTS]
FIT_TABLE = [f"{RESULTS}/tables/fits.jsonl"] if FITS else []
DATASETS = list(dict.fromkeys([*(job.dataset for job in [*RUNS, *FITS]), *(dataset for dataset, _ in FORESTS)]))

# Snakemake sees edits neither in an imported package nor numba's disk cache in another file: both go by this digest.
CODE = code_digest()
os.environ["NUMBA_CACHE_DIR"] = str(Path(".numba_cache", CODE).resolve())


def run_of(wildcards):
    """The run with this name."""
    return BY_NAME[tuple(getattr(wildcards, name) for name in FRAME.columns)]


def told_by(wildcards):
    """The record whose tree's depth a run is told, if it is told one."""
    run = run_of(wildcards)
    return BY_CELL[run.depth_of, cell(run)] if run.depth_of else []


def turn(wildcards):
    """The priority of a run: all algorithms of a cell run next to each other, so that what is compared alternates."""
    return TURNS[cell(run_of(wildcards))]


def memory_mib(wildcards):
    """What a run may take, for schedulers: its limit, or a guess where there is none."""
    return int(run_of(wildcards).limits.get("memory_mib") or 2000)


def one_of(names):
    """A pattern for some of the names; for none, one that fits nothing."""
    return "|".join(sorted(set(map(re.escape, names)))) or "(?!)"


wildcard_constraints:
    dataset="|".join(DATASETS),
    encoding="|".join(config["encodings"]),


onstart:
    # Snakemake's own lock outlives a kill -9; this one is the operating system's and ends with the process.
    Path(RESULTS).mkdir(parents=True, exist_ok=True)
    LOCK = open(f"{RESULTS}/.lock", "w")
    try:
        fcntl.flock(LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f"error: another snakemake is at work in {RESULTS}; wait for it to end", file=sys.stderr)
        os._exit(1)
