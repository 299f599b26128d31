"""Shared by all rules: the checked configuration, its jobs, and the names of files."""

from snakemake.logging import logger

from optree.bench.system.screen import COMMAND_PREFIX, Screen

SCREEN = Screen()
if workflow.is_main_process:
    SCREEN.attach(logger)  # before slow imports, during which somebody may press Ctrl-C
    shell.prefix(COMMAND_PREFIX)

import json
import os
import re
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import yaml

from optree.bench.models.estimators import ESTIMATORS, PEER
from optree.bench.peers.declaration import read_peers
from optree.bench.runs import store
from optree.bench.runs.jobs import JOB_SECONDS, Job, group_into_jobs, identify, resources, threads
from optree.bench.runs.levels import at_level
from optree.bench.runs.overview import Overview
from optree.bench.runs.plan import plan_runs
from optree.bench.runs.proof import ProofLimits, remove_incomplete
from optree.bench.system import driver, schema
from optree.bench.system.environment import code_digest, readers_digest
from optree.bench.system.numba_cache import VARIABLE, cache_folder
from optree.bench.tables.frame import load
from optree.bench.tables.rashomon_sets import OWN
from optree.datasets import read_table
from optree.errors import OptreeError

START = time.time()
DATASETS_TABLE = "config/datasets.csv"
CONFIG_SCHEMA = "workflow/schemas/config.schema.yaml"
PEERS_FOLDER = HOME / "workflow/peers"
KEPT_CONFIGURATION = "configuration.yaml"  # of the results, in their folder
LEVEL = config.get("level")
GIVEN = config.get("records")  # the results of an earlier run; then tables and plots are made, and nothing is solved


def stop(error):
    """End this process with one line."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(1)


def replace_configuration(by):
    """Replace the values of the configuration."""
    config.clear()
    config.update(by)


def take_configuration_of_records():
    """Replace the default configuration by that of the given records."""
    kept = Path(GIVEN, KEPT_CONFIGURATION)
    if kept.is_file():
        found = yaml.safe_load(kept.read_text())
        replace_configuration(found | {"records": GIVEN})
    elif Path(GIVEN, "tables/runs.jsonl").is_file():
        stop(f"config: records: {kept} is missing; give the configuration of these records with --configfile")


if GIVEN and not workflow.overwrite_configfiles:
    take_configuration_of_records()


def checked():
    """Return the datasets table, the peers and the runs; bad input ends this process with one line."""
    try:
        # Snakemake gives these words of --config as text.
        words = {"true": True, "false": False, "null": None}
        given = {key: words.get(str(value), value) for key, value in workflow.config_settings.config.items()}
        config.update({key: value for key, value in given.items() if not isinstance(value, dict)})
        if LEVEL:
            schema.check(config, HOME / CONFIG_SCHEMA, "config")
        replace_configuration(at_level(config, given))
        schema.check(config, HOME / CONFIG_SCHEMA, "config")
        try:
            rows = pd.read_csv(HOME / DATASETS_TABLE, dtype=str, keep_default_na=False).to_dict("records")
        except pd.errors.ParserError:  # for example of a comma without quotes
            read_table(HOME / DATASETS_TABLE)  # its error names the line
            raise
        for row in rows:
            where = f"{DATASETS_TABLE}: {row.get('name')}"
            schema.check(row, HOME / "workflow/schemas/datasets.schema.yaml", where)
        mirror = config.get("data_mirror")
        if mirror is not None and not Path(mirror).is_dir():
            raise OptreeError(f"config: data_mirror: {mirror!r} is no directory; give one with raw files, or null")
        datasets = read_table(HOME / DATASETS_TABLE)
        peers = read_peers(PEERS_FOLDER)
        return datasets, peers, plan_runs(config, datasets, peers) if workflow.is_main_process else []
    except OptreeError as error:
        stop(error)


TABLE, PEERS, RUNS = checked()
RESULTS = f"results/{config['name']}"
STORE = Path(config.get("cells", f"results/{store.NAME}"))
# The process of a job on a cluster reads this job from its file, and plans nothing.
PLANNED = identify(RUNS, config, TABLE, PEERS)
JOBS = {job.name: job for job in group_into_jobs(PLANNED, config.get("job_seconds", JOB_SECONDS))}


def has_searches(path):
    """Return whether the job of a file of records has runs of searches."""
    return any(run.model is None for run in JOBS[Path(path).stem].runs)


RECORDS = [] if GIVEN else [f"{RESULTS}/jobs/{name}.jsonl" for name in JOBS]
OVERVIEW = Overview(JOBS.values(), STORE)
EXPERIMENTS = config["experiments"]
DATASETS = list(dict.fromkeys(name for entry in EXPERIMENTS for name in entry["datasets"]))
MISSING = []  # jobs that are left out, in words
if config.get("partial") and not GIVEN:
    # Tables of the finished jobs; the others are named.
    MISSING = [job.about for job, path in zip(JOBS.values(), RECORDS) if not os.path.exists(path)]
    RUNS = [run for job, path in zip(JOBS.values(), RECORDS) if os.path.exists(path) for run in job.runs]
    RECORDS = list(filter(os.path.exists, RECORDS))
    DATASETS = list(dict.fromkeys(run.dataset for run in RUNS))
    if not RUNS:
        stop("config: partial: no job has finished; run the workflow without it")
PROVER = code_digest("optree.bench.runs.prove")
PROOF_LIMITS = ProofLimits(**config["prove"]) if isinstance(config.get("prove"), dict) else ProofLimits()
# Of the jobs with searches.
PROVEN = [Path(path).name for path in RECORDS if has_searches(path)] if config.get("prove") else []
PROOFS = [f"{RESULTS}/proofs/{name}" for name in PROVEN]
if workflow.is_main_process:
    remove_incomplete(PROOFS)
if config.get("partial"):
    PROOFS = list(filter(os.path.exists, PROOFS))
REFERENCE = config.get("reference")
LINES = f"{GIVEN or RESULTS}/tables/runs.jsonl"  # a record on each line, the source of all tables and plots


def kinds():
    """Return dataset, solver, and whether it is a model, once for each kind of run, of the given records or the plan."""
    if not GIVEN:
        return dict.fromkeys((run.dataset, run.solver, run.model is not None) for run in RUNS)
    try:
        runs = [record["run"] for record in load(f"{GIVEN}/tables/runs.jsonl")]
    except OSError as error:
        stop(f"config: records: {error.filename}: {error.strerror}; give the results of an earlier run, a directory")
    return dict.fromkeys((run["dataset"], run["solver"], run["model"] is not None) for run in runs)


KINDS = kinds()
SEARCHES, MODELS = (any(model == wanted for _, _, model in KINDS) for wanted in (False, True))
COUNTS_TREES = any(solver == OWN for _, solver, _ in KINDS)
# Datasets with pages of trees, those of searches and of optimal trees over all thresholds.
PICTURED = list(dict.fromkeys(name for name, solver, model in KINDS if not model or solver == "OptimalTreeClassifier"))

# An edit in a module that only reads records makes tables and plots again, and repeats no run.
READERS = readers_digest()
os.environ[VARIABLE] = str(cache_folder())


def job_file(name):
    """Return the file that describes a job to its process."""
    return f"{RESULTS}/jobs/{name}.json"


def job_of(wildcards):
    """Return the job of this name."""
    return JOBS.get(wildcards.job) or Job.read(Path(job_file(wildcards.job)))[0]


def rows_of(wildcards):
    """Return the encoded problem of a job, or its dataset's table."""
    job = job_of(wildcards)
    return (
        f"{RESULTS}/encoded/{job.dataset}/{job.encoding}.npz" if job.encoding else f"{RESULTS}/data/{job.dataset}.csv"
    )


