"""Compare the records of two results folders: everything but clocks, memory and the machine must be the same.

    python benchmarks/same_records.py BEFORE AFTER [--renamed OLD=NEW ...] [--added KEY ...]

Run it before and after a change that must not change results. A record that a limit of time or memory ended depends on
the clock, so of such a pair only the identity and the size of the cost are compared. The exit code is 1 if any pair
differs, or if a record has no counterpart.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from optree.errors import OptreeError

# Prefixes of keys that depend on the clock or on the machine.
CLOCKS = ("seconds", "peak_rss_mib", "memory_mib", "trace", "environment", "run.limits")
LIMITS = ("time_limit", "memory_limit", "interrupted")


def flat(record: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield (dotted key, value) for every leaf of a record."""
    for key, value in record.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield prefix + key, [{k: v for k, v in flat(item) if "seconds" not in k} for item in value]
        else:
            yield prefix + key, value


def read(folder: Path, renamed: dict[str, str]) -> dict[str, dict[str, object]]:
    """Return the flat records below ``runs`` and ``fits`` of a results folder, by their path without the suffix."""
    records = {}
    for room in ("runs", "fits"):
        for path in sorted((folder / room).rglob("*.json")):
            record = json.loads(path.read_text())
            values = {renamed.get(key, key): value for key, value in flat(record)}
            records[str(path.relative_to(folder))] = {k: v for k, v in values.items() if not k.startswith(CLOCKS)}
    if not records:
        raise OptreeError(f"{folder}: no records in runs/ or fits/; give a folder such as results/default")
    return records


def differences(before: dict[str, object], after: dict[str, object], added: set[str]) -> list[str]:
    """Return one line per key whose value differs between two flat records."""
    keys = dict.fromkeys([*before, *after])
    if before.get("status") in LIMITS or after.get("status") in LIMITS:
        keys = [key for key in keys if key.startswith(("run.", "data.", "fit."))]
    changed = [key for key in keys if key not in added and before.get(key) != after.get(key)]
    return [f"{key}: {before.get(key, '(absent)')} -> {after.get(key, '(absent)')}"[:160] for key in changed]


def main(arguments: list[str] | None = None) -> int:
    """Print the differences; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="results folder, for example results/default")
    parser.add_argument("after", type=Path)
    parser.add_argument("--renamed", nargs="*", default=[], metavar="OLD=NEW", help="keys renamed on purpose")
    parser.add_argument("--added", nargs="*", default=[], metavar="KEY", help="keys added or removed on purpose")
    options = parser.parse_args(arguments)
    try:
        renamed = dict(pair.split("=", 1) for pair in options.renamed)
        before, after = read(options.before, renamed), read(options.after, {})
    except (OptreeError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    bad = 0
    for name in sorted(before.keys() ^ after.keys()):
        bad += 1
        print(f"{name}: only {'before' if name in before else 'after'}")
    for name in sorted(before.keys() & after.keys()):
        if lines := differences(before[name], after[name], set(options.added)):
            bad += 1
            print(name, *lines, sep="\n    ")
    limited = sum(record.get("status") in LIMITS for record in after.values())
    print(
        f"{len(after)} records, {bad} differ; {limited} ended by a limit of time or memory, compared by identity only"
    )
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
