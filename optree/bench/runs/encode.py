"""Encoding of a dataset's table as a problem, stored with its provenance."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from optree.datasets import Dataset, Table, load_table
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.problem_files import save_problem
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.encoding.table_columns import TableColumns
from optree.problem import Problem

NUMBERS = "numbers"  # the encoding, by name, of searches in an experiment that names none


def _digest(problem: Problem) -> str:
    """Return a digest of the searched arrays and of the names in the trees."""
    if problem.columns.has_numbers:
        names, columns = problem.columns.numbers.to_dict()["columns"], problem.columns.as_numbers().X.T
    else:
        names = [(feature.name, feature.labels) for feature in problem.features]
        parts = np.array_split(problem.codes, len(problem.y) // 1000 + 1)
        columns = (rows.astype(np.int32) for rows in parts)  # a part at a time, for which 4 bytes per code
    digest = hashlib.sha256(json.dumps([problem.classes, *names]).encode())
    for array in (*columns, problem.y, problem.weights):
        digest.update(array.tobytes())
    return digest.hexdigest()


def parse_encoding(fields: Mapping) -> tuple[EncodingSpec, int]:
    """Return the encoder's specification and the number of copies of all rows, from a configuration's encoding."""
    options = {"missing": "best"} | {key: value for key, value in fields.items() if key != "repeat"}
    return EncodingSpec(**options), fields.get("repeat", 1)


def describe_table(table: Table, dataset: Dataset, features: int, classes: int) -> dict:
    """Return the ``data`` of a record about a table without an encoding; no classes: the target is a number."""
    return {
        "source": dataset.source,
        "identifier": dataset.identifier,
        "version": dataset.version,
        "sha256": table.sha256(),
        "rows": len(table.y),
        "features": features,
        "classes": classes,
        "constant": [],
        **dict.fromkeys(("encoded_sha256", "encoded_features", "parts", "encoding")),
        "thresholds": {},
    }


def _thresholds(encoder: Encoder, table: Table) -> dict[str, list[int]]:
    """Return two numbers for each numeric column: its thresholds in the encoding, and all between its values."""
    return {
        column.name: [len(column.parts) - (column.form == "values"), int(table.X[column.name].nunique()) - 1]
        for column in encoder.columns_
        if column.is_numeric
    }


def _problem(encoder: Encoder, table: Table) -> Problem:
    """Return the problem of a table: columns of numbers if the encoding keeps them, otherwise codes.

    A column of one threshold is a binary feature in either form, so that a table of such columns has codes.
    """
    kept = encoder.spec.numeric == "numbers"
    if not kept or not any(column.is_numeric and len(column.parts) > 1 for column in encoder.columns_):
        return encoder.problem(table.X, table.y)

    def numbers() -> SparseEncoder:
        return SparseEncoder(encoder.spec).fit(table.X, classes=encoder.classes_)

    return Problem(TableColumns(table.X, lambda: encoder, numbers), encoder.target(table.y))


def encode(table_path: str | Path, dataset: Dataset, spec: EncodingSpec, path: str | Path, repeat: int = 1) -> None:
    """Encode a dataset, with ``repeat`` copies of all rows; write the problem and the provenance of the data.

    As in the papers, categories and thresholds come from all rows, test rows included; a search over numbers finds its
    thresholds between the training rows. Only ``cuts="mdlp"`` looks at the classes.
    """
    table = load_table(table_path, dataset)
    start = time.perf_counter()
    encoder = Encoder(spec).fit(table.X, table.y)
    problem = _problem(encoder, table)
    if repeat > 1:
        problem = problem.take(np.tile(np.arange(len(table.y)), repeat))
    seconds = time.perf_counter() - start
    data = describe_table(table, dataset, len(table.X.columns), len(problem.classes)) | {
        "rows": len(problem.y),
        "constant": encoder.constant_,
        "encoded_sha256": _digest(problem),
        "encoded_features": encoder.n_features_,
        "parts": sum(column.n_features(spec.drop) * column.n_categories for column in encoder.columns_),
        "encoding": asdict(spec) | {"repeat": repeat},
        "thresholds": _thresholds(encoder, table),
    }
    sources = None if problem.columns.has_numbers else encoder.sources_  # numbers have the features of a tree alone
    save_problem(problem, path, data=data, seconds=seconds, sources=sources)
