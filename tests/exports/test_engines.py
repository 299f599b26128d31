"""DuckDB, onnxruntime and JPMML give the answers of ``predict`` on every row of random tables."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import ROOT
from support.exported import REFUSED, answers, random_model, records, run_sql, same
from support.refusal import refused

SEEDS = range(1000, 1060)


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    for seed in SEEDS:
        model, rows = random_model(seed)
        floats = [rows[name].dtype.kind == "f" for name in rows]
        texts = [any(isinstance(value, str) for value in rows[name]) for name in rows]
        kinds = ["DOUBLE" if f else "VARCHAR" if t else "BOOLEAN" for f, t in zip(floats, texts, strict=True)]
        cells = [
            [str(v).lower() if t and isinstance(v, bool) else v for v, t in zip(row, texts, strict=True)]
            for row in records(rows, nan=float("nan") if seed % 2 else None)
        ]
        found = run_sql(duckdb.connect(), model.export("sql"), rows, kinds, cells)
        assert same(found, answers(model, rows)), seed


def in_onnx(runtime, model, rows):
    """Return the labels and probabilities of each row by onnxruntime, REFUSED for an error."""
    session = runtime.InferenceSession(model.export("onnx"), providers=["CPUExecutionProvider"])
    inputs = {}
    for one in session.get_inputs():
        values = rows[one.name]
        if one.type == "tensor(string)":
            values = ["" if v is None or v != v else str(v).lower() if isinstance(v, bool) else v for v in values]
            inputs[one.name] = np.array(values, object)[:, None]
        else:
            inputs[one.name] = values.to_numpy(float)[:, None]
    labels, shares = [], []
    for number in range(len(rows)):
        try:
            found = session.run(None, {name: values[number : number + 1] for name, values in inputs.items()})
            labels.append(found[0].tolist()[0])
            shares.append(found[-1][0])
        except runtime.capi.onnxruntime_pybind11_state.InvalidArgument:  # an index of Gather is out of bounds
            labels.append(REFUSED)
    return labels, shares


def test_onnxruntime():
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    for seed in SEEDS:
        model, rows = random_model(seed)
        if not model._rules().columns:
            with refused("onnx", "no split"):
                model.export("onnx")
            continue
        made = onnx.load_from_string(model.export("onnx"))
        read = {name for node in made.graph.node for name in node.input}
        assert {constant.name for constant in made.graph.initializer} <= read, seed
        assert {one.name for one in made.graph.input} <= read, seed
        assert made.doc_string.startswith("A decision tree")
        assert made.graph.doc_string == model.export("if-else")
        labels, shares = in_onnx(runtime, model, rows)
        expected = answers(model, rows)
        assert same(labels, expected), seed
        kept = rows[[label != REFUSED for label in expected]]
        if hasattr(model, "classes_") and len(kept):
            assert (np.array(shares) == model.predict_proba(kept)).all(), seed


def test_the_models_have_all_kinds_of_targets_and_columns():
    models = [random_model(seed)[0] for seed in SEEDS]
    columns = [column for model in models for column in model._rules().columns]
    kinds = [kind.__name__ for kind in map(type, models)]
    assert min(map(kinds.count, ["PlantedClasses", "PlantedNumbers", "PlantedActions"])) >= 5
    assert {column.is_number for column in columns} == {column.takes_missing for column in columns} == {True, False}
    assert sum(column.takes_unseen and not column.is_number for column in columns) >= 5


def test_pmml(tmp_path):
    if not shutil.which("java"):
        pytest.skip("no Java")
    tasks, expected, models = [], [], []
    for seed in SEEDS:
        model, rows = random_model(seed)
        cells = records(rows)
        texts = [rows[name].dtype.kind != "f" for name in rows]
        cells = [
            [str(v).lower() if t and isinstance(v, bool) else v for v, t in zip(row, texts, strict=True)]
            for row in cells
        ]
        tasks.append((model.export("pmml"), [dict(zip(rows, row, strict=True)) for row in cells]))
        expected.append(answers(model, rows))
        models.append((model, rows))
    python = ROOT / ".exports" / "bin" / "python"
    script = Path(__file__).parent / "pmml_answers.py"
    done = subprocess.run([python, script], input=json.dumps(tasks), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for seed, results, answer, (model, rows) in zip(SEEDS, json.loads(done.stdout), expected, models, strict=True):
        assert same([REFUSED if row is None else row["prediction"] for row in results], answer), seed
        kept = rows[[row is not None for row in results]]
        if hasattr(model, "classes_") and len(kept):
            names = [f"probability({json.dumps(c) if isinstance(c, bool) else c})" for c in model.classes_.tolist()]
            names = [name.replace(".0)", ")") for name in names]
            found = [[row[name] for name in names] for row in results if row is not None]
            assert np.allclose(found, model.predict_proba(kept), rtol=0, atol=1e-15), seed
