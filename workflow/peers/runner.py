"""Runner of all peers, in the peer's own environment: ``python runner.py PEER REQUEST ANSWERS [PROBLEM]``.

It needs numpy, the standard library and the peer; optree is not installed there. PEER is the peer's folder. Its
``run.py`` defines

- ``PACKAGES``, the distributions whose versions go to the record;
- ``search(X, y, request)``, the timed call. X is int32[n, q]: zeros and ones, or categories for a multiway peer. For a
  peer that splits numeric columns X may be float64. y is int32[n] in 0 .. K - 1, or float64[n] for a peer of values;
- ``answer(model, request)``, which returns a dict.

=============== =======================================================================================
key             value
=============== =======================================================================================
``status``      "optimal", "heuristic" or "time_limit"
``tree``        nested dicts, or None; a leaf is ``{}``
``objective``   optional: accuracy - lambda * splits of the tree, by the peer; R2 in place of the accuracy for values
``bound``       optional: the peer's upper bound on that objective
``iterations``  optional
``seconds``     optional: seconds of search by the peer's own clock
``trees``       optional: number of trees in the peer's Rashomon set, as text
=============== =======================================================================================

A split is ``{"feature": j, "children": [child of category 0, child of category 1]}``. A split of a numeric column has a
``threshold``, and its second child has the rows above. If categories share children, ``places`` has the index of each
category's child; the last index also serves all further categories.

ANSWERS gets a line of JSON for each event at once, so that a killed process leaves its progress:

=========== ==========================================================================
``event``   further fields
=========== ==========================================================================
``ready``   ``warm_up`` (seconds), ``python``, ``versions``: the warm-up has ended
``search``  none: a search begins
``answer``  the answer, and ``call`` and ``processor``: seconds of the call
=========== ==========================================================================
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
    """Return the module in the peer's ``run.py``."""
    spec = importlib.util.spec_from_file_location("peer", Path(folder, "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tiny():
    """Return rows that need several splits, for a warm-up that compiles and loads everything."""
    X = np.array([[row >> j & 1 for j in range(4)] for row in range(16)] * 4, np.int32)
    return X, (X[:, 0] ^ X[:, 1]) | (X[:, 2] & X[:, 3])


def read(problem):
    """Return the columns and the target of a problem: values, or the occurring classes numbered from zero."""
    with np.load(problem) as file:
        codes, y = file["codes"], file["y"]
    y = y if y.dtype == np.float64 else np.unique(y, return_inverse=True)[1].astype(np.int32)
    return codes if codes.dtype == np.float64 else codes.astype(np.int32), y


def main(folder, request, answers, problem=None):
    """Warm up, then search at most ``repeats`` times, until a limit is reached or ``repeat_seconds`` have passed."""
    request = json.loads(Path(request).read_text())
    peer = load(folder)
    with open(answers, "a") as file:

        def report(**event):
            file.write(json.dumps(event) + "\n")
            file.flush()

        X, y = tiny() if problem is None else read(problem)
        some, labels = tiny()
        start = time.perf_counter()
        peer.answer(peer.search(some, labels.astype(y.dtype), request), request)
        versions = {name: version(name) for name in peer.PACKAGES}
        report(event="ready", warm_up=time.perf_counter() - start, python=platform.python_version(), versions=versions)
        spent, searches_left, status = 0.0, request["repeats"] if problem else 0, "optimal"
        while searches_left and spent < request["repeat_seconds"] and status != "time_limit":
            report(event="search")
            start, processor = time.perf_counter(), time.process_time()
            model = peer.search(X, y, request)
            call, processor = time.perf_counter() - start, time.process_time() - processor
            found = peer.answer(model, request)
            if found["status"] not in STATUSES:
                raise ValueError(f"status {found['status']!r} is not one of {', '.join(STATUSES)}")
            del model  # frees its memory before the next search
            report(**{"event": "answer", "seconds": call, **found, "call": call, "processor": processor})
            spent, searches_left, status = spent + call, searches_left - 1, found["status"]


if __name__ == "__main__":
    main(*sys.argv[1:])
