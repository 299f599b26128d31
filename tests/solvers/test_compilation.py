"""Compiled kernels: numba in one place, and a disk cache that sees every edit and works in a read-only package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import ROOT
from support.modes import compiled_only

from optree.solvers.kernels.jit import disk_cache

pytestmark = pytest.mark.slow

MODES = pytest.mark.parametrize("plain", ["0", "1"], ids=["kernels", "plain"])

TOY = {
    "__init__.py": "",
    "constant.py": "NUMBER = 1\n",
    "inner.py": """
from optree.solvers.kernels.jit import inner_function
from optree.solvers.toy.constant import NUMBER

@inner_function
def number():
    return NUMBER
""",
    "outer.py": """
from optree.solvers.kernels.jit import kernel
from optree.solvers.toy import (
    inner,  # a comment
)
number = inner.number

@kernel
def answer():
    return number()
""",
}


@pytest.fixture
def package(tmp_path) -> Path:
    """Return a folder with a copy of the package, in which an inner function has a constant from a third module."""
    ignored = shutil.ignore_patterns("__pycache__", "bench")
    shutil.copytree(ROOT / "optree", tmp_path / "copy" / "optree", ignore=ignored)
    (tmp_path / "copy" / "optree" / "solvers" / "toy").mkdir()
    for name, text in TOY.items():
        (tmp_path / "copy" / "optree" / "solvers" / "toy" / name).write_text(text)
    return tmp_path / "copy"


def run(code, path, **environment):
    """Return the output of a fresh process that keeps only the search path of the present environment."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(path)} | environment
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ANSWER = """
from optree.solvers.toy.outer import answer
print(answer(), sum(answer.stats.cache_misses.values()))
"""


def answer(package, **environment):
    return run(ANSWER, package, **environment).split()


@compiled_only
@MODES
def test_an_edit_of_a_module_that_a_kernel_imports_is_seen_by_the_cache(package, tmp_path, plain):
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "OPTREE_PLAIN_NJIT": plain}
    assert answer(package, **settings) == ["1", "1"]
    assert answer(package, **settings) == ["1", "0"]
    (package / "optree" / "solvers" / "toy" / "constant.py").write_text("NUMBER = 2\n")
    assert answer(package, **settings) == ["2", "1"]
    assert answer(package, **settings) == ["2", "0"]


@compiled_only
def test_folders_of_other_versions_are_kept_for_a_week(package, tmp_path):
    def write(number):
        (package / "optree" / "solvers" / "toy" / "constant.py").write_text(f"NUMBER = {number}\n")
        settings = {"PYTHONDONTWRITEBYTECODE": "1"}  # bytecode of a file of the same second and size counts as its own
        return answer(package, NUMBA_CACHE_DIR=str(tmp_path / "cache"), **settings)

    assert [write(number) for number in (1, 2, 1)] == [["1", "1"], ["2", "1"], ["1", "0"]]
    for folder in (tmp_path / "cache").iterdir():
        os.utime(folder, (time.time() - 8 * 24 * 3600,) * 2)
    assert [write(number) for number in (1, 3, 1, 2)] == [["1", "0"], ["3", "1"], ["1", "0"], ["2", "1"]]


@compiled_only
def test_copies_of_one_version_share_their_machine_code(package, tmp_path):
    shutil.copytree(package, tmp_path / "other")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert [answer(folder, **cache) for folder in (package, tmp_path / "other")] == [["1", "1"], ["1", "0"]]
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "own"), "OPTREE_MACHINE_CODE": cache["NUMBA_CACHE_DIR"]}
    assert answer(package, **own) == ["1", "0"]


@compiled_only
def test_a_module_that_no_kernel_imports_compiles_nothing_anew(package, tmp_path):
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    answer(package, **settings)
    with open(package / "optree" / "budget.py", "a") as file:
        file.write("# an edit\n")
    assert answer(package, **settings) == ["1", "0"]


