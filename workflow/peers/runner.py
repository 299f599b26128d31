"""Runs a peer in the peer's own environment: ``python runner.py PEER REQUEST ANSWERS [PROBLEM]``.

Nothing but numpy and the standard library is needed beside the peer; optree is not there. PEER is the peer's folder.
Its ``run.py`` has

- ``PACKAGES``, the distributions whose versions are worth a record;
- ``search(X, y, request)``, the call that is timed, for X int32[n, q] of zeros and ones (of multiway peers, of
  parts; of those that split columns of numbers, also float64) and y int32[n] in 0 .. K - 1;
- ``answer(model, request)``, what came of it: ``status`` ("optimal", "heuristic" or "time_limit"), ``tree`` (nested: a
  split is ``{"feature": j, "children": [of part 0, of part 1]}``, of numbers with a ``threshold``, above which is part
  1; where parts share children, ``places`` has the child of each part, the last one's also that of all beyond; a leaf
  ``{}``, no tree None), and what the peer tells of ``objective`` and ``bound`` (accuracy - lambda * splits),
  ``iterations`` and ``seconds`` (its own clock).

ANSWERS gets a line of JSON per event, at once, so that whoever ends this process early knows how far it came.
"""

import importlib.util
import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

STATUSES = ("optimal", "heuristic", "time_limit")


def load(folder):
    """The module in the peer's ``run.py``."""
    spec = importlib.util.spec_from_file_location("peer", Path(folder, "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tiny():
    """Rows that need several splits: a first search on them compiles and loads whatever there is to be."""
    X = np.array([[row >> j & 1 for j in range(4)] for row in range(16)] * 4, np.int32)
    return X, (X[:, 0] ^ X[:, 1]) | (X[:, 2] & X[:, 3])


def read(problem):
    """Codes and classes of an encoded problem; the classes that occur are numbered from zero."""
    with np.load(problem) as file:
        return file["codes"], np.unique(file["y"], return_inverse=True)[1].astype(np.int32)


def main(folder, request, answers, problem=None):
    """Warm up, then search ``repeats`` times, or less often if ``repeat_seconds`` are spent or a limit was reached."""
    request = json.loads(Path(request).read_text())
    peer = load(folder)
    with open(answers, "a") as file:

        def say(**event):
            file.write(json.dumps(event) + "\n")
            file.flush()

        start = time.perf_counter()
        peer.answer(peer.search(*tiny(), request), request)
        versions = {name: version(name) for name in peer.PACKAGES}
        say(event="ready", warm_up=time.perf_counter() - start, python=platform.python_version(), versions=versions)
        X, y = (None, None) if problem is None else read(problem)
        spent, left, status = 0.0, request["repeats"] if problem else 0, "optimal"
        while left and spent < request["repeat_seconds"] and status != "time_limit":
            say(event="search")
            start, processor = time.perf_counter(), time.process_time()
            model = peer.search(X, y, request)
            call, processor = time.perf_counter() - start, time.process_time() - processor
            found = peer.answer(model, request)
            if found["status"] not in STATUSES:
                raise ValueError(f"status {found['status']!r} is not one of {', '.join(STATUSES)}")
            del model  # or the next search would have less memory
            say(**{"event": "answer", "seconds": call, **found, "call": call, "processor": processor})
            spent, left, status = spent + call, left - 1, found["status"]


if __name__ == "__main__":
    main(*sys.argv[1:])
