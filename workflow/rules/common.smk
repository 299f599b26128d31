"""What all rules share: the checked configuration, the runs it asks for, and the names of files."""

import json
import os
import re
import sys
from pathlib import Path

import pandas as pd
from snakemake.persistence import FileBackupMixin
from snakemake.utils import Paramspace

from optree.bench.system import driver
from optree.bench.fits import plan as fits
from optree.bench.system import schema
from optree.bench.runs.jobs import JOB_SECONDS, batches, resources
from optree.bench.system.numba_cache import VARIABLE, cache_folder
from optree.bench.system.environment import code_digest, readers_digest
from optree.bench.tables.frame import load
from optree.bench.peers.declaration import read_all
from optree.bench.runs.plan import plan
from optree.bench.runs.record import Run
from optree.datasets import read_table
from optree.errors import OptreeError

HOME = Path(workflow.basedir)
DATASETS_TABLE = "config/datasets.csv"
PEERS_FOLDER = HOME / "workflow/peers"


def checked():
    """The datasets table, the peers, the runs and the fits; bad input ends here with one line."""
    try:
        schema.check(config, HOME / "workflow/schemas/config.schema.yaml", "config")
        for row in pd.read_csv(HOME / DATASETS_TABLE, dtype=str, keep_default_na=False).to_dict("records"):
            where = f"{DATASETS_TABLE}: {row.get('name')}"
            schema.check(row, HOME / "workflow/schemas/datasets.schema.yaml", where)
        datasets = read_table(HOME / DATASETS_TABLE)
        peers = read_all(PEERS_FOLDER)
        return datasets, peers, plan(config, datasets, peers), fits.plan(config, datasets, peers)
    except OptreeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


TABLE, PEERS, RUNS, FITS = checked()
RESULTS = f"results/{config['name']}"
GIVEN = config.get("records")  # the results of an earlier run: what is made of its records, and nothing else


def done_or_planned():
    """The runs that there are records of: those that are given, or else all that are planned."""
    try:
        return [Run(**entry["run"]) for entry in load(f"{GIVEN}/tables/runs.jsonl")] if GIVEN else RUNS
    except OSError as error:
        why = f"{error.filename}: {error.strerror}; give the results of an earlier run, a directory"
        print(f"error: config: records: {why}", file=sys.stderr)
        sys.exit(1)


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
RECORDS = [] if GIVEN else [f"{RESULTS}/runs/{pattern}.json" for pattern in SPACE.instance_patterns]
RECORD = dict(zip((run.to_json() for run in RUNS), RECORDS))
# The jobs: those of one experiment run next to each other, and what is compared is in one, so that it alternates.
BATCHES = batches(RUNS, config.get("job_seconds", JOB_SECONDS))
OVERRIDES = workflow.resource_settings._parsed_overwrite_resources.get("solve", {})
REFERENCE = config.get("reference")
# Each has all records on its lines: what tables and plots are made of.
LINES = f"{GIVEN or RESULTS}/tables/runs.jsonl"
FIT_LINES = [f"{GIVEN or RESULTS}/tables/fits.jsonl"] if FITS else []
if GIVEN:
    FIT_LINES = list(filter(os.path.exists, FIT_LINES))
PROVING = [fit.dataset for fit in FITS if fit.estimator == "OptimalTreeClassifier"]
SEARCHED = list(dict.fromkeys([*(run.dataset for run in done_or_planned()), *PROVING]))
DATASETS = list(dict.fromkeys(job.dataset for job in [*RUNS, *FITS]))

# Snakemake sees edits neither in an imported package nor numba's disk cache in another file: both go by this digest.
CODE = code_digest()
# An edit in the code that reads records makes tables and plots again, and no run.
READERS = readers_digest()
os.environ[VARIABLE] = str(cache_folder(CODE))


# Snakemake copies files that a job updates, and when the job fails copies them back. Records are written whole or not at
# all, each when its run has finished: a copy would be an older state, and not written whole.
FileBackupMixin.backup_output = lambda self, path: None
FileBackupMixin.restore_output = lambda self, path: True


def orders(batch):
    """What a job is asked for, by the records that it leaves."""
    return {RECORD[run.to_json()]: vars(run) for run in batch}


def peers_of(batch):
    """The files of the peers that a job runs."""
    return peer_files(sorted({run.solver for run in batch if run.solver in PEERS}))


def peer_files(used):
    """What runs of these peers depend on."""
    files = [path for peer in used for path in multiext(f"{PEERS_FOLDER}/{peer}/", "run.py", "peer.yaml")]
    return [*(f".peers/{peer}.json" for peer in used), *files, *([f"{PEERS_FOLDER}/runner.py"] if used else [])]


def requests(batch):
    """What a job asks a scheduler for, unless the user does: ``--set-resources solve:mem_mb=9000 solve:runtime=60``."""
    asked = {name: resource.raw for name, resource in OVERRIDES.items()}
    return resources(batch) | asked


def one_of(names):
    """A pattern for some of the names; for none, one that fits nothing."""
    return "|".join(sorted(set(map(re.escape, names)))) or "(?!)"


wildcard_constraints:
    dataset="|".join(DATASETS),
    encoding="|".join(config["encodings"]),


onstart:
    driver.start(RESULTS)


onerror:
    driver.explain(RECORDS, f"{RESULTS}/logs")
