"""Statistics from records, against numbers computed by hand or printed in their sources."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.compared_records import RECORDS, record

from optree.bench.figures import critical_difference, plots, profiles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.tables import pairwise, statistics
from optree.bench.tables.formats import write
from optree.bench.tables.frame import frame


@pytest.fixture
def runs() -> pd.DataFrame:
    return frame([entry | {"run": {**entry["run"], "limits": {"seconds": 30.0}}} for entry in RECORDS])


def test_scores_are_those_computed_by_hand(runs):
    ours, peer = statistics.statistics(runs).data.to_dict("records")
    assert (ours["problems"], ours["certified"], peer["problems"], peer["certified"]) == (5, 5, 4, 3)
    assert ours["seconds_median"] == 0.2
    assert ours["par2_seconds"] == pytest.approx((1 + 0.001 + 2 + 0.2 + 0.2) / 5)
    assert peer["seconds_median"] == pytest.approx((0.5 + 4) / 2)  # of 0.016, 0.5, 4 and twice 30
    assert peer["par2_seconds"] == pytest.approx((4 + 0.016 + 0.5 + 60) / 4)
    assert peer["seconds_low"] <= peer["seconds_median"] <= peer["seconds_high"]
    assert (peer["iterations_median"], peer["peak_mib_most"]) == (100, 400)


@pytest.mark.parametrize(
    ("trace", "value"),
    [
        ([[1, 10, 0], [3, 5, 5]], 1 + 2 * 0.5),  # nothing for a second, twice the best cost for two, then the best
        ([[0, 5, 5]], 0),
        ([[0, 10, 0]], 5),
        ([[20, 5, 0]], 10),  # the first tree came after the end
        ([], math.nan),
    ],
)
def test_the_primal_integral(trace, value):
    assert statistics.primal_integral(trace, 10, 5) == pytest.approx(value, nan_ok=True)


def test_a_search_without_errors_has_no_gap():
    assert statistics.primal_integral([[0, 3, 0], [4, 0, 0]], 10, 0) == 4


def test_the_interval_of_a_median_draws_whole_datasets():
    values, clusters = pd.Series([1.0, 1.0, 9.0]), pd.Series(["a", "a", "b"])
    # all draws: (a, a), (a, b), (b, a) have the median 1, (b, b) has 9
    assert statistics.median_interval(values, clusters) == (1, 9)
    assert all(map(math.isnan, statistics.median_interval(values[:2], clusters[:2])))


def test_wins_ties_and_losses(runs):
    (row,) = pairwise.pairwise_comparisons(runs).data.to_dict("records")
    assert (row["one"], row["other"], row["problems"]) == ("ours", "peer", 4)
    assert [row[f"objective_{what}"] for what in ("wins", "ties", "losses")] == [0, 3, 0]
    assert [row[f"speed_{what}"] for what in ("wins", "ties", "losses")] == [3, 0, 1]
    assert row["ratio"] == pytest.approx((4 * 16 / 4) ** (-1 / 3))
    assert row["memory_ratio"] == pytest.approx((4 * 1 * 2) ** (-1 / 3))
    assert (row["iterations"], row["iterations_other"]) == (100, 100)
    assert pairwise.pairwise_comparisons(runs).shown["median iterations, one / other"].tolist() == ["100 / 100"]
    assert row["p"] == pytest.approx(stats.wilcoxon(np.log([1 / 4, 1 / 16, 4, 0.2 / 60])).pvalue)


def test_a_millisecond_is_a_tie():
    close = frame(
        [record("a", "ours", 0.001), record("a", "peer", 0.002), record("b", "ours", 1), record("b", "peer", 1.05)]
    )
    (row,) = pairwise.pairwise_comparisons(close).data.to_dict("records")
    assert [row[f"speed_{what}"] for what in ("wins", "ties", "losses")] == [0, 2, 0]


def test_heuristics_are_not_compared_by_time():
    heuristic = {"status": "heuristic", "exact": False}
    (row,) = pairwise.pairwise_comparisons(
        frame([record("a", "ours", 1), record("a", "greedy", 0.1, **heuristic)])
    ).data.to_dict("records")
    assert [row[f"speed_{what}"] for what in ("wins", "ties", "losses")] == [0, 0, 0]
    assert math.isnan(row["ratio"])


def test_holms_correction():
    assert pairwise.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert pairwise.holm([0.5, math.nan, 0.9])[0] == 1
    assert math.isnan(pairwise.holm([0.5, math.nan, 0.9])[1])


def test_the_critical_difference_is_the_one_that_demsar_prints():
    table = pd.DataFrame(np.random.RandomState(0).rand(14, 4))
    assert critical_difference.ranked(table, greater_is_better=True).distance == pytest.approx(
        1.25, abs=5e-3
    )  # JMLR 7, 2006, page 12


def test_ranks_by_hand():
    table = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.8, 0.6], "c": [0.1, 0.2, 0.9]})
    found = critical_difference.ranked(table, greater_is_better=True)
    assert found.means.to_dict() == pytest.approx(
        {"a": (1 + 1.5 + 2) / 3, "b": (2 + 1.5 + 3) / 3, "c": (3 + 3 + 1) / 3}
    )
    assert list(found.means.index) == ["a", "b", "c"]
    assert found.p == pytest.approx(stats.friedmanchisquare(*table.to_numpy().T).pvalue)
    assert list(critical_difference.ranked(table, greater_is_better=False).means.index) == ["c", "b", "a"]


def test_groups_are_maximal_and_do_not_differ_significantly():
    means = pd.Series({"a": 1.0, "b": 1.8, "c": 2.5, "d": 4.7})
    assert critical_difference.groups(critical_difference.Ranks(means, 9, 0.01, 1.0)) == [(0, 1), (1, 2)]
    assert critical_difference.groups(critical_difference.Ranks(means, 9, 0.01, 2.0)) == [(0, 2)]
    assert critical_difference.groups(critical_difference.Ranks(means, 9, 0.01, 0.1)) == []


def many() -> pd.DataFrame:
    """Five algorithms on six datasets, each twice as slow as the one before."""
    seconds = {"a": 1, "b": 2, "c": 4, "d": 8, "e": 16}
    entries = [record(f"set {i}", name, value * (1 + i)) for i in range(6) for name, value in seconds.items()]
    return frame(entries)


def test_ranks_of_runs():
    found = critical_difference.ranks_of(many())
    assert list(found) == ["score"]
    assert found["score"].means.to_dict() == {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
    assert found["score"].datasets == 6


def test_a_profile_ends_at_the_share_that_is_proven(runs):
    figure = profiles.profile(runs)
    assert [ax.get_title("left") for ax in figure.axes] == ["onehot-drop-first, 4 problems"]
    steps = [line.get_xydata() for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"]
    assert sorted(step[:, 1].max() for step in steps) == [0.75, 1]
    peer = min(steps, key=lambda step: step[:, 1].max())
    assert peer[1:-1].tolist() == [[1, 0.25], [4, 0.5], [16, 0.75]]


@pytest.mark.parametrize("draw", [profiles.profile, critical_difference.figure])
def test_figures_are_the_same_every_time_and_empty_ones_are_not_drawn(draw, tmp_path):
    runs = many()
    for number, one in enumerate((runs, runs.sample(frac=1, random_state=0).reset_index(drop=True))):
        plots.save(draw(one), tmp_path / f"{number}.svg")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()
    with pytest.raises(NothingToDraw):
        draw(runs[runs["algorithm"].eq("a")])


def test_a_diagram_that_cannot_decide_is_not_drawn_and_says_why():
    runs = many()
    three = runs[runs["dataset"].isin(("set 0", "set 1", "set 2"))]
    two = three[three["algorithm"].isin(("a", "b"))]
    with pytest.raises(NothingToDraw, match=r"seconds to the proof: 2 algorithms on 3 datasets.*difference of 1\.13"):
        critical_difference.figure(two)
    assert critical_difference.figure(runs).axes


def test_a_profile_leaves_out_an_algorithm_of_few_problems_and_says_so():
    runs = many()
    few = runs[runs["algorithm"].ne("e") | runs["dataset"].eq("set 0")]
    figure = profiles.profile(few)
    assert figure.axes[0].get_title("left") == "onehot-drop-first, 6 problems"
    assert "e (1 of 6 problems of" in " ".join(" ".join(text.get_text() for text in figure.texts).split())


def test_a_profile_covers_problems_that_are_no_grid():
    """Check a lambda for each dataset: of six datasets and six lambdas, there are six problems."""
    runs = many()
    lambdas = {f"set {i}": f"0.0{i + 1}" for i in range(6)}
    written = runs["dataset"].map(lambdas)
    figure = profiles.profile(runs.assign(regularization=written, **{"lambda": written.astype(float)}))
    assert figure.axes[0].get_title("left") == "onehot-drop-first, 6 problems"


def test_no_two_texts_of_a_diagram_meet():
    figure = critical_difference.figure(many())
    figure.canvas.draw()
    boxes = [text.get_window_extent() for ax in figure.axes for text in ax.texts]
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    assert all(figure.bbox.containsx(x) and figure.bbox.containsy(y) for box in boxes for x, y in (box.min, box.max))


@pytest.mark.parametrize("make", [statistics.statistics, pairwise.pairwise_comparisons])
def test_tables_can_be_written_for_one_algorithm(make, runs, tmp_path):
    for ending in ("csv", "md", "tex", "html"):
        write(make(runs[runs["algorithm"].eq("ours")]), tmp_path / f"table.{ending}")
        assert (tmp_path / f"table.{ending}").stat().st_size > 50


@pytest.mark.parametrize("make", [statistics.statistics, pairwise.pairwise_comparisons])
def test_skipped_runs_leave_only_their_reason(make, runs, tmp_path):
    skipped = runs[runs["status"].eq("skipped")]
    assert len(make(skipped).data) == 0
    write(make(skipped), tmp_path / "table.html")
    assert "peer, skipped, 1 run: because." in statistics.statistics(runs).notes
