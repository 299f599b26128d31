"""Peers: stubs that misbehave, and real peers if they are installed."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from support import ROOT
from support import peers as stubs
from support.problems import make, random_problem
from support.refusal import refused
from support.runs import encoded
from support.runs import run as ours

from optree import OptimalTreeRegressor
from optree.bench.peers.declaration import peer_names, read_peer, read_peers
from optree.bench.peers.estimator import PeerModel
from optree.bench.peers.run_peer import run_peer
from optree.bench.runs import record
from optree.bench.runs.record import Run
from optree.bench.runs.score import summary_line
from optree.bench.system import environment
from optree.bench.tables.frame import frame
from optree.objective import Objective
from optree.solvers import get
from optree.tree import Tree

ONE_SPLIT = {"tree": {"feature": 0, "children": [{}, {}]}}


def test_an_honest_peer_has_a_record_like_any_other(tmp_path):
    made = stubs.run(stubs.write(tmp_path), repeats=1)
    record.write(made, tmp_path / "record.json")
    assert record.read(tmp_path / "record.json") == record.seal(made)
    problem, _ = encoded("monks-1", "onehot-drop-first")
    assert (made["status"], made["reason"], made["size"]["splits"]) == ("time_limit", "", 1)
    assert made["train"]["rows"] == len(problem.y)
    assert made["objective"] == pytest.approx(made["train"]["accuracy"] - 0.01)
    assert made["seconds"]["searches"] == [0.25]  # its own clock
    assert made["seconds"]["calls"] != [0.25]
    assert made["counters"] == {"iterations": 1}
    assert made["environment"]["versions"] == {"numpy": np.__version__}
    # The bound that it claims, rounded down by what floats may be off.
    assert made["cost"]["lower_bound"] == 0


def test_the_tree_is_that_of_the_training_rows_and_seeds_have_test_rows(tmp_path):
    made = stubs.run(stubs.write(tmp_path), split="3")
    assert made["train"]["rows"] + made["test"]["rows"] == 432
    assert sum(made["tree"]["counts"][0]) == made["train"]["rows"]


def test_searches_are_repeated_while_they_prove_something(tmp_path):
    honest = stubs.write(tmp_path, stubs.claiming(status="optimal"))
    assert len(stubs.run(honest, repeats=3)["seconds"]["searches"]) == 3
    stopped = stubs.write(tmp_path / "other")
    assert len(stubs.run(stopped, repeats=3)["seconds"]["searches"]) == 1


@pytest.mark.parametrize(
    ("line", "limits", "status", "reason"),
    [
        ("time.sleep(60)", {"seconds": 0.1}, "time_limit", "ignores its limit of 0.1 s"),
        (
            "kept = []\n        while True: kept.append(bytearray(2**20)); time.sleep(0.001)",
            {"memory_mib": 200},
            "memory_limit",
            "the limit is 200 MiB",
        ),
        ("raise RuntimeError('cannot go on')", {}, "error", "RuntimeError: cannot go on"),
        ("os.abort()", {}, "killed", "Aborted"),
        ("os._exit(0)", {}, "error", "gave no answer"),
        ("pass", {}, "time_limit", "gave no tree"),
    ],
)
def test_trouble_is_a_result(tmp_path, line, limits, status, reason):
    made = stubs.run(stubs.write(tmp_path, stubs.trouble(line)), limits=limits)
    record.write(made, tmp_path / "record.json")
    assert made["status"] == status
    assert reason in made["reason"]
    assert made["tree"] is made["objective"] is made["cost"]["value"] is None
    assert made["peak_rss_mib"] > 1
    assert frame([made])["status"].tolist() == [status]


def test_a_peer_that_does_not_even_start(tmp_path):
    made = stubs.run(stubs.write(tmp_path, "import no_such_module"))
    assert made["status"] == "error"
    assert "No module named 'no_such_module'" in made["reason"]
    assert made["seconds"]["searches"] == []


def test_what_was_answered_before_a_repeat_failed_is_kept(tmp_path):
    code = stubs.claiming(status="optimal").replace(
        "def search(X, y, request):",
        "def search(X, y, request, done=[]):\n    done.append(1)\n    assert len(done) < 3",
    )
    made = stubs.run(stubs.write(tmp_path, code), repeats=3)
    assert made["status"] == "optimal"
    assert len(made["seconds"]["searches"]) == 1
    assert made["reason"].startswith("a repeat did not end: AssertionError")


@pytest.mark.parametrize(
    ("claims", "status", "reason"),
    [
        ({"status": "optimal", "objective": 0.9}, "wrong_certificate", "claims the objective 0.900000, its tree has"),
        ({"objective": 0.9}, "time_limit", "claims the objective 0.900000, its tree has"),
        ({"status": "optimal", "tree": None}, "error", "gave no tree"),
        ({"status": "optimal", "tree": {"feature": 11, "children": [{}, {}]}}, "error", "splits feature 11"),
        ({"status": "optimal", "tree": {"feature": 0, "children": [{}, {}, {}]}}, "error", "into 3 parts"),
        ({"status": "optimal", "tree": {"feature": 0}}, "error", "cannot be read (KeyError: 'children')"),
        ({"objective": float("nan"), "bound": float("-inf")}, "time_limit", ""),
        ({"status": "sure"}, "error", "status 'sure' is not one of optimal, heuristic, time_limit"),
        ({"status": "optimal", "seconds": 31}, "time_limit", "proven only after its limit of 30 s"),
    ],
)
def test_claims_are_checked_against_the_tree(tmp_path, claims, status, reason):
    made = stubs.run(stubs.write(tmp_path, stubs.claiming(**claims)))
    assert made["status"] == status
    assert reason in made["reason"]


def test_a_tree_that_is_too_deep_is_no_certificate(tmp_path):
    deep = {"feature": 0, "children": [{}, {"feature": 1, "children": [{}, {}]}]}
    made = stubs.run(stubs.write(tmp_path, stubs.claiming(status="optimal", tree=deep, objective=None)), max_depth=1)
    assert (made["status"], made["reason"]) == ("wrong_certificate", "its tree breaks max_depth with 2")


def test_a_penalty_per_leaf_is_taken_into_account(tmp_path):
    made = stubs.run(stubs.write(tmp_path, stubs.claiming(status="optimal")), penalty="leaf")
    assert made["status"] == "optimal"
    assert made["objective"] == pytest.approx(made["train"]["accuracy"] - 2 * 0.01)


def test_a_false_optimum_is_refuted_by_the_tree_of_another(tmp_path):
    claimed = stubs.run(stubs.write(tmp_path, stubs.claiming(status="optimal")))
    better = ours("monks-1", "onehot-drop-first", "0.01", algorithm="optree")
    assert (claimed["status"], better["status"]) == ("optimal", "optimal")
    assert frame([claimed])["status"].tolist() == ["optimal"]  # nobody knows better
    table = frame([claimed, better]).set_index("algorithm")
    assert table["status"].to_dict() == {"optree": "optimal", "stub": "wrong_certificate"}
    assert "the tree of optree has 0.824444" in table.loc["stub", "reason"]
    # On other rows, with another penalty or another lambda it is another problem.
    for other in ({"split": "0"}, {"penalty": "leaf"}):
        elsewhere = ours("monks-1", "onehot-drop-first", "0.01", algorithm="optree", **other)
        assert "wrong_certificate" not in frame([claimed, elsewhere])["status"].tolist()


def test_a_proof_is_about_trees_up_to_the_depth_that_was_searched(tmp_path):
    problem, _ = encoded("monks-1", "onehot-drop-first")
    stump = get("optree").solve(problem, Objective.of("0.01", max_depth=1)).tree
    claims = {"status": "optimal", "objective": None}
    claims["tree"] = {"feature": int(stump.feature[0]), "children": [{}, {}]} if stump.n_splits else {}
    shallow = stubs.run(stubs.write(tmp_path, stubs.claiming(**claims)), max_depth=1)
    deeper = ours("monks-1", "onehot-drop-first", "0.01", algorithm="optree")
    assert frame([shallow, deeper]).set_index("algorithm").loc["stub", "status"] == "optimal"


def test_the_depth_of_anothers_tree_is_told(tmp_path):
    reference = ours("monks-1", "onehot-drop-first", "0.01", algorithm="optree")
    folder = stubs.write(tmp_path, stubs.HONEST.replace('"iterations": 1', '"iterations": request["max_depth"]'))
    made = stubs.run(folder, reference=reference, depth_of="optree")
    assert made["counters"]["iterations"] == made["depth_limit"] == reference["size"]["depth"] > 1
    assert made["run"]["max_depth"] is None
    nothing = stubs.run(folder, reference={**reference, "tree": None, "size": {"depth": None}}, depth_of="optree")
    assert (nothing["status"], nothing["reason"]) == ("skipped", "optree has no tree whose depth could be the limit")


def test_the_greatest_depth_of_a_peer_is_its_default_and_its_limit(tmp_path):
    code = stubs.HONEST.replace('"iterations": 1', '"iterations": request["max_depth"]')
    folder = stubs.write(tmp_path, code, stubs.DECLARATION + "deepest: 4\n")
    assert stubs.run(folder)["depth_limit"] == 4
    assert stubs.run(folder, max_depth=2)["depth_limit"] == 2
    assert stubs.run(folder, reference={"tree": {}, "size": {"depth": 9}}, depth_of="optree")["depth_limit"] == 4
    with refused("stub", "max_depth = 5", "at most 4"):
        read_peer(folder).check_objective(Objective.of("0.01", max_depth=5))


def test_a_peer_that_could_not_be_installed_is_skipped(tmp_path):
    folder = read_peer(stubs.write(tmp_path))
    asked = Run("monks-1", "onehot-drop-first", "stub", "stub", "0.01")
    marker = {"python": None, "reason": "cannot be installed: no network"}
    made = run_peer(*encoded("monks-1", "onehot-drop-first"), asked, folder, marker)
    record.write(made, tmp_path / "record.json")
    assert (made["status"], made["reason"]) == ("skipped", marker["reason"])
    assert "skipped, cannot be installed" in summary_line(made)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("iteration: one look", "", ["peer.yaml", "'iteration' is a required property"]),
        ("features: [binary]", "features: [ternary]", ["peer.yaml", "features.0"]),
        ("exact: true", "exact: true\nspeed: high", ["peer.yaml", "unknown key 'speed'", "accepted"]),
        ("type: bool", "type: boolean", ["parameters.slowly.type", "'boolean'", "accepted: bool, int, float, str"]),
        ("title: a stub", "title: [", ["peer.yaml", "not a peer's declaration"]),
    ],
)
def test_bad_declarations_are_named(tmp_path, old, new, words):
    folder = stubs.write(tmp_path, declaration=stubs.DECLARATION.replace(old, new))
    with refused(*words):
        read_peer(folder)


def test_a_folder_with_a_file_missing_is_named(tmp_path):
    folder = stubs.write(tmp_path)
    (folder / "run.py").unlink()
    with refused("stub", "run.py is missing"):
        read_peer(folder)


def test_an_edit_of_a_module_that_peers_share_makes_other_runs(tmp_path):
    stubs.write(tmp_path)
    (tmp_path / "common.py").write_text("ONE = 1")
    before = environment.folder_digest.__wrapped__(tmp_path / "stub", "")
    (tmp_path / "common.py").write_text("ONE = 2")
    assert environment.folder_digest.__wrapped__(tmp_path / "stub", "") != before


# The real ones.


def environments() -> Path:
    """Return the folder of the peers' environments: OPTREE_PEERS, or .peers in the repository."""
    return Path(os.environ.get("OPTREE_PEERS") or ROOT / ".peers")