@compiled_only
@MODES
def test_where_neither_package_nor_home_can_be_written_the_cache_is_among_temporary_files(package, tmp_path, plain):
    for folder in [path for path in package.rglob("*") if path.is_dir()]:
        (folder / "__pycache__").touch()  # a file in the folder's place: not even the superuser can write there
    (tmp_path / "temporary").mkdir()
    home = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "TMPDIR": str(tmp_path / "temporary")}
    settings = {"OPTREE_PLAIN_NJIT": plain, "PYTHONDONTWRITEBYTECODE": "1"}
    assert answer(package, **home, **settings) == ["1", "1"]
    assert answer(package, **home, **settings) == ["1", "0"]
    (cache,) = (tmp_path / "temporary").iterdir()
    assert cache.stat().st_mode & 0o777 == 0o700


@compiled_only
def test_where_nothing_can_be_written_every_process_compiles(package):
    nowhere = f"from optree.solvers.kernels.jit import disk_cache\ndisk_cache._candidates = lambda file: []\n{ANSWER}"
    assert [run(nowhere, package) for _ in range(2)] == ["1 1\n"] * 2


def test_code_with_bounds_checks_is_kept_apart(monkeypatch, tmp_path):
    monkeypatch.setattr(disk_cache.config, "CACHE_DIR", str(tmp_path))
    module, file = "optree.solvers.branches.search", "search.py"
    found = []
    for checked in (0, 1):
        monkeypatch.setattr(disk_cache.config, "BOUNDSCHECK", checked)
        found += disk_cache.folders.__wrapped__(module, file, "kernels")
    assert len(set(found)) == 2
    assert all(folder.is_dir() for folder in found)


def test_all_of_numba_that_is_not_public_is_in_one_folder():
    inside = ROOT / "optree" / "solvers" / "kernels" / "jit"
    for path in (ROOT / "optree").rglob("*.py"):
        if inside not in path.parents:
            used = re.findall(
                r"^\s*(?:from|import) (numba\S*|llvmlite\S*)(?: import (.*))?", path.read_text(), re.MULTILINE
            )
            assert set(used) <= {("numba", "config")}, path


MEET = """
import os, sys, time
from pathlib import Path
from numba.core.caching import IndexDataCacheFile
from optree.solvers.toy.twice import twice

number, folder = eval(sys.argv[1]), Path(sys.argv[2])
dumps, dump = [], IndexDataCacheFile._dump

def meet(files, found):
    dumps.append(1)
    data = dump(files, found)
    if len(dumps) == 1:  # both processes have read what is on disk
        (folder / type(number).__name__).touch()
        while len(list(folder.iterdir())) < 2:
            time.sleep(0.01)
    time.sleep(0.5 * (isinstance(number, float) == (len(dumps) == 1)))  # float's first file is last, int's second file
    return data

IndexDataCacheFile._dump = meet
print(twice(number))
"""


@compiled_only
@MODES
def test_two_processes_that_compile_for_different_types_at_once_keep_both(package, tmp_path, plain):
    """With numba's own files, the third process reads the bits of its number as a whole number."""
    kernel = "\nfrom optree.solvers.kernels.jit import kernel\n\n@kernel\ndef twice(x):\n    return 2 * x\n"
    (package / "optree" / "solvers" / "toy" / "twice.py").write_text(kernel)
    (meeting := tmp_path / "meeting").mkdir()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package), "OPTREE_PLAIN_NJIT": plain}
    both = [
        subprocess.Popen([sys.executable, "-P", "-c", MEET, number, meeting], env=environment, stdout=subprocess.PIPE)
        for number in ("21", "1.5")
    ]
    assert [float(one.communicate(timeout=120)[0]) for one in both] == [42, 3]
    again = "from optree.solvers.toy.twice import twice; print(twice(1.5), twice(21), *twice.stats.cache_hits.values())"
    assert run(again, package, OPTREE_PLAIN_NJIT=plain).split() == ["3.0", "42", "1", "1"]


