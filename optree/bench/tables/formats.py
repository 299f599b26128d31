"""The tables of the benchmark and their writers: CSV for programs; Markdown, LaTeX and HTML for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from optree.errors import choice
from optree.files import write_whole


@dataclass(frozen=True)
class Table:
    """A table, as numbers and as text, with its notes."""

    title: str  # one line
    data: pd.DataFrame  # numbers with all digits, for the CSV file
    shown: pd.DataFrame  # text, for the other files
    notes: tuple[str, ...]  # explanations below the table
    result: str = ""  # the conclusion, in one line above the table
    claims: pd.DataFrame | None = None  # the claims of a paper that the table judges; not written
    # Columns of ``shown`` whose words are links in HTML: by row, an address with ``{}`` in place of the word.
    linked: Mapping[str, pd.Series] = field(default_factory=dict)


def as_text(data: pd.DataFrame, forms: Mapping[str, str | Callable]) -> pd.DataFrame:
    """Return the data as text: columns by their formats, missing values empty, and all other columns by ``str``."""
    shown = data.astype(object)
    for name, form in forms.items():
        show = form.format if isinstance(form, str) else form
        shown[name] = ["" if pd.isna(value) else show(value) for value in data[name]]
    return shown.astype(str)


_NUMBER = re.compile(r"-?[\d.,]+(e\d+)?( ± [\d.,]+)?|")


def _right(shown: pd.DataFrame) -> list[bool]:
    """Return for each column whether it holds numbers, which are aligned to the right."""
    return [all(_NUMBER.fullmatch(text) for text in shown[name]) for name in shown]


def _markdown(table: Table) -> str:
    """Return the table in Markdown."""
    align = ["right" if right else "left" for right in _right(table.shown)]
    body = table.shown.to_markdown(index=False, disable_numparse=True, colalign=align)
    head = [f"# {table.title}", "", *([table.result, ""] if table.result else [])]
    return "\n".join([*head, body, "", *(f"- {note}" for note in table.notes), ""])


_TEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
    | {"^": r"\textasciicircum{}", "±": r"$\pm$", "λ": r"$\lambda$", "<": r"$<$", ">": r"$>$"}
)  # fmt: skip


def _latex(table: Table) -> str:
    """Return a longtable with the rules of booktabs, and the notes below it."""
    columns = "".join("r" if right else "l" for right in _right(table.shown))
    head, *rows = [" & ".join(text.translate(_TEX) for text in row) + r" \\" for row in _lines(table.shown)]
    lines = ["% \\usepackage{booktabs, longtable}; wide: set it in landscape", rf"\begin{{longtable}}{{{columns}}}"]
    lines += [rf"\caption{{{table.title.translate(_TEX)}}} \\", r"\toprule", head, r"\midrule", r"\endhead"]
    lines += [r"\bottomrule", r"\endfoot", *rows, r"\end{longtable}"]
    notes = [table.result, *table.notes] if table.result else table.notes
    return "\n".join([*lines, *(rf"\noindent {note.translate(_TEX)}\par" for note in notes), ""])


# The report shows pages in frames, where relative addresses lead nowhere; so the page asks the report to open them.
_LINKS = """
document.addEventListener("click", event => {
  const to = event.target.closest("a[href]")?.getAttribute("href");
  if (to === undefined || to.startsWith("#") || window.parent === window) return;
  event.preventDefault();
  window.parent.postMessage({open: to}, "*");
});
"""
PAGE_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; color: #222; margin: 1rem; }
h1 { font-size: 1.25rem; }
p, ul { max-width: 60rem; color: #444; }
"""


# The text keeps its size on a telephone, where wider content is scrolled.
HEAD = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1, minimum-scale=1">'
)


def html_page(title: str, body: str, style: str, script: str) -> str:
    """Return a self-contained page."""
    return (
        f"{HEAD}<title>{escape(title)}</title>\n"
        f"<style>{PAGE_STYLE}{style}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n"
        f"<script>{script}{_LINKS}</script></body></html>\n"
    )


