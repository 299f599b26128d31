"""Fetch and verify one dataset, and write its facts."""

import json

from optree.bench.system.cli import reporting
from optree.datasets import Dataset, facts, fetch, save_table
from optree.files import write_whole

with reporting(snakemake.log[0]):
    dataset, params = Dataset(**snakemake.params.row), snakemake.params
    table = fetch(dataset, params.mirror, lock_path=params.lock, kept=params.quarantine)
    record = json.dumps(facts.record(table, dataset), indent=1, ensure_ascii=False)
    write_whole(snakemake.output.record, f"{record}\n".encode())
    save_table(table, snakemake.output.table)
