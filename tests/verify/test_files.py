"""A changed proof is refused with one line, or shows another true statement."""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import optree_verify
import pytest
from support.modes import seeds
from support.small_proofs import Recursion, number, priced, random_case, random_supports, seal, varied

PROGRAM = Path(optree_verify.__file__)
JUNK = [None, -1, 0, 1, 2**31, 2**63, 10**400, 1.5, "x", "", [], {}, [[]], True, "0/0", "1/0", "nan", [None], "optimal"]
JUNK += ["actions", ["f0", "f0"]]
ANSWER = re.compile(r"(optimal|within \S+): cost (\S+), .* supports, data [0-9a-f]{16}\n")


class Example:
    """A table, its optimal tree, and a proof of it."""

    def __init__(self, seed: int, folder: Path, change=None):
        self.case, self.data, self.proof = (
            random_case(np.random.default_rng(seed)),
            folder / "data.csv",
            folder / "tree.proof",
        )
        if change:
            self.case = change(self.case, np.random.default_rng(seed))
        self.case.write(self.data)
        self.recursion = Recursion(self.case)
        whole = self.recursion.everything, self.recursion.depth, self.recursion.budget
        self.cost, tree = self.recursion.least_cost(*whole) + self.recursion.first_leaf, self.recursion.tree(*whole)
        problem = optree_verify.Problem(self.case.head, self.case.table)
        self.body, count = random_supports(problem, np.random.default_rng(seed), 1.0, 10**6)
        self.head = self.case.head | {"tree": tree, "supports": count}

    def answer(self, capsys, content: bytes) -> str:
        """Return the line that the program prints, which is of one of two forms; its exit code agrees."""
        self.proof.write_bytes(content)
        code = optree_verify.main([str(self.data), str(self.proof)])
        out, err = capsys.readouterr()
        assert err == ""
        assert out.count("\n") == 1
        assert (code, True) == (0, bool(ANSWER.fullmatch(out))) if code == 0 else out.startswith("refused: ")
        return out

    def check_statement(self, line: str, content: bytes) -> None:
        """Check an accepted statement against plain recursion over the problem that its header names."""
        if match := ANSWER.fullmatch(line):
            head = json.loads(content.split(b"\n")[1])
            other = Recursion(type(self.case)(self.case.rows, head))
            least = other.least_cost(other.everything, other.depth, other.budget) + other.first_leaf
            gap = Fraction(0) if match[1] == "optimal" else Fraction(match[1].split()[1])
            assert least <= Fraction(match[2]) <= least + gap * (1 + Fraction(1, 10**5))


EXAMPLES = [(3, None), (8, varied), (11, varied), (4, varied), (8, priced), (4, priced)]
EXAMPLES += [(seed, None) for seed in (8, 11, 17, 24, 31)]


@pytest.fixture(params=EXAMPLES)
def example(request, tmp_path) -> Example:
    """Return a table with a proof."""
    seed, change = request.param
    return Example(seed, tmp_path, change)


def test_a_proof_of_the_optimum_is_accepted(example, capsys):
    line = example.answer(capsys, seal(example.head, example.body))
    assert line.startswith(
        f"optimal: cost {example.cost}, lambda {example.head['lambda']} per {example.head['penalty']}"
    )


def test_a_bound_is_accepted_for_the_gap_that_it_leaves(example, capsys):
    for claim in ("1000", "0"):
        line = example.answer(capsys, seal(example.head | {"claim": claim, "supports": 0}, b""))
        assert line.startswith(("within", "optimal", "refused: not proved: the tree costs"))
        assert claim == "0" or not line.startswith("refused")


