"""The pages over HTTP, on this machine only, for browsers that do not open files.

Only files inside the folder are served, no listings, and only to requests for a name of this
machine, so that no web page elsewhere can read them by pointing its own name here.
"""

from __future__ import annotations

from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError

HOST = "127.0.0.1"
_NAMES = frozenset({"127.0.0.1", "localhost"})


class PageServer(ThreadingHTTPServer):
    """Serves one folder.

        with PageServer(Path("runs/first/pages"), 8000) as server:
            print(server.address)
            server.serve_forever()

    Port 0 takes any free one. Raises ``UsageError`` where the port is taken.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder.resolve()
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            problem = str(getattr(error, "strerror", None) or error).lower()
            raise UsageError(f"port {port}: {problem}; give another --port") from error

    @property
    def address(self) -> str:
        """``http://127.0.0.1:PORT/``."""
        return f"http://{HOST}:{self.server_address[1]}/"


class _Handler(SimpleHTTPRequestHandler):
    server: PageServer

    def __init__(self, request: Any, client: Any, server: PageServer) -> None:
        super().__init__(request, client, server, directory=str(server.folder))

    def send_head(self) -> Any:
        host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
        if host not in _NAMES:
            self.send_error(HTTPStatus.FORBIDDEN)
            return None
        path = Path(self.translate_path(self.path))
        hidden = any(part.startswith(".") for part in path.parts[len(self.server.folder.parts) :])
        if hidden or not path.resolve().is_relative_to(self.server.folder):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return None
