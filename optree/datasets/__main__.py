"""The commands of ``python -m optree.datasets``: ``mirror`` fills a mirror from the network, or from another mirror.

``row`` proposes the row of the table for a CSV file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from optree.datasets.fill import Mirror, fill
from optree.datasets.mirror import LOCK
from optree.datasets.policy import Policy
from optree.datasets.table import Dataset, read_table, row_of
from optree.errors import OptreeError, choice
from optree.files import write_whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "row":
            return _row(options)
        datasets = _chosen(options, read_table(options.table))
        policy = Policy(timeout_seconds=options.timeout, attempts=options.attempts)
        if options.source and not options.source.is_dir():
            raise OptreeError(f"--from {options.source}: not a directory")
        return _fill(Mirror(options.directory, options.source, policy, options.table.with_name(LOCK)), datasets)
    except OptreeError as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("error: interrupted; the files in the mirror are whole, and the next run continues", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m optree.datasets", description=__doc__.replace("``", ""))
    commands = parser.add_subparsers(dest="command", required=True)
    mirror = commands.add_parser("mirror", help="fill a mirror; datasets that it already has are not fetched again")
    mirror.add_argument("directory", type=Path, metavar="DIR")
    mirror.add_argument("names", nargs="*", metavar="NAME", help="datasets; default: all of the table")
    mirror.add_argument("--configfile", type=Path, help="the datasets of a configuration")
    mirror.add_argument("--level", help="a level of the configuration")
    mirror.add_argument("--from", dest="source", type=Path, metavar="DIR", help="another mirror, searched first")
    mirror.add_argument("--timeout", type=float, default=Policy.timeout_seconds, help="seconds, default: %(default)g")
    mirror.add_argument("--attempts", type=int, default=Policy.attempts, help="default: %(default)s")
    row = commands.add_parser("row", help="propose the row of the table for a CSV file with a header")
    row.add_argument("file", type=Path, metavar="FILE")
    row.add_argument("--target", default="", help="column of the class; default: class, target, label, y or the last")
    row.add_argument("--name", default="", help="default: the name of the file")
    row.add_argument("--drop", nargs="*", default=[], metavar="COLUMN", help="columns to leave out")
    row.add_argument("--add", action="store_true", help="append the row to the table")
    for command in (mirror, row):
        command.add_argument("--table", type=Path, default=Path("config/datasets.csv"), help="default: %(default)s")
    return parser


def _row(options: argparse.Namespace) -> int:
    """Print the row of a CSV file, the decisions on stderr; append it to the table if asked to."""
    from optree.datasets.propose import propose

    dataset, notes = propose(options.file, options.target, options.name, options.drop)
    if options.add:
        if dataset.name in read_table(options.table):
            raise OptreeError(f"{options.table}: dataset {dataset.name!r} is there; give another --name")
        text = options.table.read_text(encoding="utf-8")
        write_whole(options.table, f"{text.rstrip()}\n{row_of(dataset)}\n".encode())
    print(*notes, sep="\n", file=sys.stderr)
    print(row_of(dataset))
    return 0


def _chosen(options: argparse.Namespace, table: dict[str, Dataset]) -> list[Dataset]:
    names = [*options.names, *(_configured(options.configfile, options.level) if options.configfile else [])] or list(
        table
    )
    for name in names:
        if name not in table:
            raise choice(f"{options.table}: dataset", name, table)
    return [table[name] for name in dict.fromkeys(names)]


def _configured(path: Path, level: str | None) -> list[str]:
    """Return the names of a configuration's datasets."""
    import yaml

    from optree.bench.runs.levels import at_level

    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        return [name for entry in at_level(config | {"level": level})["experiments"] for name in entry["datasets"]]
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise OptreeError(f"--configfile {path}: cannot be read ({error})") from error


def _fill(mirror: Mirror, datasets: Sequence[Dataset]) -> int:
    from tqdm import tqdm

    with tqdm(total=len(datasets), unit="dataset", disable=None) as bar:

        def say(line: str) -> None:
            bar.update()
            tqdm.write(line, file=sys.stderr if line.startswith("error: ") else sys.stdout)

        def announced() -> Iterator[Dataset]:
            for dataset in datasets:
                bar.set_postfix_str(dataset.name)
                yield dataset

        failures = fill(mirror, announced(), say)
    print(f"{mirror.directory}: {len(datasets) - len(failures)} of {len(datasets)} datasets are there")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
