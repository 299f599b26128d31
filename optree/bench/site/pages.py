"""The pages of the site, made of templates; every name and value from data is escaped by them or by its own writer."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote, urlencode

import pandas as pd
from docutils.core import publish_parts
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from optree.bench import papers
from optree.bench.figures import tree_pages
from optree.bench.papers import claims
from optree.bench.papers.spec import LEVELS, PRINTED, Paper, Study
from optree.bench.peers.chart import PEERS, abilities
from optree.bench.peers.declaration import read_peers
from optree.bench.report import datasheets
from optree.bench.report.reproduce import command, figure_title
from optree.bench.site import records
from optree.bench.site.results import Folder, slug, together
from optree.bench.tables import formats, leads, model_summary, pairwise, proofs, statistics, summary
from optree.bench.tables.comparison import CERTIFIED
from optree.bench.tables.formats import Table
from optree.drawing import svg
from optree.drawing.interactive.page import as_json
from optree.errors import OptreeError
from optree.solvers import get, module_of, names
from optree.solvers.__main__ import accepted
from optree.solvers.base import Declaration

_TEMPLATES = Path(__file__).parent / "templates"
_MARK = ".optree-site"  # A file that tells a site from a folder of other files, which no build replaces.
_TEXT_ONLY = {"raw_enabled": False, "file_insertion_enabled": False, "report_level": 5, "initial_header_level": 2}


class Site:
    """A site that is being written into a folder, and everything that its pages share."""

    def __init__(self, folders: Sequence[Folder], to: Path, has_docs: bool):
        self.folders, self.to, self.has_docs, self.n_pages = folders, to, has_docs, 0
        self.searches = together([folder.searches for folder in folders])
        self.models = together([folder.models for folder in folders])
        self.shared = leads.shared_problems(self.searches)
        every = pd.concat([self.searches[["dataset", "solver"]], self.models[["dataset", "solver"]]])
        self.declared: dict[str, Declaration] = {name: get(name) for name in names()} | read_peers(PEERS)
        self.datasets = sorted(set(every["dataset"]), key=str.casefold)
        self.solvers = {
            "Solvers of this project": names(),
            "Peers: solvers of other authors": [name for name in self.declared if name not in names()],
            "Estimators that were fitted as models": sorted({*every["solver"]} - {*self.declared}, key=str.casefold),
        }
        self.answers: dict[str, str] = {}  # of each results folder of a paper, in one line
        self.counts = every["solver"].value_counts().to_dict()
        self.templates = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        self.templates.filters |= {"url": lambda path: quote(str(path), safe="/"), "slug": slug}

    def write(self, template: str, path: str, title: str, **values) -> None:
        """Write one page."""
        target, numbers = self.to / path, count(1)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = self.templates.get_template(template).render(
            site=self,
            title=title,
            root="../" * path.count("/"),
            head=Markup(formats.HEAD),
            show=lambda table: _shown(table, f"t{next(numbers)}"),
            filtered=lambda **chosen: f"records.html#{urlencode(chosen, quote_via=quote)}",
            **values,
        )
        target.write_text(text, encoding="utf-8")
        self.n_pages += 1


def _shown(table: Table, name: str) -> Markup:
    """Return a table as a part of a page, with the labels that it has on a telephone."""
    style = formats.labels(table.shown, f"#{name}")
    return Markup(f'<div class="table" id="{name}"><style>{style}</style>\n{formats.fragment(table)}\n</div>')


def build(folders: Sequence[Folder], docs: Path, to: Path) -> int:
    """Write the site, in place of an older one, and return the number of its pages."""
    if to.exists() and any(to.iterdir() if to.is_dir() else [to]) and not (to / _MARK).is_file():
        raise OptreeError(f"{to}: holds files of no site, which would be lost; give an empty or new folder with --to")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(mkdtemp(dir=to.parent, prefix=f".{to.name}."))
    except OSError as error:
        raise OptreeError(f"{to}: cannot be written ({error.strerror}); give another folder with --to") from error
    try:
        site = Site(folders, fresh, (docs / "index.html").is_file())
        _write(site, docs)
        fresh.chmod(0o755)
        shutil.rmtree(to, ignore_errors=True)
        fresh.rename(to)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return site.n_pages


def _write(site: Site, docs: Path) -> None:
    """Write all files of a site."""
    style = (formats.PAGE_STYLE, formats.STYLE, tree_pages.STYLE, svg.style(), (_TEMPLATES / "site.css").read_text())
    (site.to / _MARK).touch()
    (site.to / "site.css").write_text("\n".join(style), encoding="utf-8")
    (site.to / "site.js").write_text(formats.SORT, encoding="utf-8")
    for name in ("trees.js", "records.js"):
        text = tree_pages.FILTER if name == "trees.js" else (_TEMPLATES / name).read_text()
        (site.to / name).write_text(text, encoding="utf-8")
    if site.has_docs:
        ignored = shutil.ignore_patterns(".doctrees", ".buildinfo")
        shutil.copytree(docs, site.to / "docs", ignore=ignored, copy_function=_copy_beside_results)
    _write_records(site)
    for folder in site.folders:
        _write_folder(site, folder)
    of_papers = [(papers.get(name), [one for one in site.folders if one.paper == name]) for name in papers.names()]
    for paper, own in of_papers:
        _write_paper(site, paper, own)
    site.write("index.html", "index.html", "optree: results", papers=of_papers)
    for name in site.datasets:
        _write_dataset(site, name)
    for name in chain(*site.solvers.values()):
        _write_solver(site, name)


def _copy_beside_results(source: str, target: str) -> None:
    """Copy a file of the documentation; a page shows its link to the results, which is a comment until then."""
    shutil.copy2(source, target)
    if target.endswith(".html"):
        text = Path(source).read_text(encoding="utf-8")
        Path(target).write_text(re.sub("<!--beside-results | beside-results-->", "", text), encoding="utf-8")


def _write_records(site: Site) -> None:
    """Write the page of all records."""
    shown = records.table(site.searches, site.models)
    pages = {
        "dataset": {name: f"datasets/{slug(name)}.html" for name in site.datasets},
        "solver": {name: f"solvers/{slug(name)}.html" for name in chain(*site.solvers.values())},
        "results": {folder.name: f"results/{slug(folder.name)}/index.html" for folder in site.folders},
    }
    site.write(
        "records.html",
        "records.html",
        f"All records: {len(shown):,}",
        data=Markup(as_json(records.data(shown, pages))),
        labels=Markup(formats.labels(shown, "#rows")),
        columns=records.columns(shown),
    )


def _write_folder(site: Site, folder: Folder) -> None:
    """Copy the small files of a results folder, and write its page."""
    place = f"results/{slug(folder.name)}"
    for path in folder.files:
        (site.to / place / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder.path / path, site.to / place / path)
    runs, tables = folder.searches, []
    if len(runs):
        tables += [_unlinked(summary.summary(runs)), statistics.statistics(runs), pairwise.pairwise_comparisons(runs)]
    if len(folder.models):
        tables.append(model_summary.summary(folder.models))
    findings = folder.text("tables/findings.rst")
    site.write(
        "folder.html",
        f"{place}/index.html",
        f"Results {folder.name}",
        folder=folder,
        findings=_as_html(findings) if findings else "",
        tables=tables,
        figures=[*folder.figures("plots/figures"), *folder.figures("plots")],
        not_drawn=folder.text("tables/figures_not_drawn.txt").splitlines(),
    )


def _as_html(text: str) -> Markup:
    """Return the first page of a report, in reStructuredText, as HTML; directives stay text."""
    text = re.sub(r"^(\W*)\.\. ", r"\1\\.. ", text, flags=re.MULTILINE)
    return Markup(publish_parts(text, writer="html5", settings_overrides=_TEXT_ONLY)["body"])


def _unlinked(table: Table, **linked: str) -> Table:
    """Return a table without its links into a results folder, and with other ones, by column."""
    own = {name: pd.Series(to, table.shown.index) for name, to in linked.items() if name in table.shown}
    return replace(table, linked=own)


def _write_paper(site: Site, paper: Paper, folders: Iterable[Folder]) -> None:
    """Write the page of a paper: its levels, and of each results folder the claims, tables and figures."""
    parts = []
    for folder in folders:
        results = papers.Results(PRINTED / paper.name, folder.searches, folder.models)
        tables = {name: make(results) for name, make in paper.tables.items()}
        made = {name: lambda _, table=table: table for name, table in tables.items()}
        judged = claims.claims(replace(paper, tables=made), results)
        site.answers[folder.name] = claims.answer(judged.data, papers.required(folder.configuration))
        figures = {path.stem: path for path in folder.figures("plots/paper_figures")}
        parts.append(
            {
                "folder": folder,
                "claims": _unlinked(judged),
                "tables": {name: _unlinked(table) for name, table in tables.items()},
                "figures": {name: (figures.get(name), figure_title(make)) for name, make in paper.figures.items()},
                "not_drawn": folder.text("tables/paper_figures_not_drawn.txt").splitlines(),
            }
        )
    there = {folder.name for folder in site.folders}
    levels = [
        (name, LEVELS[name], study, command(study, level), _folder_of(study) if _folder_of(study) in there else "")
        for name, level in paper.levels.items()
        for study in level.studies
    ]
    site.write("paper.html", f"papers/{slug(paper.name)}.html", paper.title, paper=paper, parts=parts, levels=levels)


def _folder_of(study: Study) -> str:
    """Return the name of the results folder of a paper's configuration and level."""
    return study.config.removesuffix(".yaml") + (f"-{study.level}" if study.level else "")


