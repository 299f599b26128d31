"""Progress of searches on standard error: its content, on a terminal and in a file, of every estimator."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest

import optree
from optree import estimators, progress
from optree.budget import Budget
from optree.progress import Progress
from optree.result import Trace

LINE = re.compile(r"[\d.]+ s, ([\d.]+) s left, objective ([\d.]+), at most ([\d.]+), gap ([\d.]+)$")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """Return the lines that are seen in the end."""
        return [line.rpartition("\r\x1b[K")[2] for line in self.getvalue().split("\n")]


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_a_terminal_has_one_line_of_progress_and_a_file_has_all(monkeypatch, kind):
    monkeypatch.setattr(sys, "stderr", stream := kind())
    monkeypatch.setenv("COLUMNS", "30")
    log = Progress("fold 1: ")
    log("begins")
    for number in range(3):
        log.update(f"step {number} {'x' * 40}")
    log("ends")
    if kind is Terminal:
        assert stream.screen() == ["fold 1: begins", "fold 1: ends", ""]
        assert max(map(len, re.split("\r\x1b\\[K|\n", stream.getvalue()))) < 30
    else:
        assert stream.getvalue().count("\n") == 5
        assert "\r" not in stream.getvalue()
        assert log.pause >= 5 * 0.9


@pytest.mark.slow
def test_a_search_tells_incumbent_bound_gap_and_seconds_left(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    random = np.random.RandomState(0)
    X, y = random.rand(300, 12).round(2), random.randint(0, 2, 300)
    with pytest.warns(UserWarning, match="time_limit"):
        model = optree.OptimalTreeClassifier("0.001", time_limit=2, verbose=1).fit(X, y)
    lines = [found for line in re.split("\r\x1b\\[K|\n", stream.getvalue()) if (found := LINE.search(line))]
    left, objective, bound, gap = (np.array([float(found[k]) for found in lines]) for k in range(1, 5))
    assert len(lines) >= 4
    assert (np.diff(left) <= 0).all()
    assert left[0] <= 2
    assert (np.diff(objective) >= 0).all()
    assert (np.diff(bound) <= 0).all()
    assert gap == pytest.approx(bound - objective, abs=2e-4)
    assert objective[-1] == pytest.approx(model.objective_, abs=1e-4)
    assert gap[-1] == pytest.approx(model.gap_, abs=1e-4)
    assert sum(bool(LINE.search(line)) for line in stream.screen()) == 1  # the end


@pytest.mark.slow
def test_a_search_without_an_incumbent_tells_its_iterations(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    random = np.random.RandomState(0)
    X, y = random.rand(4000, 30), random.randint(0, 2, 4000)
    with pytest.warns(UserWarning, match="time_limit"):
        optree.SPLITClassifier("0.0005", max_depth=6, time_limit=1.5, verbose=1).fit(X, y)
    found = [int(text.replace(",", "")) for text in re.findall(r"s left, ([\d,]+) iterations", stream.getvalue())]
    assert len(found) >= 2
    assert found == sorted(found)


def test_a_search_without_a_bound_or_a_limit_tells_what_it_has(monkeypatch):
    clock, lines = Budget().start(), []
    monkeypatch.setattr(clock, "seconds", lambda: 3.0)
    Trace(clock, lines.append, 1, 10).end("split", "heuristic", 4, None)
    Trace(clock, lines.append).end("dpdt", "heuristic", 4, None)
    assert lines == [
        "split: heuristic; 3.0 s, objective 0.6000, no bound",
        "dpdt: heuristic; 3.0 s, cost 4",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(estimators.__all__) - {"TreeClassifier"}))
def test_every_estimator_tells_its_progress_if_asked_and_is_silent_else(name, capfd):
    random = np.random.RandomState(0)
    X = random.randint(0, 3, (40, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 2).astype(int)
    model = getattr(optree, name)()
    if name == "OptimalPolicyTree":
        y = np.column_stack([y, 1 - y])
    for key, value in {"max_depth": 2, "n_estimators": 3}.items():
        if key in model.get_params():
            model.set_params(**{key: value})
    model.fit(X, y)
    model.fit(X, y)
    capfd.readouterr()
    model.fit(X, y)
    assert capfd.readouterr() == ("", "")
    model.set_params(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert not out
    assert " s" in err


@pytest.mark.parametrize("kind", ["path over thresholds", "path over coded features", "cross-validation"])
def test_searches_along_lambda_tell_the_bound_and_the_gap_of_each(monkeypatch, kind):
    monkeypatch.setattr(progress, "_FILE_SECONDS", 0)
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    random = np.random.RandomState(0)
    X = random.rand(120, 4).round(1)
    y = (X[:, 0] > 0.4) ^ (X[:, 1] > 0.6) ^ (random.rand(120) < 0.1)
    if kind == "cross-validation":
        optree.OptimalTreeClassifierCV(lowest="0.02", cv=2, verbose=1).fit(X, y)
        lines = [line for line in stream.getvalue().splitlines() if line.startswith("fold 2: ")]
        assert sum("optimal" in line for line in lines) >= 2
    else:
        most = None if kind == "path over thresholds" else 5
        path = optree.OptimalTreeClassifier("0.02", max_thresholds=most, verbose=1).lambda_path(X, y)
        lines = stream.getvalue().splitlines()
        first = {f"lambda = {highest:g}: " for highest, _ in path}
        for start, (_, model) in zip(sorted(first, reverse=True), path, strict=True):
            found = [LINE.search(line) for line in lines if line.startswith(start)]
            assert all(float(one[2]) <= model.objective_ + 1e-4 for one in found if one)
            assert all(float(one[3]) >= model.objective_ - 1e-4 for one in found if one)
    found = [LINE.search(line) for line in lines if "lambda = " in line and "gap" in line]
    assert len(found) >= 3
    for one in found:
        assert float(one[4]) == pytest.approx(float(one[3]) - float(one[2]), abs=2e-4)
