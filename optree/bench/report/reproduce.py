"""``docs/REPRODUCE.md``, from the papers and their configurations: ``python -m optree.bench.report.reproduce`` prints it.

What a run may take at most follows from its plan; what it takes is what the paper's module says.
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import pandas as pd

from optree.bench import papers
from optree.bench.fits.plan import plan_fits
from optree.bench.papers.claims import DIGITS
from optree.bench.papers.spec import LEVELS, Level, Paper
from optree.bench.peers.declaration import read_peers
from optree.bench.runs.jobs import group_into_jobs, max_seconds, resources
from optree.bench.runs.plan import plan_runs
from optree.datasets import read_table

_HOME = Path(__file__).resolve().parents[3]
_HEAD = """# Reproducing the papers

Made by `python -m optree.bench.report.reproduce > docs/REPRODUCE.md`; a test compares it with the papers' modules.

`make` sets everything up and runs the default benchmark; then `. .venv/bin/activate`, and each line below is one
command. It ends with `results/NAME/tables/claims.md` (`claim | paper | measured | tolerance | result | why`), and with
a non-zero exit code if a claim of a table that the configuration requires fails: `--config required_claims=all`
requires all of them, `required_claims=null` none. The same command with `--report results/NAME/report.html` makes one
page of it. On a cluster `--profile slurm` takes the place of `--cores`. `DIR` is a directory of raw files: see
`data_mirror` in config/README.md. Stop it at any time: the same command goes on. One cell alone:
`python -m optree.bench.runs.rerun RECORD`.

Levels: {levels}.

"at most" is what the jobs would take one after another if every run reached its limits, fits not counted;
memory is what the largest job may take, from its limits. Times of other machines differ: where a claim is about
seconds, it is about ratios on one machine, or a limit.
"""


def laid(home: Path, name: str) -> dict:
    """A configuration that ships, laid over the default one as Snakemake does it."""
    import yaml
    from snakemake.utils import update_config

    config = yaml.safe_load((home / "config" / "config.yaml").read_text())
    update_config(config, yaml.safe_load((home / "config" / name).read_text()))
    return config


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.0f} h" if seconds >= 2 * 3600 else f"{seconds / 60:,.0f} min"


def _line(home: Path, level: str, config_name: str, has: Level) -> str:
    """A row of a paper's table of levels."""
    config, table = laid(home, config_name), read_table(home / "config" / "datasets.csv")
    others = read_peers(home / "workflow" / "peers")
    runs, fitted = plan_runs(config, table, others), plan_fits(config, table, others)
    most = sum(filter(isfinite, map(max_seconds, runs)))
    memory = max(resources(job).get("mem_mb", 0) for job in group_into_jobs(runs))
    mirror = " --config data_mirror=DIR" if "mirror" in has.needs else ""
    command = f"snakemake --cores 2 --configfile config/{config_name}{mirror}"
    work = f"{len(runs):,} runs" + (f", {len(fitted):,} fits" if fitted else "")
    required = config.get("required_claims") or "none"
    required = required if isinstance(required, str) else ", ".join(required)
    cells = (level, f"`{command}`", has.needs, work, has.time, _hours(most), f"{memory:,} MB", required)
    return f"| {' | '.join(cells)} |"


def _tables(paper: Paper, folder: Path) -> list[str]:
    """A line for each table and figure: what it is, and its file."""
    nothing = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _COLUMNS.items()})
    lines = ["| table | what it is | file |", "|---|---|---|"]
    for name, make in paper.tables.items():
        title = make(folder, nothing).title.removeprefix(f"{paper.title}, ").split(": ", 1)[-1]
        lines.append(f"| {name} | {title} | `tables/paper_table_{name}.md` |")
    lines += [
        f"| figure {name} | {_first(make)} | `plots/paper_figure_{name}.svg` |" for name, make in paper.figures.items()
    ]
    return lines


# What the papers' tables look at before they find that there is nothing.
_COLUMNS = {
    **dict.fromkeys(
        ("dataset", "algorithm", "split", "encoding", "regularization", "penalty", "measure", "status"), "str"
    ),
    **dict.fromkeys(("lambda", "max_depth", "max_splits", "min_samples_leaf", "errors_train", "rows_train"), "float"),
    **dict.fromkeys(("objective", "depth", "decisions", "path_features", "candidates_gap"), "float"),
    **dict.fromkeys(("leaves", "encoded_features", "accuracy_train", "accuracy_test", "search_seconds"), "float"),
    **dict.fromkeys(("exact", "tree"), "object"),
}


def _first(function) -> str:
    """The first line of a docstring, without its full stop."""
    return (function.__doc__ or "").strip().splitlines()[0].rstrip(".")


def section(paper: Paper, home: Path = _HOME) -> str:
    """What there is to say of one paper."""
    levels = [
        "| level | command | needs | work | time | at most | memory | required claims |",
        "|---|---|---|---|---|---|---|---|",
    ]
    levels += [_line(home, level, config, has) for level, has in paper.levels.items() for config in has.config]
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
    """The whole document."""
    levels = "; ".join(f"*{name}* {meaning}" for name, meaning in LEVELS.items())
    return "\n".join([_HEAD.format(levels=levels), *(section(papers.get(name), home) for name in papers.names())])


if __name__ == "__main__":
    print(text(), end="")