def _write_dataset(site: Site, name: str) -> None:
    """Write the page of a dataset: its facts, all runs, the best known trees, pictures and proofs."""
    runs, models, shared = (own[own["dataset"].eq(name)] for own in (site.searches, site.models, site.shared))
    numbers, tables = tree_pages.picture_numbers(runs), []
    if len(runs):
        tables += [leads.optima(runs), _unlinked(summary.summary(runs, numbers), tree="#{}")]
    if len(models):
        tables.append(model_summary.summary(models))
    proven = runs[runs["proof_verdict"].notna()]
    paths = [path for folder in site.folders for path in folder.datasets()]
    found = [one for one in datasheets.read(paths) if one["dataset"] == name][:1]
    site.write(
        "dataset.html",
        f"datasets/{slug(name)}.html",
        name,
        name=name,
        facts=datasheets.table(found) if found else None,
        tables=tables,
        shared=[leads.counts(shared), leads.losses(shared)] if len(shared) else [],
        trees=Markup(tree_pages.fragment(runs, name, models)),
        proofs=_unlinked(proofs.proofs(proven)) if len(proven) else None,
        files=_files_of_proofs(proven[proven["proof_file"].notna()]),
        n_optimal=int(runs["status"].eq(CERTIFIED).sum()),
    )


