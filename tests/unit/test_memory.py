"""Codes that cannot fit into memory are never computed: another search reads numbers, or the fit is refused."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from support.refusal import refused
from support.traced import traced

from optree import (
    BranchesClassifier,
    DL85Classifier,
    DPDTreeClassifier,
    GOSDTClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalTreeClassifier,
)
from optree.budget import rss_mib
from optree.encoding import Encoder
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.estimators import memory, problems
from optree.estimators.memory import available_mib, check_fits
from optree.solvers.routing import bytes_of_pairs

X = np.random.RandomState(0).random_sample((3000, 4))
Y = (X[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize("model", [GOSDTClassifier(0.3), MurTreeClassifier(1), MurTreeRegressor(1)])
def test_a_search_over_numbers_takes_the_place_of_codes_above_the_limit(model):
    """The codes are not computed; the tree is proven."""
    own, y = model._solver, np.round(X[:, 0], 1) if isinstance(model, MurTreeRegressor) else Y
    model.set_params(max_thresholds=2)
    for limit in (0, math.inf):  # load the kernels of the searches
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            patch.setattr(problems, "MODERATE_MIB", limit)
            patch.setattr(memory, "_LITTLE_MIB", 0)
            model.fit(X, y)
    model.set_params(max_thresholds=None, memory_limit=rss_mib() + 60)
    with traced() as peak:
        with pytest.warns(ConvergenceWarning, match="3000 rows with 11996 candidate splits .*give max_thresholds"):
            model.fit(X, y)
        assert peak() < 30 * 2**20  # the codes have 34 MiB
    assert (model.status_, model.solver_) == ("optimal", "sparsethresholds" if own == "gosdt" else model.solver_)
    assert model.solver_ != own
    least = model.cost_
    with pytest.warns(ConvergenceWarning, match="give max_thresholds below 2000, fewer rows or fewer columns"):
        model.set_params(max_thresholds=2000, memory_limit=rss_mib() + 40).fit(X, y)
    assert model.cost_ == pytest.approx(float(least), rel=0.05)
    model.set_params(max_thresholds=5, memory_limit=rss_mib() + 4000)
    assert model.fit(X, y).status_ == "optimal"
    assert model.solver_ == own


def test_an_objective_without_another_search_has_a_tree_and_a_bound():
    """Its numbers are not coded either."""
    with pytest.warns(ConvergenceWarning, match="ended by its memory_limit"):
        model = GOSDTClassifier(0.01, objective="auc", memory_limit=rss_mib() + 60).fit(X, Y)
    assert (model.status_, model.tree_.n_leaves) == ("memory_limit", 2)
    assert model.lower_bound_ <= model.cost_ == 3000 * 0.01 * 2  # both classes are separated


def test_codes_have_a_moderate_limit_by_default(monkeypatch):
    monkeypatch.setattr(problems, "MODERATE_MIB", 50)
    with pytest.warns(ConvergenceWarning, match="50 MiB are the default limit; give .*, or a memory_limit"):
        model = GOSDTClassifier(0.3).fit(X, Y)
    assert (model.status_, model.solver_) == ("optimal", "sparsethresholds")
    model.set_params(memory_limit=rss_mib() + 4000)
    assert model.fit(X, Y).solver_ == "gosdt"


def test_what_the_system_has_free_is_a_limit_too(monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9999999999 kB\nMemAvailable:   20480 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", str(tmp_path / "meminfo"))
    assert available_mib(None) == 20
    assert available_mib(rss_mib() + 10) == pytest.approx(10, abs=2)
    assert available_mib(1) == 0
    with pytest.warns(ConvergenceWarning, match="and 20 MiB are available"):
        MurTreeClassifier(1, max_thresholds=None).fit(X, Y)
    texts = pd.DataFrame({"a": [f"t{i}" for i in range(3000)]})
    with refused(
        "3000 rows with 1 candidate splits need 43 MiB",
        "MiB are available; give fewer rows, or leave out or merge the 3000 categories of column 'a'",
    ):
        BranchesClassifier(memory_limit=rss_mib() + 10, categorical_features=["a"]).fit(texts, Y)


@pytest.mark.parametrize("model", [OptimalTreeClassifier, BranchesClassifier, DPDTreeClassifier, MurTreeRegressor])
def test_a_limit_below_the_process_is_refused_by_its_name(model, monkeypatch):
    monkeypatch.setattr(memory, "rss_mib", lambda: 300.5)
    with refused("memory_limit: 200 MiB", "the process has 301 MiB", "give more, or None"):
        model(memory_limit=200).fit(X, Y)


def test_the_limit_of_a_container_and_of_the_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_MEMINFO", str(tmp_path / "none"))
    whole = available_mib(None)
    assert 100 < whole < 2**30
    (tmp_path / "memory.max").write_text(f"{int((rss_mib() + 50) * 2**20)}\n")
    monkeypatch.setattr(memory, "_CONTAINER_LIMITS", (str(tmp_path / "memory.max"), str(tmp_path / "none")))
    assert available_mib(None) == pytest.approx(50, abs=2)
    (tmp_path / "memory.max").write_text("max\n")
    assert available_mib(None) == pytest.approx(whole, abs=2)


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="another operating system")
def test_this_machine_has_memory_available():
    total = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1]) / 1024
    assert 0 < available_mib(None) < total
    check_fits(10, "10 columns", 1, None, "nothing")


def test_a_table_far_too_large_is_refused_before_all_columns_are_read(monkeypatch):
    """The categories so far are enough; the solvers say how many bytes they need for each row."""
    read, fit_column = [], Encoder._fit_column

    def counted(encoder, name, *arguments):
        read.append(name)
        return fit_column(encoder, name, *arguments)

    monkeypatch.setattr(Encoder, "_fit_column", counted)
    monkeypatch.setattr("optree.encoding.encoder._MANY", 4000)
    for model, needed in (
        (DL85Classifier(max_thresholds=None), 13 * 2 * 2999),
        (MurTreeClassifier(1, max_thresholds=None), 3 * 2 * 2999 + bytes_of_pairs(1, 2, 2 * 2999, 3000) // 3000),
    ):
        read.clear()
        model.set_params(memory_limit=rss_mib() + 30)
        columns = model._problem(X, Y, None)[0].columns.coded
        with refused(f"need {math.ceil(3000 * needed / 2**20)} MiB of memory or more", "fewer rows"):
            columns.encode(lambda: None)
        assert read == ["x0", "x1"]


def test_numbers_that_do_not_fit_are_refused_before_any_is_sorted(monkeypatch):
    """A column of 400 categories has 400 columns of numbers; at a greater lambda all are too rare to pay."""
    monkeypatch.setattr(SparseEncoder, "numeric_columns", lambda *_: pytest.fail("numbers were read"))
    random = np.random.RandomState(0)
    category, number = random.permutation(np.arange(4000) % 400), random.random_sample(4000)
    table = pd.DataFrame({"a": np.char.add("k", category.astype(str)), "b": number})
    model = OptimalTreeClassifier("0.001", memory_limit=rss_mib() + 30)
    needed = math.ceil(4000 * 401 * 24 / 2**20)
    with refused(f"4000 rows with 401 columns need {needed} MiB of memory or more", "fewer rows"):
        model.fit(table, random.randint(0, 2, 4000))
