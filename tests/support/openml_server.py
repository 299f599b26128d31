"""A server on this machine for OpenML's REST protocol and raw files, with faults on request."""

from __future__ import annotations

import hashlib
import io
import socket
import threading
from collections import Counter
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from optree.datasets import Table

_SPACE = 'xmlns:oml="http://openml.org/openml"'
_UNKNOWN = f"<oml:error {_SPACE}><oml:code>111</oml:code><oml:message>Unknown dataset</oml:message></oml:error>"
_NO_RESULTS = f"<oml:error {_SPACE}><oml:code>372</oml:code><oml:message>No results</oml:message></oml:error>"


def arff(table: Table) -> bytes:
    """Return a table as ARFF; all columns without numbers are nominal."""
    lines = ["@relation t"]
    for name in table.X:
        values = sorted(set(table.X[name])) if name not in table.numeric else None
        lines.append(f"@attribute '{name}' " + (f"{{{','.join(map(str, values))}}}" if values else "real"))
    lines.append(f"@attribute {table.y.name} {{{','.join(sorted(set(table.y)))}}}")
    return "\n".join([*lines, "@data", *table.content().decode().splitlines()[1:], ""]).encode()


def parquet(table: Table) -> bytes:
    """Return a table as parquet in OpenML's form, with nominal columns as categories."""
    frame = table.X.assign(**{table.y.name: table.y})
    nominal = {name: "category" for name in frame if name not in table.numeric}
    file = io.BytesIO()
    frame.astype(nominal).to_parquet(file)
    return file.getvalue()


class Server:
    """Pages by path, and a list of faults by path, one for each of the next requests.

    A fault is a status (500 without XML, like OpenML's web server), "hang", "drop" (the connection) or "truncate" (the
    body).
    """

    def __init__(self):
        self.pages: dict[str, tuple[int, bytes]] = {}
        self.faults: dict[str, list] = {}
        self.requests: Counter[str] = Counter()
        self.released = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop the server."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    def add(self, identifier: int, name: str, body: bytes, pq: bytes | None = None, md5: str = "", target="class"):
        """Serve a dataset as OpenML does; with ``pq`` also as parquet."""
        fields = {"id": identifier, "name": name, "version": 1, "description": name, "format": "ARFF"}
        fields |= {"url": f"{self.url}/{identifier}.arff", "default_target_attribute": target}
        fields |= {"md5_checksum": md5 or hashlib.md5(body).hexdigest()}
        if pq is not None:
            fields["parquet_url"] = f"{self.url}/bucket/{identifier}.pq"
            self.pages[f"/bucket/{identifier}.pq"] = (200, pq)
        self.pages[f"/{identifier}.arff"] = (200, body)
        self.pages[f"/api/v1/xml/data/{identifier}"] = (200, _xml("data_set_description", fields))
        entry = {"did": identifier, "name": name, "version": 1, "status": "active", "format": "ARFF"}
        listed = _xml("data", {}, _xml("dataset", entry, declare=False))
        self.pages[f"/api/v1/xml/data/list/data_name/{name}/data_version/1"] = (200, listed)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.split("?")[0]
        self.requests[path] += 1
        fault = self.faults[path].pop(0) if self.faults.get(path) else None
        if fault == "hang":
            self.released.wait(20)
            return
        if fault == "drop":
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        status, body = (fault, b"busy") if isinstance(fault, int) else self._page(path)
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("ETag", hashlib.md5(body).hexdigest())
        handler.send_header("Last-Modified", formatdate(0, usegmt=True))
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(body[: len(body) // 2] if fault == "truncate" else body)
        if fault == "truncate":
            handler.close_connection = True

    def _page(self, path: str) -> tuple[int, bytes]:
        for listed in ("/limit/", "/offset/", "/status/"):  # the client adds them at any place
            if listed in path:
                head, _, rest = path.partition(listed)
                path = head + "".join(f"/{part}" for part in rest.split("/")[1:])
        unknown = _NO_RESULTS if "/data/list" in path else _UNKNOWN
        return self.pages.get(path, (412 if "/api/" in path else 404, unknown.encode()))

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server._answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        return Handler


def _xml(name: str, fields: dict, inner: str = "", declare: bool = True) -> bytes | str:
    inner += "".join(f"<oml:{key}>{value}</oml:{key}>" for key, value in fields.items())
    text = f"<oml:{name} {_SPACE if declare else ''}>{inner}</oml:{name}>"
    return text.encode() if declare else text


@contextmanager
def serving(folder: Path, environment):
    """Yield a server; write the client's configuration to ``folder``, and set it with ``environment(name, value)``."""
    server = Server()
    (folder / "openml").mkdir(parents=True, exist_ok=True)
    (folder / "openml" / "config").write_text(f"server = {server.url}/api/v1/xml\napikey =\n")
    environment("XDG_CONFIG_HOME", str(folder))
    try:
        yield server
    finally:
        server.close()