def _files_of_proofs(proven: pd.DataFrame) -> list[dict[str, str]]:
    """Return the paths of each proof and of the table of its training rows, as words of a shell."""
    return [
        {kind: shlex.quote(f"results/{run['results']}/proofs/{run[f'proof_{kind}']}") for kind in ("table", "file")}
        for run in proven.to_dict("records")
    ]


def _write_solver(site: Site, name: str) -> None:
    """Write the page of a solver: its declaration, its runs, and the problems that it leads and loses."""
    solver = site.declared.get(name)
    runs, models, shared = (own[own["solver"].eq(name)] for own in (site.searches, site.models, site.shared))
    site.write(
        "solver.html",
        f"solvers/{slug(name)}.html",
        name,
        name=name,
        solver=solver,
        accepted=accepted(solver).replace("`", "") if solver else "",
        abilities=abilities(solver) if solver else {},
        family=module_of(name).split(".")[2] if name in names() else "",
        runs=runs,
        datasets=sorted({*runs["dataset"], *models["dataset"]}, key=str.casefold),
        statuses=pd.concat([runs["status"], models["status"]]).value_counts().to_dict(),
        meanings=summary.STATUS,
        shared=[leads.counts(shared), leads.losses(shared)] if len(shared) else [],
        models=model_summary.summary(models) if len(models) else None,
    )
