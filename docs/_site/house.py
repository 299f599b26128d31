"""The pages of the site that are made of the repository: Markdown from other folders, solver families, the reference.

They are written into docs/generated before Sphinx reads the sources, so that each text stands in one place.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from sphinx.domains.python import PyObject

import optree
from optree import solvers
from optree.solvers.__main__ import accepted, linked

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = DOCS / "generated"

# Markdown of other folders, by the page that it becomes.
INCLUDED = {
    "configuration": "config/README.md",
    "contributing": "CONTRIBUTING.md",
    "measurements": "benchmarks/README.md",
    "verifier": "verify/README.md",
    "shipped-proofs": "resources/proofs/README.md",
    "changes": "CHANGELOG.md",
}
REFERENCE = {
    "Classification": (
        "OptimalTreeClassifier",
        "OptimalTreeClassifierCV",
        "MurTreeClassifier",
        "DL85Classifier",
        "GOSDTClassifier",
        "BranchesClassifier",
        "SPLITClassifier",
        "LicketySPLITClassifier",
        "DPDTreeClassifier",
        "DPDTGradientBoostingClassifier",
    ),
    "Regression": (
        "OptimalTreeRegressor",
        "MurTreeRegressor",
        "DPDTreeRegressor",
        "DPDTGradientBoostingRegressor",
    ),
    "Actions": ("OptimalPolicyTree",),
    "Sets of trees": ("RashomonSet",),
}
PARTS = {  # the nouns below the estimators: module and class
    "tree": "Tree",
    "problem": "Problem",
    "columns": "CodedColumns",
    "target": "Classes",
    "objective": "Objective",
    "budget": "Budget",
    "result": "Result",
    "encoding": "Encoder",
    "errors": "OptreeError",
}
STABILITY = {"stability": "function", "leaves": "function", "interval": "function", "Stability": "class"}
_AUTO = "```{{eval-rst}}\n.. autoclass:: {}\n```\n"


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the docstring of a module, and of each of its functions that states a bound, with the name."""
    module = ast.parse(path.read_text())
    yield "", ast.get_docstring(module) or ""
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and "Statement" in (text := ast.get_docstring(node) or ""):
            yield node.name, re.split(r"\n\w+\n---", text)[0]


def _shown(text: str) -> str:
    """Return a docstring for a Markdown page: with a Markdown table unchanged, otherwise as reStructuredText."""
    if "|---|" in text:
        return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    parts = re.split(r"(``.*?``|`.*?`)", text, flags=re.DOTALL)
    parts[::2] = (part.replace("|", r"\|") for part in parts[::2])
    return "```{eval-rst}\n" + "".join(parts) + "\n```"


def _family(folder: Path, names: list[str]) -> str:
    """Return the page of a family of solvers: declarations, and docstrings with ideas, sources and bounds."""
    (_, text), *_ = _docstrings(folder / "__init__.py")
    page = f"# {', '.join(names)}\n\n{_shown(text)}\n"
    for solver in map(solvers.get, names):
        page += f"\n## `{solver.name}`\n\n{solver.title[0].upper()}{solver.title[1:]}.\n\n"
        page += f"- Paper: {linked(solver.paper)}\n- Ends with a proof: {'yes' if solver.exact else 'no'}\n"
        page += f"- Accepts: {accepted(solver) or 'binary splits only'}\n- An iteration is {solver.iteration}.\n"
        if solver.parameters:
            page += "\n| parameter | default | meaning |\n|---|---|---|\n"
            for name, one in solver.parameters.items():
                page += f"| `{name}` | `{one.default!r}` | {one.doc.replace('|', chr(92) + '|')} |\n"
    page += "\n## Ideas, complexity and proofs\n\nThese are the docstrings of the modules that search and bound.\n"
    declared = {ROOT / (solvers.module_of(name).replace(".", "/") + ".py") for name in names}
    for path in sorted(folder.rglob("*.py"), key=lambda path: (path not in declared, path)):
        texts = [(name, text) for name, text in _docstrings(path) if path in declared or "Statement" in text or name]
        if path.name == "__init__.py" or not texts:
            continue
        page += f"\n### `{path.relative_to(ROOT)}`\n"
        for name, text in texts:
            page += f"\n**`{name}`**\n" if name else ""
            page += f"\n{_shown(text)}\n"
    return page


def _families() -> dict[str, list[str]]:
    """Return the solvers of each family's folder."""
    found: dict[str, list[str]] = {}
    for name in solvers.names():
        found.setdefault(solvers.module_of(name).split(".")[2], []).append(name)
    return found