def peers_of(wildcards):
    """Return the files that the peers of a job depend on."""
    peers = job_of(wildcards).peers(PEERS)
    files = [path for peer in peers for path in multiext(f"{PEERS_FOLDER}/{peer}/", "run.py", "peer.yaml")]
    return [*(f".peers/{peer}.json" for peer in peers), *files, *(map(str, PEERS_FOLDER.glob("*.py")) if peers else [])]


def one_of(names):
    """Return a pattern that matches these names, and nothing if there are none."""
    return "|".join(sorted(set(map(re.escape, names)))) or "(?!)"


wildcard_constraints:
    dataset=one_of(DATASETS),
    encoding=one_of(config.get("encodings", {})),


def is_forced():
    """Return whether finished cells are solved again."""
    return workflow.dag_settings.forceall or "solve" in map(str, workflow.dag_settings.forcerun)


def tell_plan():
    """Print the table of runs at the end of a dry run."""
    if workflow.dryrun and not SCREEN.interrupted:
        driver.solve_again(is_forced())
        needed = workflow.dag.needrun_jobs(exclude_finished=False) if workflow.dag else ()
        print(OVERVIEW.table([job.resources for job in needed if job.rule.name == "solve"]))


def begin():
    """Lock the results, keep the configuration with them, and write the files of the jobs that are not done."""
    driver.start(RESULTS)
    SCREEN.start([RESULTS, str(STORE), ".", tempfile.gettempdir()], OVERVIEW.counted)
    if not GIVEN:
        rows = [vars(TABLE[name]) for name in DATASETS]
        driver.keep(Path(RESULTS, KEPT_CONFIGURATION), yaml.safe_dump(json.loads(json.dumps(config)), sort_keys=False))
        driver.keep(Path(RESULTS, "datasets.json"), json.dumps(rows, indent=1) + "\n")
        driver.keep_jobs(JOBS, Path(RESULTS, "jobs"), TABLE)
        driver.solve_again(is_forced())
        print(OVERVIEW.start(), file=sys.stderr)
        OVERVIEW.watch()
        driver.tell_of_waiting_jobs()


onstart:
    begin()


def tell_findings():
    """Print the findings of the first page, if this run has made or kept it."""
    page = Path(RESULTS, "tables", "findings.rst")
    if page.exists() and not config.get("partial"):
        from optree.bench.report import first_page  # with its statistics, which no job on a cluster needs

        print(first_page.closing(page.read_text(), RESULTS), file=sys.stderr)


onsuccess:
    SCREEN.succeed()
    tell_findings()


if workflow.is_main_process and not GIVEN:
    driver.at_exit(tell_plan)