STYLE = """
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th { position: sticky; top: 0; background: #fff; border-bottom: 2px solid #444; }
th { text-align: left; vertical-align: bottom; font-size: 12px; cursor: pointer; }
th[aria-sort=ascending]::after { content: " \\2191"; }
th[aria-sort=descending]::after { content: " \\2193"; }
th, td { padding: .2rem .3rem; }
td { border-bottom: 1px solid #ddd; vertical-align: top; }
td:first-child { position: sticky; left: 0; background: #fff; }
tr:hover td { background: #f3f6fa; }
.r { text-align: right; }
.PASS { color: #00664f; }
.CONSISTENT { color: #005a8f; }
.FAIL { color: #b23c00; }
.SKIPPED { color: #777; font-weight: 400; }
td:not([class]) { min-width: 11rem; overflow-wrap: anywhere; }
input.rows { font: inherit; padding: .25rem .5rem; width: min(24rem, 90%); }
@media (max-width: 700px) {
  table, thead, tbody, tr, th, td, td:not([class]) { display: block; min-width: 0; }
  .r { text-align: left; }
  thead tr { display: flex; flex-wrap: wrap; }
  th, td:first-child { position: static; border: 0; }
  ul { overflow-wrap: anywhere; }
  td { border: 0; padding: .1rem 0; overflow-wrap: anywhere; }
  td::before { color: #777; }
  td:empty, tr[hidden] { display: none; }
  tbody tr { border-bottom: 1px solid #999; padding: .4rem 0; }
}
"""
_RESULTS = ("PASS", "CONSISTENT", "FAIL", "SKIPPED")  # Results of claims that are shown in colour.
SORT = """
const heads = table => [...table.tHead.rows[0].cells];
document.querySelectorAll("thead").forEach(({parentNode: table}) => heads(table).forEach((head, column) => {
  head.tabIndex = 0;
  head.addEventListener("keydown", event => event.key === "Enter" && head.click());
  head.addEventListener("click", () => sort(table, head, column));
}));
function sort(table, head, column) {
  const up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
  const number = text => Number(text.replaceAll(",", "").match(/-?[\\d.]+(e-?\\d+)?/)?.[0] ?? 1e300);
  const order = (a, b) => {
    const [x, y] = [a, b].map(row => row.cells[column].textContent), [p, q] = [x, y].map(number);
    return (head.classList.contains("r") ? p - q : x.localeCompare(y, undefined, {numeric: true})) * (up ? 1 : -1);
  };
  heads(table).forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(...[...body.rows].sort(order));
}
document.querySelectorAll("input.rows").forEach(filter => filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\\s+/), place = filter.parentNode;
  const rows = [...place.nextElementSibling.tBodies[0].rows];
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  const left = rows.filter(row => !row.hidden).length;
  place.querySelector("output").textContent = `${left} of ${rows.length} rows`;
}));
"""
_MANY_ROWS = 20  # A page of more rows has a filter.
_FILTER = """<p><input class="rows" type="search" placeholder="filter rows: words" aria-label="filter rows">
<output></output></p>"""


def _cell(text: str, address: str = "") -> str:
    """Return a cell's HTML: results of claims are highlighted, and each word is a link if there is an address."""
    if address:
        words = ((quote(address.format(word), safe="/#."), escape(word)) for word in text.split())
        return " ".join(f'<a href="{to}">{word}</a>' for to, word in words)
    kind = text.removeprefix("known ")
    return f'<b class="{kind}">{escape(text)}</b>' if kind in _RESULTS else escape(text)


def _rows(table: Table) -> list[str]:
    """Return the HTML of head and rows, with a class for the kind of each column."""
    short = [table.shown[name].map(len).max() < 40 for name in table.shown]
    kinds = ["r" if right else "n" if narrow else "" for right, narrow in zip(_right(table.shown), short, strict=True)]
    css = [f' class="{kind}"' if kind else "" for kind in kinds]
    addresses = [table.linked[name] if name in table.linked else [""] * len(table.shown) for name in table.shown]
    head, *rows = _lines(table.shown)
    cells = [
        [f"<td{c}>{_cell(text, to)}</td>" for c, text, to in zip(css, line, to_, strict=True)]
        for line, to_ in zip(rows, zip(*addresses, strict=True), strict=True)
    ]
    cells.insert(0, [f"<th{c}>{escape(name)}</th>" for c, name in zip(css, head, strict=True)])
    return [f"<tr>{''.join(line)}</tr>" for line in cells]


def labels(shown: pd.DataFrame, scope: str = "") -> str:
    """Return the style that names each cell on a telephone, where a row is a list of its cells.

    ``scope`` selects the table on a page of several.
    """
    names = [name.translate({ord(c): f"\\{ord(c):x} " for c in '"\\<'}) for name in shown]
    rules = (f'{scope} td:nth-child({i})::before {{ content: "{name}: "; }}' for i, name in enumerate(names, start=1))
    return f"@media (max-width: 700px) {{ {' '.join(rules)} }}"


def fragment(table: Table) -> str:
    """Return the table as a part of a page with :data:`STYLE` and :data:`SORT`: result, filter, rows and notes.

    A click on a column's head sorts by it, and many rows have a filter.
    """
    head, *rows = _rows(table)
    notes = [f"<li>{escape(note)}</li>" for note in table.notes]
    filtered = [_FILTER] if len(rows) > _MANY_ROWS else []
    lines = [
        f"<p>{escape(table.result or 'No run has a row in this table.' * table.shown.empty)}</p>",
        *filtered,
        f"<table><thead>{head}</thead><tbody>",
        *rows,
        "</tbody></table>",
    ]
    return "\n".join([*lines, "<ul>", *notes, "</ul>"])


def _html(table: Table) -> str:
    """Return one self-contained page."""
    return html_page(table.title, fragment(table), STYLE + labels(table.shown), SORT)


def _lines(shown: pd.DataFrame) -> list[list[str]]:
    """Return the texts of head and rows."""
    return [list(shown.columns), *shown.to_numpy().tolist()]


_WRITERS = {".csv": lambda table: table.data.to_csv(index=False), ".md": _markdown, ".tex": _latex, ".html": _html}


def write(table: Table, path: str | Path) -> None:
    """Write a table in the format that the file's name ends with: .csv, .md, .tex or .html."""
    path = Path(path)
    if path.suffix not in _WRITERS:
        raise choice(f"{path}: format", path.suffix, _WRITERS)
    write_whole(path, _WRITERS[path.suffix](table).encode())