def changed(random: random.Random, head: dict, body: bytes) -> bytes:
    """Return the content of a proof file with one random change, under a checksum that fits it or not."""
    whole, kind = seal(head, body), random.randrange(9)
    if kind == 0:
        flipped = bytearray(whole)
        flipped[random.randrange(len(whole))] ^= 1 << random.randrange(8)
        return bytes(flipped)
    if kind == 1:
        return whole[: random.randrange(len(whole))]
    if kind == 2 and body:
        flipped = bytearray(body)
        flipped[random.randrange(len(body))] ^= 1 << random.randrange(8)
        return seal(head, bytes(flipped))
    if kind == 3:
        return seal(head, body[: random.randrange(len(body) + 1)])
    if kind == 4:
        return seal(head | {random.choice(sorted(head)): random.choice(JUNK)}, body)
    if kind == 5:
        tree = list(head["tree"])
        tree[random.randrange(len(tree))] = random.choice([0, 1, 5, -1, -2, 10**30, -(10**30), "x"])
        return seal(head | {"tree": random.choice([tree, tree[1:], tree + tree, []])}, body)
    if kind == 6:
        change = {"max_depth": random.choice([0, 1, 2, 9]), "max_splits": random.choice([0, 1, 2, 3, 1000, 1001])}
        change |= {
            "min_samples_leaf": random.choice([1, 2, 10**9]),
            "lambda": random.choice(["0", "1", "1/7", "1e-3", "0x1", "1/-2"]),
        }
        change |= {"penalty": random.choice(["split", "leaf"]), "claim": random.choice(["0", "2.5", "1/3", "optimal"])}
        name = random.choice(sorted(change))
        return seal(head | {name: change[name]}, body)
    if kind == 7:
        feature = random.randrange(len(head["features"]))
        features = json.loads(json.dumps(head["features"]))
        features[feature][random.randrange(4)] = random.choice(
            [*JUNK, "numbers", "cuts", "low", [0.5], [0.5, 0.25], [["t0"]]]
        )
        return seal(head | {"features": features}, body)
    bombs = [b"", b"\n\n", optree_verify.MAGIC, seal(head, b"\x80" * 1000), seal(head, b"\xff" * 5 + b"\x01")]
    bombs += [seal(head | {"supports": 10**18}, body), seal(head, number(2**27)), seal(head, body + b"\x00")]
    return random.choice(bombs)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES[:6], indirect=True)
def test_no_change_of_a_proof_shows_a_false_statement(example, capsys):
    generator = random.Random(example.cost.numerator)
    for _ in seeds(500, 500):
        content = changed(generator, example.head, example.body)
        example.check_statement(example.answer(capsys, content), content)


def test_a_lack_of_memory_decides_nothing(tmp_path, monkeypatch, capsys):
    example = Example(3, tmp_path)
    example.proof.write_bytes(seal(example.head, example.body))
    monkeypatch.setattr(optree_verify, "check", lambda *given: np.empty(2**55))
    assert optree_verify.main([str(example.data), str(example.proof)]) == 3
    assert capsys.readouterr().out == "undecided: not enough memory\n"


def test_the_program_is_short():
    source = PROGRAM.read_text()
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)]
    told = {line for text in texts for line in range(text.lineno, text.end_lineno + 1)}
    lines = [line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in told]
    assert sum(bool(line) and not line.startswith("#") for line in lines) < 400
    assert len(source.splitlines()) < 550


def test_a_deep_or_large_header_is_refused(example, capsys):
    rest = b'{"a":' * 100_000 + b"\n"
    for text in (rest, b"[" * 5_000_000 + b"\n", b"[]\n", b"1\n"):
        whole = optree_verify.MAGIC + optree_verify.hashlib.sha256(text).hexdigest().encode() + b"\n" + text
        assert example.answer(capsys, whole).startswith("refused: header")


def test_a_changed_table_changes_the_digest(example, capsys):
    before = example.answer(capsys, seal(example.head | {"claim": "1000"}, example.body))
    others = example.head["classes"] or ["0", "1"]  # squared errors and actions have numbers in place of classes
    name = example.head["target"][0] if example.head["costs"] == "actions" else "y"
    example.case.rows[0][name] = next(k for k in others if k != example.case.rows[0][name])
    example.case.write(example.data)
    after = example.answer(capsys, seal(example.head | {"claim": "1000"}, example.body))
    assert ANSWER.fullmatch(before)
    assert ANSWER.fullmatch(after)
    assert after[-17:] != before[-17:]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "rows of unequal length, or none"),
        ("a,b\n1\n", "rows of unequal length"),
        ("a,a\n1,2\n", "two columns of one name"),
        ("a,b\n1,\udcff\n", "can't decode"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(table, words, tmp_path, capsys):
    example = Example(3, tmp_path)
    example.data.write_bytes(table.encode(errors="surrogateescape"))
    assert words in example.answer(capsys, seal(example.head, example.body))


def test_the_command_prints_one_line_and_uses_the_standard_library_and_numpy_only(tmp_path):
    example = Example(3, tmp_path)
    example.proof.write_bytes(seal(example.head, example.body))
    code = (
        "import sys, optree_verify; code = optree_verify.main(); print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, str(example.data), str(example.proof)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROGRAM.parent, check=False)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    foreign = (
        {name.partition(".")[0] for name in done.stderr.split()} - sys.stdlib_module_names - {"numpy", "optree_verify"}
    )
    assert not {"optree", "numba", "sklearn", "pandas", "scipy"} & foreign
    assert "import optree\n" not in PROGRAM.read_text()
    done = subprocess.run([sys.executable, PROGRAM, "x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: optree-verify data.csv tree.proof\n")
    done = subprocess.run([sys.executable, PROGRAM, "x", "y"], capture_output=True, text=True, check=False)
    # A mistyped name refutes nothing.
    assert (done.returncode, done.stdout.count("\n"), done.stdout[:9], done.stderr) == (2, 1, "not read:", "")