@pytest.fixture(params=peer_names(ROOT / "workflow" / "peers"))
def real(request):
    """Return a real peer with the marker of its environment."""
    return installed(request.param)


def installed(name):
    marker = environments() / f"{name}.json"
    state = json.loads(marker.read_text()) if marker.is_file() else {"reason": f"{marker} is not there"}
    if state["reason"]:
        pytest.skip(f"{name} is not installed: {state['reason']}")
    return read_peer(ROOT / "workflow" / "peers" / name), state


def test_every_peer_that_ships_can_be_read():
    exact = {"fast-small-tree", "gosdt-cpp", "odtlearn", "pycontree", "pydl85", "pystreed", "pytrees-rs"}
    counting = {"arborenum", "tree-praxis", "treefarms"}
    exact |= counting
    found = read_peers(ROOT / "workflow" / "peers")
    assert {name for name, solver in found.items() if solver.exact} == exact
    assert {name for name, solver in found.items() if solver.counts_trees} == counting
    assert set(found) == exact | {"licketysplit-cpp", "pystreed-quantiles", "rollotree", "sgtlearn"}


DEEPEST = {"odtlearn": 2}  # a mixed-integer program, which does not end at depth three


def monks(solver):
    """Return the monks' first problem, or some of its rows for a mixed-integer program."""
    problem, notes = encoded("monks-1", "onehot-drop-first")
    return (problem.take(np.arange(0, len(problem.y), 7)) if solver.name in DEEPEST else problem), notes


