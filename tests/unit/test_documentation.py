"""The documentation: its examples give the output that they show, and its site is whole and needs no network."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
import textwrap
import warnings
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from harness.browser import CHROMIUM, page
from support import ROOT
from support.modes import compiled_only

import optree

pytestmark = [pytest.mark.slow, compiled_only]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = {path.name: re.findall(r"^ *```pycon\n(.*?)^ *```$", path.read_text(), re.M | re.S) for path in PAGES}
ESTIMATORS = [getattr(optree, name) for name in optree.__all__ if name[0].isupper()]


def run_examples(text: str, name: str) -> None:
    """Compare the output of all examples in a text with the output that they show."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    printed: list[str] = []
    with warnings.catch_warnings(action="ignore"):
        failed, _ = runner.run(test, out=printed.append)
    assert not failed, "".join(printed)


@pytest.mark.parametrize("name", [name for name, blocks in EXAMPLES.items() if blocks])
def test_the_examples_of_a_page_give_the_output_that_it_shows(name):
    run_examples("\n".join(map(textwrap.dedent, EXAMPLES[name])), name)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_the_docstring_has_an_example_that_runs(estimator):
    run_examples(inspect.getdoc(estimator), estimator.__name__)


class Links(HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found["id"]} if "id" in found else set()
        if "src" in found or (tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload")):
            self.loaded.append(found.get("src") or found["href"])
        elif tag == "a" and "href" in found:
            self.links.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Return the folder of the site."""
    if importlib.util.find_spec("furo") is None:
        pytest.skip("the site's packages are not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-E", "-q", "-W", "--keep-going", "-d", folder / "trees", ROOT / "docs"]
    done = subprocess.run([*command, folder / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_the_site_is_whole_and_loads_nothing_from_elsewhere(site):
    """Each link and each anchor exists; scripts, styles and pictures are the site's own."""
    pages = {path.resolve(): Links(path) for path in site.rglob("*.html")}
    assert {f"{path.stem}.html" for path in PAGES if path.stem != "README"} <= {path.name for path in pages}
    for path, found in pages.items():
        (hidden,) = re.findall('<!--beside-results .*href="(.*?)".* beside-results-->', path.read_text())
        assert (path.parent / hidden).resolve() == site.resolve().parent / "index.html", path.name
        for link in found.loaded + found.links:
            name, anchor = urldefrag(link)
            if link in found.links and re.match(r"https?:", link):
                continue
            target = (path.parent / unquote(name.split("?")[0])).resolve() if name else path
            assert target.is_file(), f"{path.name}: {link}"
            if anchor and target in pages:
                assert unquote(anchor) in pages[target].anchors, f"{path.name}: {link}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:|@import", style.read_text()), style


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [1400, 390])
def test_no_page_overflows_or_has_an_error_in_a_browser(site, width):
    with page(width, 900) as opened:
        for path in sorted(site.rglob("*.html")):
            opened.send("Page.navigate", url=path.as_uri())
            opened.wait(f"document.readyState === 'complete' && location.pathname.endsWith('/{path.name}')")
            assert opened.ask("document.documentElement.scrollWidth") <= width, path.name
        assert opened.errors == []
        assert all(address.startswith("file:") for address in opened.requests)
