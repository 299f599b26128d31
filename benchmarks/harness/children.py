"""Measurements in a process of their own, by a benchmark that starts itself."""

from __future__ import annotations

import json
import subprocess
import sys


def measured_alone(*arguments: object) -> dict:
    """Run this program with other arguments, print the JSON in the last line of its output, and return it.

    A process without output, which a limit of the machine may have killed, has its exit status in place of a result.
    """
    command = [sys.executable, sys.argv[0], *map(str, arguments)]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    lines = run.stdout.splitlines()
    row = json.loads(lines[-1]) if lines else {"status": f"exit status {run.returncode}"}
    print(*arguments, row, file=sys.stderr, flush=True)
    return row