def asked(solver, regularization, max_depth=None) -> dict:
    """Return fields of a run; a solver without penalties, or one that needs a depth, minimises errors at a depth."""
    penalty = {"penalty": solver.penalties[0]} if solver.penalties else {}
    if solver.penalties and "max_depth" not in solver.needs:
        return penalty | {"regularization": regularization, "max_depth": max_depth}
    return penalty | {"regularization": "0", "max_depth": min(max_depth or 4, DEEPEST.get(solver.name, 4))}


def test_the_trees_of_a_real_peer_are_read_as_it_means_them(real):
    solver, marker = real
    if not solver.exact:
        pytest.skip(f"{solver.name} proves nothing")
    notes = {"data": {}, "seconds": 0.0}
    seeds = [seed for seed in range(40) if (random_problem(seed).n_parts == 2).all()][:3]
    for seed in seeds:
        problem, fields = random_problem(seed), asked(solver, "0.02")
        made = run_peer(problem, notes, Run("d", "e", solver.name, solver.name, **fields), solver, marker)
        best = get("optree").solve(problem, Objective.of(**fields))
        if made["status"] == "killed":
            pytest.skip(f"{solver.name} crashes: {made['reason']}")  # as treefarms does on some tables
        assert (made["status"], made["reason"]) == ("optimal", ""), made["claim"]
        assert made["cost"]["value"] == best.cost
    problem, fields = monks(solver)[0], asked(solver, "0.01")
    made = run_peer(problem, notes, Run("d", "e", solver.name, solver.name, **fields), solver, marker)
    assert (made["status"], made["cost"]["value"]) == (
        "optimal",
        get("optree").solve(problem, Objective.of(**fields)).cost,
    )
    if fields["regularization"] != "0":
        assert (made["size"]["splits"], made["train"]["errors"]) == (12, 24)


