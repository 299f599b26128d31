"""The packages that read scikit-learn's trees read the trees of ``to_sklearn``."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import export_text, plot_tree
from support.mixed_table import mixed

from optree import DPDTreeClassifier, DPDTreeRegressor, OptimalTreeClassifier


@pytest.fixture(scope="module")
def classes():
    """Return a classifier, its rows and its classes; numbers of 32 bits, as other packages read them."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.astype(np.float32).astype(float)
    return DPDTreeClassifier(max_depth=3).fit(X, y), X, y


@pytest.fixture(scope="module")
def numbers():
    """Return a regressor, its rows and its numbers."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.astype(np.float32).astype(float)
    return DPDTreeRegressor(max_depth=3).fit(X, y), X, y


def outputs(model, X):
    """Return the shares of the classes, or the numbers as a column."""
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]


def test_shap_adds_up_to_the_predictions(classes, numbers):
    shap = pytest.importorskip("shap")
    for model, X, _ in (classes, numbers):
        found = shap.TreeExplainer(model.to_sklearn())(X[:50])
        values = found.values.reshape(50, X.shape[1], -1)
        sums = values.sum(axis=1) + np.reshape(found.base_values, (50, -1))
        assert np.allclose(sums, outputs(model, X[:50]), rtol=0, atol=1e-9)


def test_shap_and_skl2onnx_read_the_tree_of_a_pipeline_with_categories():
    shap = pytest.importorskip("shap")
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    X, y = mixed(3, 120)
    made = OptimalTreeClassifier("0.01", one_vs_rest=True).fit(X, y).to_sklearn()
    rows = made["encoder"].transform(X)
    assert "colour" in " ".join(made["encoder"].get_feature_names_out())
    found = shap.TreeExplainer(made["tree"])(rows)
    sums = found.values.sum(axis=1) + np.reshape(found.base_values, (len(X), -1))
    assert np.allclose(sums, made.predict_proba(X), rtol=0, atol=1e-9)
    kept = rows[~np.isnan(rows).any(axis=1)]  # skl2onnx sends all missing values right
    model = skl2onnx.to_onnx(made["tree"], kept[:1], options={"zipmap": False})
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    label = session.run(None, {session.get_inputs()[0].name: kept})[0]
    assert label.tolist() == made["tree"].predict(kept).tolist()


def test_skl2onnx_converts_it(classes, numbers):
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    for model, X, _ in (classes, numbers):  # without gaps: skl2onnx sends all missing values right
        rows, options = X.to_numpy(np.float32), {"zipmap": False} if model is classes[0] else {}
        made = skl2onnx.to_onnx(model.to_sklearn(), rows[:1], options=options)
        session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        label, *shares = session.run(None, {session.get_inputs()[0].name: rows})
        assert np.allclose(label.ravel(), model.predict(X), rtol=1e-6)
        assert not shares or np.allclose(shares[0], model.predict_proba(X), atol=1e-6)


def test_dtreeviz_draws_it(classes, numbers, tmp_path):
    dtreeviz = pytest.importorskip("dtreeviz")
    if not shutil.which("dot"):
        pytest.skip("no Graphviz")
    for model, X, y in (classes, numbers):
        names = ["malignant", "benign"] if model is classes[0] else None
        view = dtreeviz.model(model.to_sklearn(), X, y, feature_names=list(X), target_name="y", class_names=names)
        picture = view.view()
        picture.save(str(tmp_path / "tree.svg"))
        assert "<svg" in (tmp_path / "tree.svg").read_text()
        assert sum(f"leaf{node} " in picture.dot for node in range(model.tree_.n_nodes)) == model.tree_.n_leaves
        path = view.explain_prediction_path(X.to_numpy()[0])
        used = model.decision_path(X[:1]).indices[:-1]
        columns = {X.columns[column] for column in model.to_arrays().column[used]}
        assert {name for name in X if f"{name} " in path} == columns


def test_supertree_draws_it(classes, numbers, tmp_path):
    supertree = pytest.importorskip("supertree")
    for model, X, y in (classes, numbers):
        names = ["malignant", "benign"] if model is classes[0] else ["y"]
        supertree.SuperTree(model.to_sklearn(), X, y, list(X), names).save_html(str(tmp_path / "tree"))
        assert str(X.columns[model.to_sklearn().tree_.feature[0]]) in (tmp_path / "tree.html").read_text()


def test_scikit_learn_draws_it_and_writes_it(classes, numbers):
    for model, X, _ in (classes, numbers):
        tree = model.to_sklearn()
        assert export_text(tree, feature_names=list(X)).count("<=") == model.tree_.n_splits
        assert len(plot_tree(tree)) >= model.tree_.n_nodes
        assert isinstance(tree.predict(pd.DataFrame(X)), np.ndarray)
