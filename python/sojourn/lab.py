"""The laboratory's page: served on loopback, or written as one file.

The page is built by `make web`, and comes with the package. In it the engine runs in the browser; the server gives
files and nothing else.
"""

import base64
import gzip
import json
import re
import secrets
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

from sojourn.api import Scenario
from sojourn.pages import laboratory
from sojourn.pages.render import digest
from sojourn.reading import input_error
from sojourn.store import whole_file

HOST = "127.0.0.1"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
}
# There is no inline style or script.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src data:; "
        "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# A control of the reader's own is code. It runs in the worker alone, which sees no page and reaches no network.
WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'unsafe-eval'"


def page() -> dict[str, bytes]:
    """Return the page's files by their paths; raise InputError where it was not built."""
    folder = files("sojourn") / "page"
    if not _is_built():
        raise input_error("the laboratory's page was not built; run `make web`, which needs Rust's WebAssembly target")
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def _is_built() -> bool:
    return (files("sojourn") / "page" / "engine.wasm").is_file()


def fragment(scenario: Scenario | None, queue: str | None = None) -> str:
    """Return what stands behind the page's address: the scenario, with another queue on the right; empty for none."""
    if scenario is None:
        return ""
    right = scenario if queue is None else scenario.with_({"bottleneck.queue": queue})
    return laboratory.fragment(scenario.source, right.source)


def write_beside(page: Path) -> None:
    """Write the laboratory's page into the folder of a page, whose links open it; nothing where it was not built."""
    if _is_built():
        with whole_file(page.parent / laboratory.FILE) as place:
            place.write_text(one_file(), encoding="utf-8")


def one_file(scenario: Scenario | None = None, queue: str | None = None) -> str:
    """Return the page as one HTML file that needs no server; it opens with the scenario, if there is one."""
    parts = page()
    text, main, worker = (parts[name].decode() for name in ("index.html", "main.js", "worker.js"))
    engine = base64.b64encode(gzip.compress(parts["engine.wasm"], mtime=0)).decode()
    begin = f"if (!location.hash) location.hash = {json.dumps(fragment(scenario, queue))};\n" if scenario else ""
    script = f"\n{begin}{main}"
    inside = (
        f'<script type="application/gzip" id="engine-data">{engine}</script>\n'
        f'<script type="application/json" id="worker-code">{_inert(json.dumps(worker))}</script>\n'
        f'<script type="module">{script}</script>'
    )
    look = f"\n{parts['style.css'].decode()}"
    style = f"<style>{look}</style>"
    # The worker has the page's policy, and a control of the reader's own is code for it.
    policy = (
        f"default-src 'none'; script-src {digest(script)} 'wasm-unsafe-eval' 'unsafe-eval'; worker-src blob:; "
        f"style-src {digest(look)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    text = text.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    text = re.sub(r'<link rel="stylesheet".*', lambda _: style, text)
    text = re.sub(r'<link rel="(module)?preload".*\n', "", text)
    return re.sub(r'<script type="module" src=.*', lambda _: inside, text)


def _inert(text: str) -> str:
    """Return JSON that ends no script element."""
    return text.replace("</", "<\\/")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        super().__init__((HOST, 0), _Handler)
        self.token = secrets.token_urlsafe(16)
        self.parts = parts

    @property
    def address(self) -> str:
        """Where the page is: nobody else on this machine knows the path."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "sojourn-lab"
    sys_version = ""

    def do_GET(self) -> None:
        """Give a file of the page; nothing for another path, or for another host's name that leads here."""
        prefix = f"/{self.server.token}/"
        path = self.path.partition("?")[0]
        name = path.removeprefix(prefix) or "index.html"
        mine = self.headers.get("Host") == f"{HOST}:{self.server.server_port}"
        body = self.server.parts.get(name) if mine and path.startswith(prefix) else None
        self.send_response(HTTPStatus.OK if body is not None else HTTPStatus.NOT_FOUND)
        policy = {"Content-Security-Policy": WORKER_POLICY} if name == "worker.js" else {}
        for header, value in (HEADERS | policy).items():
            self.send_header(header, value)
        kind = TYPES.get("." + name.rpartition(".")[2], "text/plain") if body is not None else "text/plain"
        self.send_header("Content-Type", kind)
        body = b"not found\n" if body is None else body
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base's name)
        """Say nothing: the terminal shows the address alone."""


@contextmanager
def serving(scenario: Scenario | None = None, queue: str | None = None) -> Iterator[tuple[str, _Server]]:
    """Open a port for the page; the address with the scenario, and the server that `serve_forever` starts."""
    opened = fragment(scenario, queue)
    with _Server(page()) as server:
        yield server.address + opened, server


def open_browser(address: str) -> bool:
    """Show an address in the user's browser; whether there is one."""
    return webbrowser.open(address)
