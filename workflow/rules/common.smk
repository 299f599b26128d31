"""Shared by all rules: the checked configuration, its runs and fits, and the names of files."""

import json
import os
import re
import sys
from pathlib import Path

import pandas as pd
from snakemake.persistence import FileBackupMixin
from snakemake.utils import Paramspace

from optree.bench.fits.plan import plan_fits
from optree.bench.peers.declaration import read_peers
from optree.bench.runs.jobs import JOB_SECONDS, group_into_jobs, resources
from optree.bench.runs.plan import plan_runs
from optree.bench.runs.record import Run
from optree.bench.system import driver, schema
from optree.bench.system.environment import code_digest, readers_digest
from optree.bench.system.numba_cache import VARIABLE, cache_folder
from optree.bench.tables.frame import load
from optree.datasets import read_table
from optree.errors import OptreeError
from optree.objective import CONSTRAINTS

HOME = Path(workflow.basedir)
DATASETS_TABLE = "config/datasets.csv"
PEERS_FOLDER = HOME / "workflow/peers"


def checked():
    """Return the datasets table, the peers, the runs and the fits; bad input ends this process with one line."""
    try:
        schema.check(config, HOME / "workflow/schemas/config.schema.yaml", "config")
        try:
            rows = pd.read_csv(HOME / DATASETS_TABLE, dtype=str, keep_default_na=False).to_dict("records")
        except pd.errors.ParserError:  # for example of a comma without quotes
            read_table(HOME / DATASETS_TABLE)  # its error names the line
            raise
        for row in rows:
            where = f"{DATASETS_TABLE}: {row.get('name')}"
            schema.check(row, HOME / "workflow/schemas/datasets.schema.yaml", where)
        datasets = read_table(HOME / DATASETS_TABLE)
        peers = read_peers(PEERS_FOLDER)
        return datasets, peers, plan_runs(config, datasets, peers), plan_fits(config, datasets, peers)
    except OptreeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


TABLE, PEERS, RUNS, FITS = checked()
RESULTS = f"results/{config['name']}"
GIVEN = config.get("records")  # the results of an earlier run; then tables and plots are made, and nothing is solved


def reported_runs():
    """Return the runs in the tables: those of the given records, or else all planned runs."""
    try:
        return [Run(**record["run"]) for record in load(f"{GIVEN}/tables/runs.jsonl")] if GIVEN else RUNS
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}; give the results of an earlier run, a directory"
        print(f"error: config: records: {reason}", file=sys.stderr)
        sys.exit(1)


# One row per run: the wildcards of a run are its readable name.
FRAME = pd.DataFrame(
    {
        "dataset": run.dataset,
        "encoding": run.encoding,
        "algorithm": run.algorithm,
        "regularization": run.regularization,
        "penalty": run.penalty,
        **{constraint.key: str(getattr(run, name)).lower() for name, constraint in CONSTRAINTS.items()},
        "measure": run.measure.replace(":", "-").replace("/", "-"),
        "split": run.split,
    }
    for run in RUNS
)
SPACE = Paramspace(FRAME, filename_params=list(FRAME.columns[3:]))
RECORDS = [] if GIVEN else [f"{RESULTS}/runs/{pattern}.json" for pattern in SPACE.instance_patterns]
RECORD = dict(zip((run.to_json() for run in RUNS), RECORDS))
# Compared runs share a job, so that their algorithms alternate.
JOBS = group_into_jobs(RUNS, config.get("job_seconds", JOB_SECONDS))
OVERRIDES = workflow.resource_settings._parsed_overwrite_resources.get("solve", {})
REFERENCE = config.get("reference")
# Files with a record on each line, the source of all tables and plots.
LINES = f"{GIVEN or RESULTS}/tables/runs.jsonl"
FIT_LINES = [f"{GIVEN or RESULTS}/tables/fits.jsonl"] if FITS else []
if GIVEN:
    FIT_LINES = list(filter(os.path.exists, FIT_LINES))
PROVING = [fit.dataset for fit in FITS if fit.estimator == "OptimalTreeClassifier"]
SEARCHED = list(dict.fromkeys([*(run.dataset for run in reported_runs()), *PROVING]))
DATASETS = list(dict.fromkeys(planned.dataset for planned in [*RUNS, *FITS]))

# Snakemake does not notice an edit in an imported module, so jobs get this digest.
CODE = code_digest()
# An edit in a module that only reads records makes tables and plots again, and repeats no run.
READERS = readers_digest()
os.environ[VARIABLE] = str(cache_folder())


# Snakemake copies files that a job updates, and restores the copies if the job fails. Each record is written at the end
# of its run, completely or not at all; the copy would be an older state, and could be incomplete.
FileBackupMixin.backup_output = lambda self, path: None
FileBackupMixin.restore_output = lambda self, path: True


def runs_of(job):
    """Return the runs of a job, as JSON objects, by the path of their record."""
    return {RECORD[run.to_json()]: vars(run) for run in job}


def peers_of(job):
    """Return the files of the peers that a job runs."""
    return peer_files(sorted({run.solver for run in job if run.solver in PEERS}))


def peer_files(peers):
    """Return the files that runs of these peers depend on."""
    files = [path for peer in peers for path in multiext(f"{PEERS_FOLDER}/{peer}/", "run.py", "peer.yaml")]
    return [*(f".peers/{peer}.json" for peer in peers), *files, *([f"{PEERS_FOLDER}/runner.py"] if peers else [])]


def requests(job):
    """Return a job's requests to a scheduler; ``--set-resources solve:mem_mb=9000 solve:runtime=60`` overrides them."""
    return resources(job) | {name: resource.raw for name, resource in OVERRIDES.items()}


def one_of(names):
    """Return a pattern that matches these names, and nothing if there are none."""
    return "|".join(sorted(set(map(re.escape, names)))) or "(?!)"


wildcard_constraints:
    dataset="|".join(DATASETS),
    encoding="|".join(config["encodings"]),


onstart:
    driver.start(RESULTS)


onerror:
    driver.explain(RECORDS, f"{RESULTS}/logs")