TOGETHER = """
import os, sys, time
from pathlib import Path
from optree.solvers.kernels.jit.disk_cache import CodeFiles
from optree.solvers.toy.twice import twice

folder, lock = Path(sys.argv[1]), CodeFiles.lock

def meet(files, key):
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < 2:  # until neither process has found machine code
        time.sleep(0.01)
    return lock(files, key)

CodeFiles.lock = meet
print(twice(21), len(twice.stats.cache_hits), len(twice.stats.cache_misses))
"""


@compiled_only
@MODES
def test_of_two_processes_that_need_a_kernel_at_once_one_compiles_and_the_other_loads(package, tmp_path, plain):
    kernel = "\nfrom optree.solvers.kernels.jit import kernel\n\n@kernel\ndef twice(x):\n    return 2 * x\n"
    (package / "optree" / "solvers" / "toy" / "twice.py").write_text(kernel)
    (meeting := tmp_path / "meeting").mkdir()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package), "OPTREE_PLAIN_NJIT": plain}
    command = [sys.executable, "-P", "-c", TOGETHER, meeting]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(one.communicate(timeout=120)[0] for one in both) == ["42 0 1\n", "42 1 0\n"]
    assert not list(package.rglob("*.lock"))


@compiled_only
def test_an_error_in_compilation_ends_the_lock(package):
    kernel = "\nfrom optree.solvers.kernels.jit import kernel\n\n@kernel\ndef broken(x):\n    return x.nothing\n"
    (package / "optree" / "solvers" / "toy" / "broken.py").write_text(kernel)
    code = "from optree.solvers.toy.broken import broken\ntry:\n    broken(1)\nexcept Exception:\n    print('raised')"
    assert run(code, package).split() == ["raised"]
    assert not list(package.rglob("*.lock"))


NESTED = """
from typing import NamedTuple
import numpy as np
from optree.solvers.kernels.jit import borrow, kernel

class Inner(NamedTuple):
    numbers: np.ndarray

class Outer(NamedTuple):
    inner: Inner

@kernel
def first(outer):
    return borrow(outer).inner.numbers[0]
"""


@compiled_only
def test_a_view_of_a_tuple_within_a_tuple_is_refused(package):
    """Its arrays have owners, which a view does not count: the memory would be freed twice."""
    (package / "optree" / "solvers" / "toy" / "nested.py").write_text(NESTED)
    code = "import numpy as np\nfrom optree.solvers.toy.nested import Inner, Outer, first\ntry:\n"
    code += "    first(Outer(Inner(np.zeros(1))))\nexcept Exception as error:\n    print(error)"
    assert "borrow: field 'inner' is a tuple" in run(code, package)


RECORDS = """
from optree.solvers.kernels.jit import inner_function, kernel

@inner_function
def copy(records, other):
    records[1] = records[2]
    other[0] = records[0]

@kernel
def plain(records, other):
    copy(records, other)

@kernel(thorough=True)
def thorough(records, other):
    copy(records, other)
"""


@compiled_only
@pytest.mark.parametrize("plain", ["0", "1"])
def test_records_are_copied_as_a_whole_by_both_kinds_of_kernels(package, plain):
    (package / "optree" / "solvers" / "toy" / "records.py").write_text(RECORDS)
    code = """
import numpy as np
from optree.solvers.toy.records import plain, thorough
kind = np.dtype([("a", np.int8), ("b", np.float64), ("c", np.int32, (3,))])
for kernel in (plain, thorough):
    records, other = np.arange(4 * kind.itemsize, dtype=np.uint8).view(kind), np.zeros(2, kind)
    before = records.copy()
    kernel(records, other)
    same = [records[[0, 2, 3]].tobytes() == before[[0, 2, 3]].tobytes(), records[1].tobytes() == before[2].tobytes()]
    print(all(same), other[0].tobytes() == before[0].tobytes(), other[1].tobytes() == bytes(kind.itemsize))
    print("llvm.memcpy" in next(iter(kernel.inspect_llvm().values())))
"""
    told = run(code, package, OPTREE_PLAIN_NJIT=plain).split()
    assert told[:3] + told[4:7] == ["True"] * 6
    assert plain == "1" or [told[3], told[7]] == ["True"] * 2
