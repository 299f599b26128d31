"""Tables and figures of a comparison, against numbers computed by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.compared_records import RECORDS, record

from optree.bench.figures import plots, profiles
from optree.bench.tables import certificates, comparison
from optree.bench.tables.ablation import ablation, variants
from optree.bench.tables.by_problem import problems
from optree.bench.tables.formats import write
from optree.bench.tables.frame import frame


@pytest.fixture
def runs() -> pd.DataFrame:
    return frame(RECORDS)


def test_the_summary_has_the_numbers_computed_by_hand(runs):
    table = comparison.against_reference(runs, "ours")
    ours, peer = table.data.to_dict("records")
    assert (ours["algorithm"], ours["seconds_ratio"], ours["certified"]) == ("ours", 1.0, 5)
    assert {key: peer[key] for key in ("problems", "certified", "certified_reference", "certified_both")} == {
        "problems": 4,
        "certified": 3,
        "certified_reference": 4,
        "certified_both": 3,
    }
    assert peer["seconds_ratio"] == pytest.approx((4 * 16 / 4) ** (1 / 3))
    assert peer["calls_ratio"] == pytest.approx((4 * 16 / 4) ** (1 / 3))
    assert peer["memory_ratio"] == pytest.approx((4 * 1 * 2) ** (1 / 3))
    assert (peer["worst_ratio"], peer["worst_problem"]) == (0.25, "c/onehot-drop-first/0.01")
    assert peer["slower"] == 1
    assert {key: peer[key] for key in ("wrong_certificates", "memory_limit", "failed", "skipped")} == {
        "wrong_certificates": 0,
        "memory_limit": 1,
        "failed": 0,
        "skipped": 1,
    }
    assert peer["seconds_ratio_low"] < peer["seconds_ratio"] < peer["seconds_ratio_high"]
    assert "peer, skipped, 1 run: because." in table.notes
    assert "2.52 [" in table.shown.loc[1, "seconds, ratio [95 %]"]


def test_the_interval_draws_whole_datasets():
    both = pd.DataFrame(
        {"search_seconds": [2.0, 2.0, 8.0], "search_seconds_reference": [1.0] * 3, "dataset": ["a", "a", "b"]}
    )
    # Two datasets: all draws are (a, a), (a, b), (b, a) and (b, b).
    assert comparison.ratio_of_seconds(both) == pytest.approx((32 ** (1 / 3), 2, 8))
    assert all(map(math.isnan, comparison.ratio_of_seconds(both[:2])[1:]))


def test_every_problem_has_a_row_and_every_algorithm_its_outcome(runs):
    table = problems(runs, "ours")
    shown = table.shown.set_index("dataset")
    assert list(shown.index) == list("abcde")
    assert shown["ours: s"].tolist() == ["1.00", "0.0010", "2.00", "0.200", "0.200"]
    assert shown["peer: s"].tolist() == ["4.00", "0.0160", "0.500", "memory limit, 10.0", "skipped"]
    assert shown["objective"].unique().tolist() == ["0.82444"]
    assert "penalty" not in shown  # the same in all rows
    assert table.data["peer status"].tolist() == ["optimal"] * 3 + ["memory_limit", "skipped"]


def test_wrong_certificates_are_listed_and_do_not_count_as_proofs():
    worse = record("a", "peer", 0.1)
    claim = {"status": "optimal", "objective": worse["objective"], "bound": None}
    cost = {**worse["cost"], "value": worse["cost"]["value"] + 5, "lower_bound": worse["cost"]["value"] + 5}
    runs = frame([record("a", "ours", 1.0), worse | {"cost": cost, "claim": claim}])
    table = certificates.wrong_certificates(runs)
    assert table.result == "1 wrong certificates."
    assert table.data["algorithm"].tolist() == ["peer"]
    peer = comparison.against_reference(runs, "ours").data.to_dict("records")[1]
    assert (peer["certified"], peer["wrong_certificates"], peer["certified_both"]) == (0, 1, 0)


def test_every_table_can_be_written_even_if_it_is_empty(runs, tmp_path):
    for name, table in {
        "algorithms": comparison.against_reference(runs, "ours"),
        "problems": problems(runs, "ours"),
        "wrong": certificates.wrong_certificates(runs),
        "ablation": ablation(runs, "ours"),
    }.items():
        for ending in ("csv", "md", "tex", "html"):
            write(table, tmp_path / f"{name}.{ending}")
            assert (tmp_path / f"{name}.{ending}").stat().st_size > 50


def test_an_ablation_has_ratios_of_seconds_and_visits_and_their_mean():
    half = {"counters": {"iterations": 400}}
    runs = frame(
        [
            record("a", "ours", 1.0),
            record("a", "without", 4.0, **half),
            record("b", "ours", 1.0),
            record("b", "without", 9.0, **half),
            record("c", "ours", 1.0),
            record("c", "without", 30.0, status="time_limit"),
        ]
    )
    assert variants(runs, "ours") == ["without"]
    shown = ablation(runs, "ours").shown
    assert shown["problem"].tolist()[-2:] == ["geometric mean", "not certified"]
    assert shown["without"].tolist() == ["4.00 / 4.00", "9.00 / 4.00", "> 30.00", "6.00 / 4.00", "1"]


def markers(figure: Figure, panel: int) -> list[tuple[float, float, bool]]:
    marked = [line for line in figure.axes[panel].lines if line.get_linestyle() == "None"]
    return [(x, y, line.get_markerfacecolor() == "white") for line in marked for x, y in line.get_xydata()]


def test_the_scatter_has_a_point_per_problem_and_what_is_not_proven_at_the_border(runs):
    figure = profiles.scatter(runs, "ours")
    assert [ax.get_title("left") for ax in figure.axes] == ["peer"]
    border = 2 * 10.0
    assert sorted(markers(figure, 0)) == [(0.001, 0.016, False), (0.2, border, True), (1, 4, False), (2, 0.5, False)]


def test_the_figure_of_problems_proven_counts_proofs(runs):
    figure = profiles.certified(runs, "ours")
    steps = [line.get_xydata()[:, 1].max() for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"]
    assert sorted(steps) == [3, 5]


@pytest.mark.parametrize("draw", [profiles.scatter, profiles.certified])
def test_figures_are_the_same_every_time(draw, runs, tmp_path):
    for number, entries in enumerate((RECORDS, RECORDS[::-1])):
        plots.save(draw(frame(entries), "ours"), tmp_path / f"{number}.svg")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()


def test_an_algorithm_that_proves_nothing_has_a_profile():
    entries = [record("a", "ours", 1.0), record("a", "peer", 4.0, status="time_limit")]
    lines = profiles.profile(frame(entries)).axes[0].lines
    ends = {tuple(line.get_xydata()[0]) for line in lines if line.get_marker() != "None"}
    assert ends == {(1, 1), (1, 0)}