def test_a_real_peer_obeys_a_depth_limit_as_we_count_it(real):
    solver, marker = real
    if "max_depth" not in solver.constraints or not solver.exact:
        pytest.skip(f"{solver.name} has no depth limit, or proves nothing")
    problem, notes = monks(solver)
    for depth in (1, 3):
        fields = asked(solver, "0.01", depth)
        run = Run("monks-1", "onehot-drop-first", solver.name, solver.name, **fields)
        assert (
            run_peer(problem, notes, run, solver, marker)["cost"]["value"]
            == get("optree").solve(problem, Objective.of(**fields)).cost
        )


@pytest.mark.parametrize(("ways", "sweeps"), [(2, 0), (3, 0), (3, 10)])
def test_shapes_of_a_real_peer_are_read_as_it_means_them(ways, sweeps):
    """Check the rebuilt tree by the peer's predictions; our single split over all bins is no worse than the peer's."""
    solver, marker = installed("sgtlearn")
    random = np.random.RandomState(ways + sweeps)
    for classes, depth in ((2, 1), (2, 4), (3, 3)):
        codes = random.randint(8, size=(300, 3))
        y = (codes[:, 0] // 2 + codes[:, 1] // 3 + (random.random_sample(300) < 0.2)) % classes
        problem = make(codes, y, [9, 8, 8], classes)  # a part without rows
        options = {"num_partitions": ways, "tao_n_runs": sweeps}
        fields = {"penalty": "leaf", "max_depth": depth, "parameters": options}
        made = run_peer(
            problem,
            {"data": {}, "seconds": 0.0},
            Run("d", "e", "sgtlearn", "sgtlearn", "0.01", **fields),
            solver,
            marker,
        )
        assert (made["status"], made["reason"]) == ("heuristic", "")
        tree = Tree.from_dict(made["tree"])
        assert tree.depth <= depth
        if depth == 1 and not sweeps:
            ours = get("shapecart").solve(problem, Objective.of("0", max_depth=1), max_ways=ways).tree
            assert gini(ours) <= gini(tree) + 1e-6


def gini(tree) -> float:
    """Return the weighted impurity of the leaves."""
    counts = tree.counts[(tree.feature < 0) & tree.counts.any(axis=1)]
    return float((counts.sum(axis=1) - (counts**2).sum(axis=1) / counts.sum(axis=1)).sum())


def test_a_stub_may_answer_shapes(tmp_path):
    declaration = stubs.DECLARATION.replace("[binary]", "[binary, multiway]")
    shape = {"feature": 0, "children": [{}, {}], "places": [0, 1, 0]}
    for places, status in (([0, 1, 0], "time_limit"), ([1, 0], "time_limit"), ([0, 0], "error"), ([0, 2, 1], "error")):
        code = stubs.claiming(tree={**shape, "places": places}, objective=None)
        made = stubs.run(
            stubs.write(tmp_path, code, declaration, f"stub{len(list(tmp_path.iterdir()))}"), encoding="ordinal"
        )
        assert made["status"] == status, made["reason"]
        if status == "time_limit":
            children = Tree.from_dict(made["tree"]).child_of_each_category(0)
            assert children == tuple(places + [places[-1]] * (3 - len(places)))


@pytest.mark.parametrize("peer", ["pycontree", "pystreed-quantiles"])
def test_the_tree_of_a_real_peer_of_numbers_is_read_as_it_means_it(peer):
    """Check that the accuracy of the rebuilt tree is the claimed one, with a column of two values among the others."""
    installed(peer)
    random = np.random.RandomState(0)
    X = np.column_stack([random.random_sample((200, 3)).round(2), random.randint(2, size=200)])
    y = ((X[:, 0] > 0.4) & (X[:, 3] == 1) | (X[:, 1] > 0.8)).astype(int)
    model = PeerModel(peer, 3, folder=ROOT / "workflow" / "peers", markers=environments()).fit(X, y)
    assert (model.status_ in ("optimal", "heuristic"), model.reason_) == (True, "")
    assert model.tree_.depth == 3
    assert model.score(X, y) > 0.95


def test_the_tree_of_a_real_peer_of_values_has_the_error_that_it_claims():
    installed("pystreed-quantiles")
    X, y = load_diabetes(return_X_y=True)
    model = PeerModel("pystreed-quantiles", 3, folder=ROOT / "workflow" / "peers", markers=environments()).fit(X, y)
    assert (model.status_, model.reason_) == ("heuristic", "")
    optimal = OptimalTreeRegressor(0, max_depth=3).fit(X, y)
    assert 0.45 < model.score(X, y) <= optimal.score(X, y)


def test_a_real_peer_of_a_given_depth_is_anytime():
    """Check that DL8.5 leaves its best tree at the time limit."""
    solver = read_peer(ROOT / "workflow" / "peers" / "pydl85")
    marker = environments() / "pydl85.json"
    if not marker.is_file() or (state := json.loads(marker.read_text()))["reason"]:
        pytest.skip("pydl85 is not installed")
    random = np.random.RandomState(0)
    problem = make(random.randint(2, size=(2000, 150)), random.randint(2, size=2000), [2] * 150, 2)
    run = Run("d", "e", "pydl85", "pydl85", "0", max_depth=5, limits={"seconds": 1})
    made = run_peer(problem, {"data": {}, "seconds": 0.0}, run, solver, state)
    assert (made["status"], made["reason"]) == ("time_limit", "")
    assert made["size"]["depth"] == 5
    with refused("solver pydl85: max_depth = None"):
        solver.check_objective(Objective.of("0"))


# The workflow.

COMPARISON = {
    "name": "peers",
    "reference": "cart",
    "repeats": 2,
    "algorithms": {"told": {"solver": "stub", "depth_of": "cart"}},
    "experiments": [
        {
            "datasets": ["monks-1"],
            "encodings": ["onehot"],
            "algorithms": ["ghost", "told", "cart"],
            "regularization": ["0.1", "0.01"],
            "splits": ["full"],
        }
    ],
}


def test_the_workflow_runs_what_it_can_next_to_each_other_and_skips_the_rest(checkout):
    folder = checkout.path / "workflow" / "peers"
    stubs.write(folder, stubs.HONEST.replace('"iterations": 1', '"iterations": request["max_depth"]'))
    ghost = stubs.write(folder, name="ghost")
    (ghost / "requirements.lock").write_text(f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n")
    checkout.environment |= {"PIP_NO_INDEX": "1"}
    (checkout.path / ".peers").mkdir()
    ready = {"python": sys.executable, "reason": ""}  # as if the environment had been made
    (checkout.path / ".peers" / "stub.json").write_text(json.dumps(ready))
    (checkout.path / "peers.json").write_text(json.dumps(COMPARISON))
    done = checkout.snakemake(config="peers.json", cores=1)
    assert done.returncode == 0, done.stdout + done.stderr
    made = checkout.whole_records("peers")
    by_name = {(entry["run"]["algorithm"], entry["run"]["regularization"]): entry for entry in made}
    assert len(by_name) == 6
    assert {entry["status"] for (name, _), entry in by_name.items() if name == "ghost"} == {"skipped"}
    reason = by_name["ghost", "0.1"]["reason"]
    assert "No matching distribution found for no-such-package==1.0" in reason
    assert "delete ghost.json in .peers to try again" in reason
    for lam in ("0.1", "0.01"):
        assert by_name["told", lam]["depth_limit"] == by_name["cart", lam]["size"]["depth"]
        assert len(by_name["cart", lam]["seconds"]["searches"]) == 2
    logs = (checkout.path / "results" / "peers" / "logs" / "solve").glob("*.log")
    lines = "".join(path.read_text() for path in logs)  # runs of less than a second are not on the screen
    assert re.findall(r"^\w+ on monks-1/onehot lambda (\S+) ", lines, re.MULTILINE) == ["0.1"] * 3 + ["0.01"] * 3
    tables = checkout.path / "results" / "peers" / "tables"
    assert (tables / "algorithms.csv").read_text().splitlines()[1].startswith("cart,")
    assert "ghost, skipped, 2 runs" in (tables / "algorithms.md").read_text()
    assert (checkout.path / "results" / "peers" / "plots" / "figures" / "scatter.png").is_file()
    planned = checkout.snakemake("-n", config="peers.json")
    assert "Nothing to be done" in planned.stdout + planned.stderr
