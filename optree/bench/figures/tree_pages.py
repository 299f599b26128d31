"""The optimal trees of all runs as pictures: a page per dataset, on which each different tree is drawn once.

Many solvers return the same tree, and so do neighbouring lambdas: a picture says which runs proved it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape

import pandas as pd

from optree.bench.runs.folds import FULL, fold_name
from optree.bench.tables.comparison import CERTIFIED, PROBLEM
from optree.bench.tables.formats import HEAD, LINKS, Table, count
from optree.bench.tables.frame import CONSTRAINTS
from optree.drawing import svg
from optree.tree import Tree

MOST = 1000  # pictures on a page: about four megabytes
MOST_SPLITS = 20  # of a tree without a proof that is still readable
_CELL = ["dataset", "encoding", "algorithm"]


def numbered(runs: pd.DataFrame) -> pd.Series:
    """For each run the number of its tree's picture on the page of its dataset; NA where none is drawn.

    Drawn are the trees that are proven optimal, and of each dataset, encoding and algorithm without a proof one tree:
    that of the smallest lambda, as far as possible on all rows, not stopped by a limit, and small enough to be read
    (:data:`MOST_SPLITS`). First come those on all rows, then seeds and folds; of more than :data:`MOST` the last are
    not drawn.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    """
    drawn = runs[runs["tree"].notna() & (runs["status"].eq(CERTIFIED) | _representative(runs))]
    drawn = drawn.assign(seeded=drawn["split"].ne(FULL)).sort_values(
        ["seeded", "encoding", "measure", "penalty", "lambda", *CONSTRAINTS, "split"],
        ascending=[True, True, True, True, False, True, True, True, True],
        na_position="first",
        kind="stable",
    )
    texts = drawn["tree"].map(lambda tree: json.dumps(tree, sort_keys=True))
    numbers = texts.groupby(drawn["dataset"], sort=False).transform(lambda own: pd.factorize(own)[0] + 1)
    return numbers.where(numbers <= MOST).reindex(runs.index).astype("Int64")


def _representative(runs: pd.DataFrame) -> pd.Series:
    """Whether a run's tree stands for those of its dataset, encoding and algorithm, of which none is proven optimal."""
    open_ = ~runs["status"].eq(CERTIFIED).groupby([runs[key] for key in _CELL]).transform("any")
    there = runs[open_ & runs["tree"].notna()]
    wishes = pd.DataFrame(
        {
            "seeded": there["split"].ne(FULL),
            "large": there["splits"].gt(MOST_SPLITS).fillna(False),
            "stopped": there["status"].ne("heuristic"),
            "lambda": there["lambda"],
            "shallow": -there["max_depth"].astype(float).fillna(float("inf")),
        }
    )
    chosen = wishes.sort_values(list(wishes), kind="stable").index
    first = ~there.loc[chosen, _CELL].duplicated()
    return pd.Series(runs.index.isin(first.index[first]), runs.index)


def page(runs: pd.DataFrame, dataset: str, fits: pd.DataFrame | None = None) -> str:
    """The page of a dataset: a card per tree, with its picture and the runs or fits that gave it.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`: all of them, for the proofs that others refute.
    dataset : str
    fits : pandas.DataFrame, optional
        From :func:`optree.bench.fits.frame.frame`.
    """
    own = runs.assign(number=numbered(runs)).query("dataset == @dataset")
    cards = [_card(int(number), same) for number, same in own.groupby("number")]
    proven = own["status"].eq(CERTIFIED)
    told = _introduction(own, proven)
    if fits is not None and (fitted := _of_fits(fits, dataset, int(own["number"].max() if len(cards) else 0))):
        cards += fitted
        told += " The last are of estimators that were fitted to numbers as they are, and proved them."
    title = escape(f"{dataset}: {'optimal trees' if proven.any() else 'trees'}")
    return "\n".join(
        [
            f"{HEAD}<title>{title}</title><style>{_STYLE}{svg.style()}</style></head>",
            f'<body><h1>{title}</h1><p>{escape(told)} <a href="../../tables/summary.html">All runs</a></p>',
            '<p><label>Show those with <input type="search" placeholder="0.01 gosdt" autocomplete="off"></label>'
            " <output></output></p>",
            *(cards or ["<p>No run of this dataset gave a tree.</p>"]),
            f"<script>{_FILTER}{LINKS}</script></body></html>\n",
        ]
    )


def _introduction(runs: pd.DataFrame, proven: pd.Series) -> str:
    """What is on the page of these runs."""
    if proven.any():
        searches = f"{count(int(proven.sum()), 'search', 'searches')} of {len(runs):,}"
        trees = count(runs.loc[proven, "number"].nunique(), "different tree")
        told = (
            f"{searches} ended with a proof of optimality, and gave {trees}: each is drawn once. Where an algorithm "
            "proves nothing, one of its trees is drawn beside them."
        )
    else:
        told = "No search ended with a proof of optimality: one tree of each algorithm is drawn."
    told += (
        " Leaves say their class and how many of their rows have it; leaves of one class under one split are drawn as "
        "one, and leaves without rows are left out."
    )
    if left_out := int((proven & runs["number"].isna()).sum()):
        told += f" There is no room for the trees of {left_out:,} further proven runs, the last in this order."
    return told


