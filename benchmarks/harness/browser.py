"""Pages in headless Chromium, driven over the pipe of its DevTools protocol without another package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
_START = "about:blank"  # a new tab would have a frame of its own, which asks for a server
_SECONDS = 60


class Page:
    """An open page, with its requests and its errors.

    Attributes
    ----------
    errors : list of str
        Uncaught exceptions, and errors of the console.
    requests : list of str
        Addresses of all requests, except for data within the page.
    """

    def __init__(self, commands: int, answers: int):
        self._commands, self._answers = commands, answers
        self._number, self._rest, self._session = 0, b"", None
        self.errors: list[str] = []
        self.requests: list[str] = []

    def _messages(self) -> Iterator[dict]:
        """Yield the messages of the browser."""
        while True:
            *whole, self._rest = self._rest.split(b"\0")
            yield from map(json.loads, whole)
            self._rest += os.read(self._answers, 1 << 20)

    def _note(self, event: dict) -> None:
        """Keep an event that is an error or a request."""
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                self.errors.append(json.dumps(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(params["entry"]["text"])
            case "Network.requestWillBeSent" if not params["request"]["url"].startswith(("data:", "blob:")):
                self.requests.append(params["request"]["url"])

    def send(self, method: str, **params) -> dict:
        """Send a command; return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)
        raise AssertionError

    def attach(self) -> None:
        """Open a tab, and ask for its events."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.send(f"{domain}.enable")

    def size(self, width: int, height: int) -> None:
        """Resize the window; a narrow window counts as a telephone."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )

    def open(self, path: Path) -> None:
        """Load a file, and wait until its scripts have run."""
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete'")
        time.sleep(1)

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + _SECONDS
        while not self.ask(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.1)

    def ask_frame(self, expression: str):
        """Return the value of an expression in the page's only frame, which is a process of its own."""
        time.sleep(1)
        page, self._session = self._session, None
        try:
            (frame,) = (one for one in self.send("Target.getTargets")["targetInfos"] if one["type"] == "iframe")
            self._session = self.send("Target.attachToTarget", targetId=frame["targetId"], flatten=True)["sessionId"]
            for domain in ("Runtime", "Log", "Network"):
                self.send(f"{domain}.enable")
            return self.ask(expression)
        finally:
            self._session = page

    def ask(self, expression: str):
        """Return the value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def shot(self, path: Path) -> None:
        """Save a picture of the window."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))


@contextmanager
def page(width: int = 1400, height: int = 900) -> Iterator[Page]:
    """Yield a new page in a browser of its own."""
    (reads, commands), (answers, writes) = os.pipe(), os.pipe()
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # Chromium reads commands from its descriptor 3, and writes answers to 4.
        shell = f"exec {CHROMIUM} {' '.join(_FLAGS)} --user-data-dir={profile} {_START} 3<&{reads} 4>&{writes}"
        process = subprocess.Popen(
            ["bash", "-c", shell], pass_fds=(reads, writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(reads)
        os.close(writes)
        try:
            opened = Page(commands, answers)
            opened.attach()
            opened.size(width, height)
            yield opened
        finally:
            process.terminate()
            process.wait()
            os.close(commands)
            os.close(answers)
