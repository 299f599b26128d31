"""Pages of the optimal trees of all runs: a page per dataset, on which each different tree is drawn once.

Many solvers and neighbouring lambdas return the same tree. The text above a picture names the runs that proved it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from html import escape

import pandas as pd

from optree.bench.runs.folds import FULL, fold_name
from optree.bench.tables.comparison import CERTIFIED, PROBLEM
from optree.bench.tables.formats import Table, html_page
from optree.drawing import svg
from optree.objective import CONSTRAINTS
from optree.tree import Tree
from optree.words import count, size_text

MAX_PICTURES = 1000  # Of a page; about four megabytes.
MAX_SPLITS = 20  # A larger tree without a proof is drawn only if no smaller one exists.
_GROUP = ["dataset", "encoding", "algorithm"]
_TREE = ["tree", "number", "splits", "leaves", "depth"]
_FACTS = [*PROBLEM, *_TREE, "status", "algorithm", "objective", "errors_train", "rows_train"]


def picture_numbers(runs: pd.DataFrame) -> pd.Series:
    """Return for each run the number of its tree's picture on the page of its dataset; NA if the tree is not drawn.

    All trees that are proven optimal are drawn. An algorithm without a proof on a dataset and encoding has one tree. If
    possible, this tree is on all rows, was not stopped by a limit, and has at most :data:`MAX_SPLITS` splits. The
    smallest lambda decides between several such trees. Trees on all rows come first, then seeds and folds. Pictures
    beyond :data:`MAX_PICTURES` are omitted.
    """
    drawn = runs[runs["tree"].notna() & (runs["status"].eq(CERTIFIED) | _representative(runs))]
    keys = ["seeded", "encoding", "measure", "penalty", "lambda", *CONSTRAINTS, "feature_costs", "split"]
    drawn = drawn.assign(seeded=drawn["split"].ne(FULL)).sort_values(
        keys, ascending=[key != "lambda" for key in keys], na_position="first", kind="stable"
    )
    numbers = _texts(drawn).groupby(drawn["dataset"], sort=False).transform(lambda own: pd.factorize(own)[0] + 1)
    return numbers.where(numbers <= MAX_PICTURES).reindex(runs.index).astype("Int64")


def _texts(trees: pd.DataFrame) -> pd.Series:
    """Return each tree as text; equal trees have equal texts."""
    return trees["tree"].map(lambda tree: json.dumps(tree, sort_keys=True))


def _representative(runs: pd.DataFrame) -> pd.Series:
    """Return for each run whether its tree represents a dataset, encoding and algorithm without a proof."""
    unproven = ~runs["status"].eq(CERTIFIED).groupby([runs[key] for key in _GROUP]).transform("any")
    candidates = runs[unproven & runs["tree"].notna()]
    candidates = candidates.assign(
        seeded=candidates["split"].ne(FULL),
        large=candidates["splits"].gt(MAX_SPLITS).fillna(False),
        stopped=candidates["status"].ne("heuristic"),
        shallow=-candidates["max_depth"].astype(float).fillna(float("inf")),
    ).sort_values(["seeded", "large", "stopped", "lambda", "shallow"], kind="stable")
    return pd.Series(runs.index.isin(candidates.drop_duplicates(_GROUP).index), runs.index)


def page(runs: pd.DataFrame, dataset: str, models: pd.DataFrame | None = None) -> str:
    """Return the page of a dataset: a card per tree, with its picture and the runs that returned it."""
    body = f'<p><a href="../../tables/summary.html">All runs</a></p>\n{fragment(runs, dataset, models)}'
    is_proven = (runs["dataset"].eq(dataset) & runs["status"].eq(CERTIFIED)).any()
    return html_page(f"{dataset}: {'optimal trees' if is_proven else 'trees'}", body, STYLE + svg.style(), FILTER)


def fragment(runs: pd.DataFrame, dataset: str, models: pd.DataFrame | None = None) -> str:
    """Return the trees of a dataset as a part of a page with :data:`STYLE`, :func:`svg.style` and :data:`FILTER`."""
    own = runs.assign(number=picture_numbers(runs)).loc[runs["dataset"].eq(dataset), _FACTS]
    own["problem"] = own.groupby(PROBLEM, dropna=False, sort=False).ngroup()
    drawn = own[own["number"].notna()].sort_values("number", kind="stable").to_dict("records")
    cards = [_card(int(number), same) for number, same in _by(drawn, "number")]
    proven = own["status"].eq(CERTIFIED)
    introduction = _introduction(own, proven)
    if models is not None and (fitted := _model_cards(models, dataset, int(own["number"].max() if len(cards) else 0))):
        cards += fitted
        introduction += " The last trees are from estimators that were fitted to the raw numbers and proved them."
    body = [
        f"<p>{escape(introduction)}</p>",
        '<p><label>Show trees with <input class="trees" type="search" placeholder="0.01 gosdt" autocomplete="off">'
        "</label> <output></output></p>",
        *(cards or ["<p>No run of this dataset returned a tree.</p>"]),
    ]
    return "\n".join(body)


def _introduction(runs: pd.DataFrame, proven: pd.Series) -> str:
    """Return the introduction of a page."""
    if proven.any():
        searches = f"{count(int(proven.sum()), 'search', 'searches')} of {len(runs):,}"
        trees = count(runs.loc[proven, "number"].nunique(), "different tree")
        text = (
            f"{searches} ended with a proof of optimality, and returned {trees}; each is drawn once. For an algorithm "
            "without a proof, one of its trees is drawn too."
        )
    else:
        text = "No search ended with a proof of optimality; one tree of each algorithm is drawn."
    text += (
        " A bar shows the class shares of the rows of a node. A leaf shows its class, and how many of its rows are of "
        "this class. Leaves of the same class under one split are drawn as one; leaves without rows are omitted."
    )
    if omitted := int((proven & runs["number"].isna()).sum()):
        text += f" The page has no room for the trees of {omitted:,} more proven runs, the last in this order."
    return text


def _by(runs: list[dict], key: str) -> Iterable[tuple[int, list[dict]]]:
    """Return the values of a key in the order of their first runs, each with its runs."""
    found = defaultdict(list)
    for run in runs:
        found[run[key]].append(run)
    return found.items()


def _card(number: int, runs: list[dict]) -> str:
    """Return the card of a tree: its size, the problems that it solves, the algorithms that prove it, its picture."""
    one = runs[0]
    size = size_text(one["splits"], one["leaves"], one["depth"])
    rows = f"{one['errors_train']:,} of {one['rows_train']:,} rows wrong"
    rows += "" if any(run["status"] == CERTIFIED for run in runs) else "; not proven"
    lines = [_problem_line(same) for _, same in _by(runs, "problem")]
    return _article(number, f"{size}; {rows}", lines, Tree.from_dict(one["tree"]))


def _article(number: int, title: str, lines: list[str], tree: Tree) -> str:
    """Return the HTML of a card."""
    items = "".join(f"<li>{line}</li>" for line in lines)
    return (
        f'<article id="{number}"><h2><a href="#{number}">{number}</a> {title}</h2>'
        f"<ul>{items}</ul><div>{svg.to_svg(tree)}</div></article>"
    )


def _model_cards(models: pd.DataFrame, dataset: str, last: int) -> list[str]:
    """Return cards of the trees that models of a dataset proved optimal, numbered after ``last``."""
    proven = models[models["dataset"].eq(dataset) & models["status"].eq(CERTIFIED) & models["tree"].notna()]
    cards = []
    for number, (_, same) in enumerate(proven.groupby(_texts(proven), sort=False), last + 1):
        tree = Tree.from_dict(same["tree"].iloc[0])
        size = size_text(tree.n_splits, tree.n_leaves, tree.depth)
        lines = []
        for _, run in same.iterrows():
            split = f", {name}" if (name := fold_name(run["split"])) else ""
            lines.append(escape(f"{run['model']}{split}: training accuracy {run['train']:.5f}, proven"))
        cards.append(_article(number, size, lines, tree))
    return cards[: max(0, MAX_PICTURES - last)]


def _problem_line(runs: list[dict]) -> str:
    """Return a line on a problem: its settings, and the algorithms that returned the tree, proofs first."""
    one = runs[0]
    text = f"{one['encoding']}, lambda {one['regularization']} per {one['penalty']}"
    if one["feature_costs"]:
        text += f", feature costs {one['feature_costs']}"
    if one["measure"] != "accuracy":
        text += f", {one['measure']}"
    for name, constraint in CONSTRAINTS.items():
        if not pd.isna(one[name]) and one[name] != constraint.unset:
            text += f", {constraint.noun} {constraint.bound} {one[name]}"
    text += f", {split}" if (split := fold_name(one["split"])) else ""
    text = f"{escape(text)}: objective {one['objective']:.5f}"
    proven = dict.fromkeys(run["algorithm"] for run in runs if run["status"] == CERTIFIED)
    algorithms = [f"proven by <b>{escape(', '.join(proven))}</b>"] if proven else []
    others = (run for run in runs if run["status"] != CERTIFIED)
    algorithms += [f"{escape(run['algorithm'])} ({escape(run['status'])})" for run in others]
    return f"{text}, {'; '.join(algorithms)}"


def with_links(table: Table, runs: pd.DataFrame) -> Table:
    """Return the table with links from its datasets, if it has a column of these, to the pages of their trees."""
    if "dataset" not in table.shown:
        return table
    has_page = table.shown["dataset"].isin(set(runs["dataset"]))
    return replace(table, linked={**table.linked, "dataset": has_page.map({True: "../plots/trees/{}.html", False: ""})})


STYLE = """
article { border-top: 1px solid #ccc; padding: .6rem 0 1rem; break-inside: avoid; }
article[hidden] { display: none; }
article:target { background: #f3f6fa; box-shadow: 0 0 0 .5rem #f3f6fa; }
article h2 { font-size: 1rem; margin: .2rem 0; }
article h2 a { display: inline-block; min-width: 1.6rem; text-decoration: none; }
article ul { margin: .2rem 0 .8rem; padding-left: 1.2rem; overflow-wrap: anywhere; }
article div { overflow-x: auto; }
.tree { height: auto; }
input.trees { font: inherit; width: 14rem; max-width: 60vw; }
@media print { article div { overflow: visible; } .tree { max-width: 100% !important; } label { display: none; } }
"""
FILTER = """
const cards = [...document.querySelectorAll("article")].map(card => [card, card.textContent.toLowerCase()]);
const middle = element => { const box = element.getBoundingClientRect(); return box.left + box.width / 2; };
const toRoots = () => cards.forEach(([card]) => {  // Shrink wide trees to two thirds, and scroll to roots.
  const frame = card.querySelector("div"), tree = frame.querySelector("svg"), texts = tree.querySelectorAll("text");
  tree.style.maxWidth = `max(100%, ${tree.getAttribute("width") / 1.5}px)`;
  frame.scrollLeft += middle(texts[texts.length - 1]) - middle(frame);
});
toRoots();
window.addEventListener("resize", toRoots);
document.querySelectorAll("input.trees").forEach(input => input.addEventListener("input", event => {
  const words = event.target.value.toLowerCase().split(/\\s+/);
  cards.forEach(([card, text]) => card.hidden = !words.every(word => text.includes(word)));
  const left = cards.filter(([card]) => !card.hidden).length;
  input.closest("p").querySelector("output").textContent = `${left} of ${cards.length}`;
}));
"""
