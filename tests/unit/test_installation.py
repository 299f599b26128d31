"""The wheel is complete, works without a home or a writable folder, and says so if another optree is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest
from support import ROOT
from support.modes import compiled_only
from support.refusal import refused

from optree import OptimalTreeClassifier
from optree.stability import leaves, stability

pytestmark = pytest.mark.slow
REMEDY = "pip uninstall --yes optree optree-bench"


def needed(name: str, found: set[str] | None = None) -> set[str]:
    """Return the distributions that a distribution needs, and theirs, without extras."""
    found = set() if found is None else found
    for requirement in distribution(name).requires or []:
        other = re.match(r"[\w.-]+", requirement).group()
        if "extra ==" not in requirement and other not in found:
            found.add(other)
            needed(other, found)
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Return a folder with the unpacked wheel, and links to the packages that it declares, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-compile"]
    subprocess.run([*pip, "--target", folder, ROOT], check=True, capture_output=True)
    for name in needed("optree-bench"):
        for path in {file.parts[0] for file in distribution(name).files if ".." not in file.parts}:
            if path != "__pycache__":
                (folder / path).symlink_to(distribution(name).locate_file(path))
    return folder


def run(code: str, *paths: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run code in a process whose packages are in the given folders alone: -S leaves site-packages out."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, paths))} | environment
    return subprocess.run([sys.executable, "-S", "-P", "-c", code], env=environment, capture_output=True, text=True)


FIT = """
import sys
from optree import OptimalTreeClassifier
model = OptimalTreeClassifier(0.1, max_depth=2).fit([[0.1, 1], [0.2, 0], [0.8, 1], [0.9, 0]] * 5, [0, 1, 1, 0] * 5)
print(model.status_, model.score([[0.1, 1], [0.2, 0], [0.8, 1], [0.9, 0]], [0, 1, 1, 0]), "pandas" in sys.modules)
"""
DUMP = "import pickle; pickle.dump(model, open({!r}, 'wb'))"
PREDICT = "import pickle; print(pickle.load(open({!r}, 'rb')).predict([[0.15, 1], [0.85, 1]]))"
READ_ONLY = """
import tempfile
def refuse(dir): raise PermissionError(dir)
tempfile.TemporaryFile = refuse  # what shows that a folder can be written, whatever the superuser may
"""
COMPILED = "from optree.compilation import COMPILATION; print(COMPILATION.compiled)"
NOWHERE = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "TMPDIR": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}


def test_the_wheel_has_all_files_that_are_no_python(wheel):
    data = {path.relative_to(ROOT) for path in (ROOT / "optree").rglob("*") if path.suffix in (".json", ".html", ".js")}
    assert data
    assert all((wheel / path).is_file() for path in data)


@compiled_only
def test_a_fit_from_the_wheel_with_its_declared_dependencies_alone_and_then_read_only(wheel, tmp_path):
    """The first process keeps its machine code in the package; the others can write nowhere, and compile nothing."""
    model = tmp_path / "model.pickle"
    first = run(FIT + DUMP.format(str(model)), wheel)
    assert (first.stdout, first.returncode) == ("optimal 1.0 False\n", 0), first.stderr
    again = run(f"{READ_ONLY}{FIT}{COMPILED}", wheel, **NOWHERE)
    assert again.stdout == "optimal 1.0 False\n0\n", again.stderr
    assert "no folder can be written" in again.stderr
    assert run(PREDICT.format(str(model)), wheel, **NOWHERE).stdout == "[0 1]\n"
    elsewhere = {"NUMBA_CACHE_DIR": str(tmp_path)}  # no machine code is there, and none is needed
    assert run(f"{PREDICT.format(str(model))}\n{COMPILED}", wheel, **elsewhere).stdout == "[0 1]\n0\n"


def test_the_command_that_compiles_shows_progress_and_size_and_a_later_process_compiles_nothing(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "optree.compile", "cart", "shapecart"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    assert re.fullmatch(r" 1 of 2: cart, 0 of \d+ kernels, \d+ s", first)
    assert re.fullmatch(r" 2 of 2: shapecart, [1-9]\d* of \d+ kernels, \d+ s", second)
    assert re.fullmatch(rf"machine code: \d+\.\d MiB below {tmp_path}", last)
    again = [sys.executable, "-c", f"from optree.compile import main; main(['shapecart'])\n{COMPILED}"]
    done = subprocess.run(again, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.endswith("\n0\n"), done.stderr
    parallel = [*command, "--jobs", "2"]
    done = subprocess.run(parallel, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    unknown = subprocess.run([*command, "Cart"], capture_output=True, text=True, cwd=ROOT)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)


def packages(folder: Path, *, over: bool) -> Path:
    """Make the traces of the other distribution in a folder, and its package too if it was installed over this one."""
    (folder / "optree-0.17.0.dist-info").mkdir(parents=True)
    (folder / "optree-0.17.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: optree\nVersion: 0.17.0\n"
    )
    if over:
        (folder / "optree").mkdir()
        (folder / "optree" / "__init__.py").write_text("tree_map = None\n")
        for path in (ROOT / "optree").iterdir():
            if path.name not in ("__init__.py", "__pycache__"):
                (folder / "optree" / path.name).symlink_to(path)
    return folder


@pytest.mark.parametrize("over", [False, True])
def test_the_other_distribution_of_this_name_is_named_in_one_line_with_a_remedy(tmp_path, over):
    folder = packages(tmp_path / "site", over=over)
    command = [sys.executable, "-c", "import optree.estimators"]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": f"{folder}:{ROOT}"}, capture_output=True, text=True, cwd=tmp_path
    )
    (line,) = (line for line in done.stderr.splitlines() if REMEDY in line)
    assert "the distribution optree 0.17.0 (pytrees)" in line
    assert done.returncode == over


def absent(monkeypatch, package: str) -> None:
    """Let imports of a package fail, as without it."""
    for name in {package, *(name for name in sys.modules if name.partition(".")[0] == package)}:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("matplotlib", "plots", lambda model, X, y: model.plot()),
        ("matplotlib", "plots", lambda model, X, y: model.plot_trace()),
        ("matplotlib", "plots", lambda model, X, y: model.plot_importances()),
        ("onnx", "onnx", lambda model, X, y: model.export("onnx")),
        ("pandas", "frames", lambda model, X, y: leaves(model)),
        ("pandas", "frames", lambda model, X, y: stability(model, X, y, n_bootstraps=1)),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(package, extra, call, monkeypatch):
    X, y = np.arange(20.0)[:, None], np.arange(20) > 9
    model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    absent(monkeypatch, package)
    with refused(f"the package {package} is not installed", f"pip install 'optree-bench[{extra}]'"):
        call(model, X, y)
    assert model.to_svg().startswith("<svg")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(one.startswith(package) for one in declared[extra])
    assert f"| `{extra}` |" in (ROOT / "docs" / "install.md").read_text()


def test_the_report_of_stability_is_imported_without_pandas(tmp_path):
    text = "import sys; sys.modules['pandas'] = sys.modules['matplotlib'] = None; import optree.stability, optree.plots"
    subprocess.run([sys.executable, "-c", text], check=True, cwd=tmp_path)
