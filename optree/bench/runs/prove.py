"""Proofs of the trees of a job's records, made after all searches and checked by a program that knows no solver.

A record has the tree and its lower bound. The search for a proof (:mod:`optree.proofs`) starts from these two and from
the training rows, never inside a run. The program ``optree_verify.py`` checks the proof in a process of its own, which
reads the table of the training rows and imports neither a solver nor this package. A limit is a verdict: a run without
a checked proof keeps its record.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from pandas import DataFrame

from optree.bench.runs.folds import fold_kind, held_out
from optree.bench.runs.jobs import Job
from optree.bench.runs.proof import CHECKED, NONE, REFUSED, UNDECIDED, ProofLimits
from optree.bench.runs.record import Run
from optree.bench.system.cli import parse_command, reporting
from optree.bench.system.process_limits import run_program
from optree.budget import Budget
from optree.columns import CodedColumns, Feature
from optree.datasets import Table, load_table
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.cells import read_numbers
from optree.errors import OptreeError
from optree.files import write_whole
from optree.measure import ACCURACY
from optree.problem import Problem
from optree.proofs.features import Texts
from optree.proofs.files import WrongBoundError, write_proof
from optree.tree import Tree

_MOST_CELLS = 2**26  # rows times parts of all splits, of a table whose proof is searched for


def _none(reason: str) -> dict:
    """Return the entry of a run without a proof."""
    return {"verdict": NONE, "statement": reason}


class Prover:
    """The table of a dataset in one encoding, and the program that checks proofs.

    Parameters
    ----------
    table : Table
    program : path
        ``optree_verify.py``.
    folder : path
        The folder of the proofs.
    limits : ProofLimits
    """

    def __init__(self, table: Table, program: Path, folder: Path, limits: ProofLimits):
        self.table, self.program, self.folder, self.limits = table, program, folder, limits
        self._training: dict[tuple, tuple[Texts, DataFrame, Problem]] = {}
        self._checked: dict[tuple[str, str], dict] = {}  # answers by table and digest: solvers often share a proof
        self.version = re.search(r'__version__ = "(.+)"', program.read_text()).group(1)

    def prove(self, entry: Mapping) -> dict:
        """Return verdict, statement, files and seconds of the proof of a record's tree."""
        run = Run(**entry["run"])
        if entry["tree"] is None:
            return _none(f"the run has no tree: {entry['status']}")
        objective = run.objective(entry["depth_limit"])
        if objective.measure != ACCURACY:
            return _none(f"the measure is {run.measure}; proofs are about accuracy")
        start, fold = time.perf_counter(), (run.split, run.test_size)
        path = self.folder / f"{entry['cell']}.proof"
        share = f"-{run.test_size}" if fold_kind(run.split) == "seeds" else ""
        data = self.folder / f"{run.dataset}-{run.encoding}-{run.split}{share}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            if fold not in self._training:
                self._training[fold] = self._read_training(run, entry["data"]["encoding"])
            texts, X, problem = self._training[fold]
            tree, columns = _over_own_codes(Tree.from_dict(entry["tree"]), texts.encoder, X)
            parts = sum(feature.parts or 2 * int(feature.codes.max()) for feature in texts.features)
            if parts * len(X) > _MOST_CELLS:
                return _none(f"{len(X):,} rows and {parts:,} parts of splits are too many for a proof")
            clock = Budget(seconds=self.limits.write_seconds, memory_mib=self.limits.memory_mib).start()
            written = write_proof(
                path,
                data,
                texts,
                problem.over(columns),
                Fraction(1),
                objective,
                tree,
                columns.codes.T.astype(np.int64).__getitem__,
                entry["cost"]["lower_bound"],
                clock,
            )
        except WrongBoundError as error:
            return {"verdict": REFUSED, "statement": str(error)}
        except OptreeError as error:
            return _none(str(error))
        made = {"file": path.name, "table": data.name, "sha256": written.sha256, "bytes": written.size}
        made |= {"supports": written.supports, "write_seconds": time.perf_counter() - start}
        checked = data.name, written.sha256
        if checked not in self._checked:
            self._checked[checked] = self._check(data, path)
        return self._checked[checked] | made

    def _read_training(self, run: Run, encoding: Mapping) -> tuple[Texts, DataFrame, Problem]:
        """Return the candidate splits and the training rows of a fold, and the problem of these rows."""
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in encoding.items()}
        repeat = fields.pop("repeat")
        spec, X = EncodingSpec(**fields), self.table.X
        if spec.numeric == "numbers":
            spec = replace(spec, numeric="thresholds")
        encoder = Encoder(spec).fit(X, self.table.y)
        target, rows = encoder.target(self.table.y), np.tile(np.arange(len(X)), repeat)
        rows = rows[~held_out(target.y[rows], run.split, run.test_size)]
        X = X.iloc[rows]
        empty = CodedColumns(np.zeros((len(X), 1), np.int8), [Feature("none", ("0", "1"))])
        texts = Texts(X, encoder, spec.max_cuts is None and spec.cuts != "mdlp")
        return texts, X, Problem(empty, target.take(rows))

    def _check(self, data: Path, path: Path) -> dict:
        """Return verdict, statement and seconds of the program, a process with limits of time and memory."""
        start, command = time.perf_counter(), [sys.executable, "-I", str(self.program), str(data), str(path)]

        def overdue() -> str | None:
            return "late" if time.perf_counter() - start > self.limits.check_seconds else None

        with TemporaryDirectory() as folder:
            output = Path(folder, "answer")
            end = run_program(command, output, self.limits.memory_mib, overdue)
            lines = output.read_text(errors="replace").splitlines()
        if end.status == "time_limit":
            return _none(f"the check did not end within {self.limits.check_seconds:g} s")
        statement = lines[-1] if lines else end.reason
        verdict = statement.partition(":")[0].partition(" ")[0]
        if end.status in ("memory_limit", "killed") or verdict == UNDECIDED:
            return _none(f"the check: {end.reason}")
        return {
            "verdict": verdict if verdict in CHECKED and end.status is None else REFUSED,
            "statement": statement,
            "check_seconds": time.perf_counter() - start,
            "verifier": f"optree-verify {self.version}",
        }


