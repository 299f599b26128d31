"""``docs/REPRODUCE.md``, made of papers and configurations; ``python -m optree.bench.report.reproduce`` prints it.

Upper limits of time and memory follow from the plan of runs; measured times stand in ``resources/papers/levels.csv``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pathlib import Path

from optree.bench import papers
from optree.bench.papers.claims import DIGITS
from optree.bench.papers.spec import LEVELS, Level, Paper, Results, Study
from optree.bench.peers.declaration import read_peers
from optree.bench.runs.jobs import group_into_jobs, identify, max_seconds, resources
from optree.bench.runs.levels import at_level
from optree.bench.runs.plan import plan_runs
from optree.bench.tables.frame import frame
from optree.datasets import read_table
from optree.words import count

_HOME = Path(__file__).resolve().parents[3]
_HEAD = """# Reproducing the papers

Made by `python -m optree.bench.report.reproduce > docs/REPRODUCE.md`; a test compares it with the papers' modules.

`make` sets everything up and runs the default benchmark. After `. .venv/bin/activate`, each command below runs one
level of one paper. A command ends with the table `results/NAME/tables/claims.md`
(`claim | paper | measured | tolerance | result | why`). Its exit code is not zero if a required claim fails;
`--config required_claims=all` requires all claims, `required_claims=null` none.

- `--report results/NAME/report.html` at the end of the same command makes one page of the results.
- `--profile slurm` in place of `--cores` runs the command on a cluster.
- `DIR` is a directory of raw files; see `data_mirror` in config/README.md.
- Commands may be stopped at any time; the same command continues.
- `python -m optree.bench.runs.rerun RECORD` repeats one run.

Levels: {levels}.

"at most" is the total time of all runs, one after another, if every run reached its time limit; runs of models have
none, and are not counted.
"memory" is the memory that the largest job requests. Machines differ in speed, so claims about seconds are about ratios
on one machine, or about a time limit.
"""


def merged_configuration(home: Path, name: str, level: str | None = None) -> dict:
    """Return a shipped configuration at a level, merged into the default one as Snakemake does."""
    import yaml
    from snakemake.utils import update_config

    config = yaml.safe_load((home / "config" / "config.yaml").read_text())
    update_config(config, yaml.safe_load((home / "config" / name).read_text()))
    return at_level(config | {"level": level})


def _hours(seconds: float) -> str:
    """Return a duration in minutes or hours."""
    return f"{seconds / 3600:,.0f} h" if seconds >= 2 * 3600 else f"{seconds / 60:,.0f} min"


def command(study: Study, level: Level) -> str:
    """Return the command that runs one study of a paper's level."""
    values = f" level={study.level}" * bool(study.level) + " data_mirror=DIR" * ("mirror" in level.needs)
    return f"snakemake --cores 2 --configfile config/{study.config}{' --config' if values else ''}{values}"


def _line(home: Path, name: str, study: Study, level: Level) -> str:
    """Return a row of a paper's table of levels."""
    config, table = merged_configuration(home, *study), read_table(home / "config" / "datasets.csv")
    peers = read_peers(home / "workflow" / "peers")
    runs = plan_runs(config, table, peers)
    searches = [run for run in runs if run.model is None]
    seconds = sum(filter(isfinite, map(max_seconds, searches)))
    memory = max(resources(job.runs)["mem_mb"] for job in group_into_jobs(identify(runs, config, table, peers)))
    models = len(runs) - len(searches)
    work = count(len(runs), "run") + (f", {models:,} of models" if models else "")
    required = config.get("required_claims") or "none"
    required = required if isinstance(required, str) else ", ".join(required)
    cells = (
        name,
        f"`{command(study, level)}`",
        level.needs,
        work,
        level.time,
        _hours(seconds),
        f"{memory:,} MB",
        required,
    )
    return f"| {' | '.join(cells)} |"


def _tables(paper: Paper, folder: Path) -> list[str]:
    """Return a line for each table and figure: its name, title and file."""
    results = Results(folder, frame([]))
    lines = ["| table | title | file |", "|---|---|---|"]
    for name, make in paper.tables.items():
        title = make(results).title.removeprefix(f"{paper.title}, ").split(": ", 1)[-1]
        lines.append(f"| {name} | {title} | `tables/paper_table_{name}.md` |")
    lines += [
        f"| figure {name} | {figure_title(make)} | `plots/paper_figures/{name}.svg` |"
        for name, make in paper.figures.items()
    ]
    return lines


def figure_title(draw: Callable) -> str:
    """Return the title of a figure: the first line of its function's docstring, without "Draw Figure N: "."""
    first_line = getattr(draw, "func", draw).__doc__.splitlines()[0]
    title = first_line.removeprefix("Draw ").split(": ", 1)[-1].rstrip(".")
    return title[:1].upper() + title[1:]


def section(paper: Paper, home: Path = _HOME) -> str:
    """Return the section of one paper."""
    levels = [
        "| level | command | needs | work | time | at most | memory | required claims |",
        "|---|---|---|---|---|---|---|---|",
    ]
    levels += [_line(home, name, study, level) for name, level in paper.levels.items() for study in level.studies]
    folder = home / "resources" / "papers" / paper.name
    tolerances = [f"- {claim}: {text}" for claim, text in paper.tolerances.items()]
    return "\n".join(
        [
            f"## {paper.title}\n", *levels, "",
            *_tables(paper, folder), "",
            f"Printed numbers: `resources/papers/{paper.name}`. Tolerances:\n", *tolerances,
            f"- every other claim: {DIGITS}", "",
        ]
    )  # fmt: skip


def text(home: Path = _HOME) -> str:
    """Return the whole document."""
    levels = "; ".join(f"*{name}* {meaning}" for name, meaning in LEVELS.items())
    return "\n".join([_HEAD.format(levels=levels), *(section(papers.get(name), home) for name in papers.names())])


if __name__ == "__main__":
    print(text(), end="")
