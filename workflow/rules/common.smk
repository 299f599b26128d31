"""What all rules share: the checked configuration, the runs it asks for, and the names of files."""

import fcntl
import os
import sys
from pathlib import Path

import pandas as pd
from snakemake.utils import Paramspace

from optree.bench import schema
from optree.bench.environment import code_digest
from optree.bench.plan import plan
from optree.datasets import read_table
from optree.errors import OptreeError

HOME = Path(workflow.basedir)
DATASETS_TABLE = "config/datasets.csv"


def checked():
    """The datasets table and the runs; bad input ends here with one line."""
    try:
        schema.check(config, HOME / "workflow/schemas/config.schema.yaml", "config")
        for row in pd.read_csv(HOME / DATASETS_TABLE, dtype=str, keep_default_na=False).to_dict("records"):
            where = f"{DATASETS_TABLE}: {row.get('name')}"
            schema.check(row, HOME / "workflow/schemas/datasets.schema.yaml", where)
        datasets = read_table(HOME / DATASETS_TABLE)
        return datasets, plan(config, datasets)
    except OptreeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


TABLE, RUNS = checked()
RESULTS = f"results/{config['name']}"

# One row per run. The wildcards of a run are its readable name; `json` is all of it.
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
        "split": run.split,
        "json": run.to_json(),
    }
    for run in RUNS
)
SPACE = Paramspace(FRAME.drop(columns="json"), filename_params=["regularization", "penalty", "depth", "nodes", "leaf", "split"])
RECORDS = [f"{RESULTS}/runs/{pattern}.json" for pattern in SPACE.instance_patterns]
CELLS = list(dict.fromkeys((run.dataset, run.encoding, run.algorithm) for run in RUNS))
DATASETS = list(dict.fromkeys(run.dataset for run in RUNS))

# Snakemake sees edits neither in an imported package nor numba's disk cache in another file: both go by this digest.
CODE = code_digest()
os.environ["NUMBA_CACHE_DIR"] = str(Path(".numba_cache", CODE).resolve())


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