def _over_own_codes(tree: Tree, encoder: Encoder, X) -> tuple[Tree, CodedColumns]:
    """Return a tree over the features that it splits, and the codes of these features."""
    place = {feature: number for number, feature in enumerate(encoder.features_)}
    used = [tree.features[number] for number in tree.used_features]
    known = sorted({place[feature] for feature in used if feature in place})
    codes = encoder.keep(known).transform(X) if known else np.zeros((len(X), 0), np.int8)
    own = [
        codes[:, known.index(place[feature])] if feature in place else _threshold_codes(feature, X) for feature in used
    ]
    features = used or [Feature("none", ("0", "1"))]
    columns = CodedColumns(np.column_stack(own) if own else np.zeros((len(X), 1), np.int8), features)
    return tree.over(features), columns


def _threshold_codes(feature: Feature, X) -> np.ndarray:
    """Return the codes of a threshold that the encoder does not have.

    A search over numbers chooses thresholds of its own, and a record states them in the labels of the tree alone. The
    program reads the threshold from the proof, so that a misread label is refused, or is another tree of another cost.
    """
    end = " or missing"
    name, _, threshold = feature.labels[1].removesuffix(end).rpartition(" <= ")
    numbers = read_numbers(name, X[name], "best")
    holds = numbers <= float(threshold)
    return np.where(np.isnan(numbers), feature.labels[1].endswith(end), holds).astype(np.int8)


def prove_job(job: Path, records: Path, table: Path, program: Path, output: Path, limits: ProofLimits) -> None:
    """Prove the trees of all searches of a job, and write an entry for each to a file, a line each."""
    dataset = Job.read(job)[1]
    prover, lines = Prover(load_table(table, dataset), program, output.parent, limits), []
    for line in records.read_text().splitlines():
        entry = json.loads(line)
        if entry["run"]["model"] is None:
            lines.append(json.dumps({"cell": entry["cell"]} | prover.prove(entry)) + "\n")
    write_whole(output, "".join(lines).encode())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.prove", description=__doc__.splitlines()[0])
    parser.add_argument("job", type=Path, help="the job, a file of optree.bench.runs.jobs.Job (.json)")
    parser.add_argument("records", type=Path, help="the records of the job (.jsonl)")
    parser.add_argument("table", type=Path, help="the content of the dataset (.csv)")
    parser.add_argument("program", type=Path, help="optree_verify.py")
    parser.add_argument("output", type=Path, help="the file for the entries (.jsonl); the proofs lie beside it")
    parser.add_argument("--limits", type=json.loads, default={}, help="some of the fields of ProofLimits, in JSON")
    options = parse_command(parser, arguments)
    with reporting(options.log):
        limits = ProofLimits(**options.limits)
        prove_job(options.job, options.records, options.table, options.program, options.output, limits)


if __name__ == "__main__":
    main()
