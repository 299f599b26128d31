"""OpenML's client against a server on this machine."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from refusal import refused

from optree.datasets import fetch


@pytest.fixture
def openml_server(table, tmp_path, monkeypatch):
    """Serves tic-tac-toe as dataset 50, hangs for 51, knows no other."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # the client makes directories when it is imported
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
    openml = pytest.importorskip("openml")
    tic_tac_toe = fetch(table["tic-tac-toe"])
    nominal = "".join(f"@attribute {name}-square {{b,o,x}}\n" for name in tic_tac_toe.X)
    rows = tic_tac_toe.content().decode().partition("\n")[2]
    arff = f"@relation t\n{nominal}@attribute Class {{negative,positive}}\n@data\n{rows}".encode()
    hung = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.endswith("/data/51"):
                hung.wait(10)
            pages = {"/api/v1/xml/data/50": (200, description), "/50.arff": (200, arff)}
            status, page = pages.get(self.path, (412, unknown))
            self.send_response(status)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    fields = {"id": 50, "name": "t", "version": 1, "format": "ARFF", "url": f"{url}/50.arff"}
    fields |= {"description": "t", "default_target_attribute": "Class", "md5_checksum": hashlib.md5(arff).hexdigest()}
    inner = "".join(f"<oml:{key}>{value}</oml:{key}>" for key, value in fields.items())
    space = 'xmlns:oml="http://openml.org/openml"'
    description = f"<oml:data_set_description {space}>{inner}</oml:data_set_description>".encode()
    unknown = (
        f"<oml:error {space}><oml:code>111</oml:code><oml:message>Unknown dataset</oml:message></oml:error>".encode()
    )
    monkeypatch.setattr(openml.config, "server", f"{url}/api/v1/xml")
    monkeypatch.setattr(openml.config, "connection_n_retries", 1)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield openml
    hung.set()
    server.shutdown()
    server.server_close()


def test_openml(table, openml_server):
    builtin = table["tic-tac-toe"]
    dataset = replace(builtin, source="openml", identifier="50", version="1", columns=(*fetch(builtin).X, "class"))
    cache = openml_server.config.get_config_as_dict()["cachedir"]
    assert fetch(dataset).content() == fetch(builtin).content()
    assert openml_server.config.get_config_as_dict()["cachedir"] == cache
    with refused("version: expected 2, found 1"):
        fetch(replace(dataset, version="2"))
    with refused("tic-tac-toe", "OpenML 52 at http://127.0.0.1", "Unknown dataset"):
        fetch(replace(dataset, identifier="52"))
    with refused("tic-tac-toe", "OpenML 51", "no answer within 0.2 seconds"):
        fetch(replace(dataset, identifier="51"), timeout_seconds=0.2)
