"""One archive for a deposit with a DOI: ``python -m optree.bench.report.archive RESULTS`` writes RESULTS/archive.zip.

The archive holds the files that git tracks, and the records of all runs with their configuration, tables, plots and
report. ``MANIFEST.sha256`` has a checksum of each file; ``ro-crate-metadata.json`` makes the archive a Workflow Run
RO-Crate. Tracked files include the locks of all environments and the papers' printed numbers. The same files give the
same archive. Raw data are omitted: the datasets table has their sources and checksums. In an unpacked archive,
``snakemake --config records=results/NAME`` makes tables and plots again.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from optree.bench.report import crate
from optree.bench.system.cli import reporting
from optree.errors import OptreeError

_DATE = (1980, 1, 1, 0, 0, 0)  # The earliest date of the zip format.
_LOCK = "config/datasets.lock.json"
_KEPT = (
    "tables/**/*",
    "plots/**/*",
    "proofs/*.proof",
    "proofs/*.csv",
    "report.html",
    "configuration.yaml",
    "datasets.json",
)  # tables/runs.jsonl holds the records of all runs.


def _source(home: Path) -> dict[str, Path]:
    """Return the paths of the files that git tracks, by name in the archive."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=home, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise OptreeError(f"{home}: not a clone of the repository; give the path of a clone with --home") from error
    names = [*listed.stdout.split("\0"), _LOCK]  # git may not track the lock of the first downloads
    return {name: home / name for name in names if name and (home / name).is_file()}


def _results(results: Path) -> dict[str, Path]:
    """Return the paths of the files of a configuration's results, by name in the archive."""
    if not (results / "tables" / "runs.jsonl").is_file():
        raise OptreeError(f"{results}: tables/runs.jsonl is missing; run the workflow first")
    files = [path for pattern in _KEPT for path in results.glob(pattern) if path.is_file()]
    return {f"results/{results.name}/{path.relative_to(results).as_posix()}": path for path in files}


def pack(home: Path, results: Path) -> Path:
    """Write the archive and return its path."""
    found = _source(home) | _results(results)
    files = {name: found[name] for name in sorted(found)}
    contents = {name: path.read_bytes() for name, path in files.items()}
    contents[crate.METADATA] = crate.metadata(files, f"results/{results.name}", results).encode()
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items()]
    contents["MANIFEST.sha256"] = "".join(lines).encode()
    return write(results / "archive.zip", contents)


def write(target: Path, contents: dict[str, bytes]) -> Path:
    """Write an archive of files and return its path; the same files give the same archive."""
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            entry = ZipInfo(name, _DATE)
            entry.external_attr, entry.compress_type = 0o644 << 16, ZIP_DEFLATED
            archive.writestr(entry, content)
    return target


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.report.archive", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="the results of a configuration, e.g. results/default")
    parser.add_argument(
        "--home", type=Path, default=Path(__file__).resolve().parents[3], help="a clone of the repository"
    )
    options = parser.parse_args(arguments)
    with reporting("/dev/null"):
        path = pack(options.home, options.results)
    print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