def _tree(title: str, pages: list[str], text: str = "", head: str = "#") -> str:
    return f"{head} {title}\n\n{text}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    for page, path in INCLUDED.items():
        yield page, (ROOT / path).read_text()
    families = _families()
    for family, names in families.items():
        yield f"solvers/{family}", _family(ROOT / "optree" / "solvers" / family, names)
    text = (
        "Each page has the solvers of one family: the paper, the idea, the complexity, and each bound with its proof."
    )
    yield "solvers/index", _tree("Families of solvers", list(families), text)
    missing = {name for name in optree.__all__ if name[0].isupper()} - {
        n for group in REFERENCE.values() for n in group
    }
    if missing:
        raise ValueError(f"docs/_site/house.py: REFERENCE has no {', '.join(sorted(missing))}")
    reference = "# Reference\n\nEvery estimator is a scikit-learn estimator, and is imported from `optree`.\n"
    for title, names in REFERENCE.items():
        reference += "\n" + _tree(title, list(names), head="##")
        for name in names:
            yield f"reference/{name}", f"# {name}\n\n" + _AUTO.format(f"optree.{name}")
    reference += "\n" + _tree("Parts", list(PARTS), "The objects of which solvers and estimators are made.", "##")
    for module, name in PARTS.items():
        yield f"reference/{module}", f"# `optree.{module}.{name}`\n\n" + _AUTO.format(f"optree.{module}.{name}")
    text = "Functions and classes of `optree.stability`, which [How sure is a tree?](../../stability.md) uses."
    yield (
        "reference/stability",
        f"# `optree.stability`\n\n{text}\n\n"
        + "\n".join(
            f"```{{eval-rst}}\n.. auto{kind}:: optree.stability.{name}\n```\n" for name, kind in STABILITY.items()
        ),
    )
    yield "reference/index", reference + "\n" + _tree("Stability", ["stability"], head="##")


def write(app) -> None:
    """Write the pages that have changed, and remove pages that no longer exist."""
    kept = set()
    for name, text in pages():
        kept.add(path := GENERATED / f"{name}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in set(GENERATED.rglob("*.md")) - kept:
        path.unlink()


def _resolve(docname: str, text: str) -> str:
    """Point links at pages of the site; a file that is no page is named in the text."""
    page = DOCS / f"{docname}.md"
    included = {ROOT / path: GENERATED / f"{name}.md" for name, path in INCLUDED.items()}
    original = next((path for path, made in included.items() if made == page), page)
    included[ROOT / "README.md"] = DOCS / "index.md"

    def moved(link: re.Match) -> str:
        path, _, anchor = link["target"].partition("#")
        target = Path(os.path.normpath(original.parent / path))
        if not path or "://" in path or not target.exists():
            return link[0]
        if target.suffix == ".md" and (target in included or DOCS in target.parents):
            new = os.path.relpath(included.get(target, target), page.parent)
            return f"[{link['text']}]({new}{'#' if anchor else ''}{anchor})"
        if link["image"]:
            return f"![{link['text']}]({os.path.relpath(target, page.parent)})"
        name, shown = str(target.relative_to(ROOT)), link["text"]
        return f"`{name}`" if name in shown else f"{shown} (`{name}`)"

    text = re.sub(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)", moved, text)
    return re.sub(r"^```(python|csv|yaml) (?:file|append)=(\S+)$", _named, text, flags=re.MULTILINE)


def _drawn(docname: str, text: str) -> str:
    """Run each block of code that is marked as a plot, and add the figure that the block draws."""
    numbers = count(1)

    def draw(block: re.Match) -> str:
        plt.close("all")
        exec(compile(block[1], f"{docname}.md", "exec"), {})
        path = GENERATED / "plots" / f"{docname}-{next(numbers)}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        plt.gcf().savefig(path, bbox_inches="tight", metadata={"Date": None})
        shown = os.path.relpath(path, (DOCS / docname).parent)
        return f"```python\n{block[1]}```\n\n![The figure that this code draws]({shown})"

    with matplotlib.rc_context({"svg.hashsalt": "optree", "svg.fonttype": "none"}):
        return re.sub(r"^```python plot\n(.*?)^```$", draw, text, flags=re.MULTILINE | re.DOTALL)


def _named(fence: re.Match) -> str:
    """Return a fence with the name of its file as a caption."""
    return f"```{{code-block}} {fence[1].replace('csv', 'text')}\n:caption: `{fence[2]}`\n"


def _plain(app, what, name, thing, options, lines: list[str]) -> None:
    """Change the lines of a docstring: shapes are code, and labels of scikit-learn's own pages are plain text."""
    lines[:] = [re.sub(r"(?<![`\w])(\([^()]*_,[^()]*\)|\w+\[\w+_\])", r"``\1``", line) for line in lines]
    lines[:] = [re.sub(r":(?:ref|term):`([^`<]*?)(?: <[^`]*>)?`", r"\1", line) for line in lines]


def _read(app, docname: str, source: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    source[:] = [_drawn(docname, _resolve(docname, source[0]))]


def setup(app) -> dict:
    """Write the generated pages before Sphinx looks for sources."""
    next(field for field in PyObject.doc_field_types if field.name == "variable").label = "Attributes"
    app.connect("builder-inited", write, priority=1)
    app.connect("autodoc-process-docstring", _plain, priority=1)
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
