"""Figures: content, legibility, and reproducible files."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.runs import records, run, shuffled

from optree.bench.figures import panels, plots, profiles, styles
from optree.bench.tables.frame import frame

DRAWN = {
    "search_seconds": lambda entries: plots.against_lambda(frame(entries), "search_seconds"),
    "iterations": lambda entries: plots.against_lambda(frame(entries), "iterations"),
    "accuracy": lambda entries: plots.accuracy(frame(entries)),
    "anytime": lambda entries: plots.anytime(frame(entries)),
}
MONKS = ("monks-1", "onehot-drop-first")


def titles(figure: Figure) -> list[tuple[str, ...]]:
    return [tuple(ax.get_title("left").split("\n")) for ax in figure.axes]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def markers(figure: Figure, title: tuple) -> list[tuple[float, float, bool]]:
    """(x, y, open) of the markers of a panel."""
    ax = figure.axes[titles(figure).index(title)]
    marked = [line for line in ax.lines if line.get_linestyle() == "None"]
    return [(x, y, line.get_markerfacecolor() == "white") for line in marked for x, y in line.get_xydata()]


def test_every_swept_dataset_has_a_panel_and_every_run_on_all_rows_a_point():
    figure = DRAWN["iterations"](records())
    assert titles(figure) == [MONKS, ("monks-1", "ordinal")]
    assert "branches, depth 2" in legend(figure)
    assert "stopped by a limit" not in legend(figure)  # every drawn search ended
    assert sorted(markers(figure, ("monks-1", "ordinal"))) == sorted(
        (float(entry["run"]["regularization"]), float(entry["counters"]["iterations"]), False)
        for entry in records()
        if entry["run"]["encoding"] == "ordinal" and entry["run"]["dataset"] == "monks-1"
    )
    ax = figure.axes[1]
    assert ax.xaxis.get_inverted()
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_without_a_sweep_all_datasets_are_drawn_and_stopped_searches_are_open():
    alone = [entry for entry in records() if entry["run"]["dataset"] == "tic-tac-toe"]
    figure = DRAWN["iterations"](alone)
    assert titles(figure) == [("tic-tac-toe", "onehot-drop-first"), ("tic-tac-toe", "ordinal")]
    assert markers(figure, ("tic-tac-toe", "onehot-drop-first")) == [(0.005, 2000.0, True)]
    assert [open_ for *_, open_ in markers(figure, ("tic-tac-toe", "ordinal"))] == [False]


def test_accuracy_shows_training_and_test():
    figure = DRAWN["accuracy"](records())
    assert titles(figure) == [MONKS, ("monks-1", "ordinal")]
    ax = figure.axes[titles(figure).index(MONKS)]
    seeds = frame(records()).query("dataset == 'monks-1' and algorithm == 'cart' and accuracy_test.notna()")
    means = seeds.groupby("lambda")["accuracy_test"].mean()
    bars = [bar for bar in ax.containers if bar.get_label()]
    assert any(np.allclose(sorted(bar[0].get_ydata()), sorted(means)) for bar in bars)


def test_the_course_of_a_search_ends_at_its_objective_and_bound():
    figure = DRAWN["anytime"](records())
    title = ("tic-tac-toe", "onehot-drop-first, lambda 0.005")
    assert title in titles(figure)
    entry = next(entry for entry in records() if entry["status"] == "iteration_limit")
    objective, bound = figure.axes[titles(figure).index(title)].lines[:2]
    assert objective.get_ydata()[-1] == pytest.approx(entry["objective"])
    assert bound.get_ydata()[-1] == pytest.approx(entry["objective_bound"])
    assert (np.diff(objective.get_ydata()) >= 0).all()
    assert (np.diff(bound.get_ydata()) <= 0).all()
    end = max(entry["trace"][-1][0], entry["seconds"]["search"])
    assert markers(figure, title) == [(end, pytest.approx(entry["objective"]), True)]


def test_a_search_without_exact_runs_has_no_course():
    with pytest.raises(panels.NothingToDraw, match="no exact search"):
        DRAWN["anytime"](entry for entry in records() if entry["run"]["algorithm"] == "cart")


def test_the_end_of_a_search_is_never_left_of_its_course():
    entry = next(entry for entry in records() if entry["status"] == "iteration_limit")
    last = entry["trace"][-1][0]
    entry = {**entry, "seconds": {**entry["seconds"], "search": last / 2}}  # the clock of the search stopped earlier
    figure = DRAWN["anytime"]([entry])
    course = figure.axes[0].lines[0].get_xdata()
    assert (np.diff(course) >= 0).all()
    assert markers(figure, titles(figure)[0])[0][0] == course[-1]


def colours(figure: Figure) -> dict[str, object]:
    """Return the colour of each entry of the legend."""
    drawn = figure.legends[0]
    return {text.get_text(): line.get_color() for text, line in zip(drawn.get_texts(), drawn.get_lines(), strict=True)}


def test_an_algorithm_has_one_colour_in_all_figures():
    runs = frame(records())
    looks = styles.styles(runs["algorithm"])
    figures = [draw(records()) for draw in DRAWN.values()] + [profiles.certified(runs)]
    for figure in figures:
        found = colours(figure)
        for name, look in looks.items():
            variants = [colour for label, colour in found.items() if label.split(", ")[0].split(" (")[0] == name]
            assert not variants or look.colour in variants
    assert {"branches", "cart"} <= set(colours(figures[-2])) | set(colours(figures[0]))


def test_usual_algorithms_have_the_same_colour_in_all_reports_and_none_is_used_twice_before_all_are_used():
    few, many_ = styles.styles(["cart", "optree"]), styles.styles(["a", "b", "cart", "optree", "zeta", "f", "g", "h"])
    assert few == {name: many_[name] for name in few}
    assert len({look.colour for look in many_.values()}) == len(many_)
    assert styles.styles(many_, ["zeta"]) == {"zeta": many_["zeta"]}


def test_dashes_of_a_tenth_algorithm_are_not_those_of_test_rows():
    runs = frame(records())
    many_ = pd.concat([runs.assign(algorithm=f"a{i}") for i in range(9)])
    own = [line for line in plots.accuracy(many_).legends[0].get_lines() if line.get_label().startswith("a8")]
    assert {line.get_linestyle() for line in own} == {"-"}
    assert styles.styles(many_["algorithm"])["a8"].dashes == "--"


def test_lines_that_coincide_are_seen():
    points = np.array([[1.0, 0.5], [2.0, 0.6]])
    assert styles.layers([points, points + 1, points, points[1:]]) == [0, 0, 1, 2]
    assert styles.layers([points, np.array([[1.0, 0.5], [2.0, 0.9]])]) == [0, 0]  # they only begin together
    ax = Figure().add_subplot()
    look = styles.Style("red", "o")
    styles.draw(ax, [styles.Curve(look, *points.T, np.array([True, True])) for _ in range(3)])
    widths = [line.get_linewidth() for line in ax.lines if line.get_linestyle() == "-"]
    sizes = [line.get_markersize() for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert widths == sorted(set(widths), reverse=True)  # drawn first, lowest and widest
    assert sizes == sorted(set(sizes), reverse=True)


@pytest.mark.parametrize("name", DRAWN)
def test_the_legend_has_no_entry_that_does_not_occur(name):
    ended = [entry for entry in records() if entry["status"] in ("optimal", "heuristic")]
    assert "stopped by a limit" not in legend(DRAWN[name](ended))
    with_limit = [entry for entry in records() if entry["run"]["dataset"] == "tic-tac-toe"]
    assert "stopped by a limit" in legend(DRAWN[name](with_limit))


def test_figures_without_data_are_listed_with_their_reason(tmp_path):
    def nothing():
        raise panels.NothingToDraw("no runs on folds")

    figures = {"iterations": lambda: DRAWN["iterations"](records()), "2": nothing}
    plots.draw_all(figures, {"iterations": "iterations", "2": "Figure 2"}, tmp_path / "figures", tmp_path / "not.txt")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["iterations.png", "iterations.svg"]
    assert (tmp_path / "not.txt").read_text() == "Figure 2: no runs on folds\n"


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_runs_give_the_same_file(name, tmp_path):
    for number, entries in enumerate((records(), shuffled())):
        plots.save(DRAWN[name](entries), tmp_path / f"{number}.svg")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()
    plots.save(DRAWN[name](records()), tmp_path / "0.png")
    assert (tmp_path / "0.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("datasets", "encodings", "panels_"),
    [(1, 1, 1), (2, 3, 6), (5, 2, 10), (7, 2, 14), (7, 3, 14), (15, 5, 15), (20, 1, 15)],
)
def test_panels_keep_their_size_and_each_dataset_has_one_if_there_is_room(datasets, encodings, panels_):
    one = frame([entry for entry in records() if entry["run"]["encoding"] == "ordinal"]).query("dataset == 'monks-1'")
    cells = itertools.product(range(datasets), range(encodings))
    figure = plots.accuracy(pd.concat([one.assign(dataset=f"d{d}", encoding=f"e{e}") for d, e in cells]))
    assert len(figure.axes) == panels_ <= panels.MAX_PANELS
    assert len({dataset for dataset, _ in titles(figure)}) == min(datasets, panels.MAX_PANELS)
    left_out = f"{panels_} of {datasets * encodings} panels" in " ".join(text.get_text() for text in figure.texts)
    assert left_out == (panels_ < datasets * encodings)
    width, height = figure.get_size_inches()
    rows, columns = figure.axes[0].get_subplotspec().get_gridspec().get_geometry()
    assert width / columns >= 2
    assert 1.9 <= height / rows <= 3
    assert columns <= 3


def test_panels_in_which_nothing_varies_are_left_out():
    one = frame([entry for entry in records() if entry["run"]["encoding"] == "ordinal"])
    swept, alone = one.query("dataset == 'monks-1'"), one.query("dataset == 'tic-tac-toe'")
    assert titles(plots.accuracy(pd.concat([swept, alone]))) == [("monks-1", "ordinal")]
    assert titles(plots.accuracy(alone)) == [("tic-tac-toe", "ordinal")]


def test_depth_limits_are_points_of_one_line_unless_lambda_varies_too():
    one = frame(records()).query("encoding == 'onehot-drop-first' and algorithm == 'branches' and split == 'full'")
    deep = one.query("dataset == 'monks-1' and `lambda` == 0.01")
    assert legend(plots.accuracy(deep))[:1] == ["branches"]
    assert legend(plots.accuracy(one.query("dataset == 'monks-1'")))[:2] == [
        "branches, depth 2",
        "branches, depth unlimited",
    ]


def test_the_course_of_another_measure_ends_at_its_objective():
    entry = run("monks-1", "onehot-drop-first", "0.01", algorithm="roc", measure="f1")
    objective, bound = DRAWN["anytime"]([entry]).axes[0].lines[:2]
    assert objective.get_ydata()[-1] == pytest.approx(entry["objective"])
    assert bound.get_ydata()[-1] == pytest.approx(entry["objective_bound"])
    assert 0 <= min(objective.get_ydata()) <= max(bound.get_ydata()) <= 1