def _card(number: int, runs: pd.DataFrame) -> str:
    """A tree: its size, the problems it solves and by whom that is proven, and its picture."""
    one = runs.iloc[0]
    size = f"{count(one['splits'], 'split')}, {count(one['leaves'], 'leaf', 'leaves')}, depth {one['depth']}"
    rows = f"{one['errors_train']:,} of {one['rows_train']:,} rows wrong"
    rows += "" if runs["status"].eq(CERTIFIED).any() else "; not proven"
    lines = [_told(same) for _, same in runs.groupby(PROBLEM, dropna=False, sort=False)]
    return _article(number, f"{size}; {rows}", lines, Tree.from_dict(one["tree"]))


def _article(number: int, title: str, lines: list[str], tree: Tree) -> str:
    items = "".join(f"<li>{line}</li>" for line in lines)
    return (
        f'<article id="{number}"><h2><a href="#{number}">{number}</a> {title}</h2>'
        f"<ul>{items}</ul><div>{svg.to_svg(tree)}</div></article>"
    )


def _of_fits(fits: pd.DataFrame, dataset: str, last: int) -> list[str]:
    """Cards of the trees that fits of a dataset have proven optimal, numbered from the last one on."""
    proven = fits[fits["dataset"].eq(dataset) & fits["status"].eq(CERTIFIED) & fits["tree"].notna()]
    texts = proven["tree"].map(lambda tree: json.dumps(tree, sort_keys=True))
    cards = []
    for number, (_, same) in enumerate(proven.groupby(texts, sort=False), last + 1):
        tree = Tree.from_dict(same["tree"].iloc[0])
        size = f"{count(tree.n_splits, 'split')}, {count(tree.n_leaves, 'leaf', 'leaves')}, depth {tree.depth}"
        lines = []
        for _, fit in same.iterrows():
            split = f", {name}" if (name := fold_name(fit["split"])) else ""
            lines.append(escape(f"{fit['model']}{split}: training accuracy {fit['train']:.5f}, proven"))
        cards.append(_article(number, size, lines, tree))
    return cards[: max(0, MOST - last)]


def _told(runs: pd.DataFrame) -> str:
    """A problem, and the algorithms that gave this tree for it, those that prove it first."""
    one = runs.iloc[0]
    text = f"{one['encoding']}, lambda {one['regularization']} per {one['penalty']}"
    if one["measure"] != "accuracy":
        text += f", {one['measure']}"
    limits = zip(("depth", "splits", "rows in a leaf"), CONSTRAINTS, ("at most", "at most", "at least"), strict=True)
    for what, name, bound in limits:
        if not pd.isna(one[name]) and (name, one[name]) != ("min_samples_leaf", 1):
            text += f", {what} {bound} {one[name]}"
    text += f", {split}" if (split := fold_name(one["split"])) else ""
    text = f"{escape(text)}: objective {one['objective']:.5f}"
    others = runs[runs["status"].ne(CERTIFIED)]
    proven = list(dict.fromkeys(runs.loc[runs["status"].eq(CERTIFIED), "algorithm"]))
    said = [f"proven by <b>{escape(', '.join(proven))}</b>"] if proven else []
    said += [
        f"{escape(name)} ({escape(status)})" for name, status in zip(others["algorithm"], others["status"], strict=True)
    ]
    return f"{text}, {'; '.join(said)}"


def linked(table: Table, runs: pd.DataFrame) -> Table:
    """A table whose datasets, if it has a column of these, are links to the pages of their trees."""
    if "dataset" not in table.shown:
        return table
    there = table.shown["dataset"].isin(set(runs["dataset"]))
    return replace(table, linked={**table.linked, "dataset": there.map({True: "../plots/trees/{}.html", False: ""})})


_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; color: #222; margin: 1.5rem; }
h1 { font-size: 1.25rem; }
p { max-width: 60rem; color: #444; }
article { border-top: 1px solid #ccc; padding: .6rem 0 1rem; break-inside: avoid; }
article[hidden] { display: none; }
article:target { background: #f3f6fa; box-shadow: 0 0 0 .5rem #f3f6fa; }
h2 { font-size: 1rem; margin: .2rem 0; }
h2 a { display: inline-block; min-width: 1.6rem; text-decoration: none; }
ul { margin: .2rem 0 .8rem; padding-left: 1.2rem; max-width: 60rem; overflow-wrap: anywhere; }
article div { overflow-x: auto; }
input { font: inherit; width: 14rem; max-width: 60vw; }
@media print { article div { overflow: visible; } .tree { max-width: 100%; height: auto; } label { display: none; } }
"""
_FILTER = """
const cards = [...document.querySelectorAll("article")].map(card => [card, card.textContent.toLowerCase()]);
const toRoots = () => cards.forEach(([card]) => {  // of what is wider than the page
  const frame = card.querySelector("div"), root = card.querySelector("text:last-of-type");
  frame.scrollLeft = root.getAttribute("x") - frame.clientWidth / 2;
});
toRoots();
window.addEventListener("resize", toRoots);
document.querySelector("input").addEventListener("input", event => {
  const words = event.target.value.toLowerCase().split(/\\s+/);
  cards.forEach(([card, text]) => card.hidden = !words.every(word => text.includes(word)));
  document.querySelector("output").textContent = `${cards.filter(([card]) => !card.hidden).length} of ${cards.length}`;
});
"""
