"""The server gives out the pages of one folder, to this machine, and nothing else."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from wayword.core.errors import UsageError
from wayword.viewer.pages import PageServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    folder = tmp_path / "pages"
    (folder / "episodes").mkdir(parents=True)
    (folder / "index.html").write_text("the index")
    (folder / "episodes" / "e.html").write_text("an episode")
    (folder / ".wayword-pages").write_text("hidden")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "way-out.txt").symlink_to(tmp_path / "secret.txt")
    with PageServer(folder) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def get(server: PageServer, path: str, host: str = "") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.server_address[1]}")
    connection.endheaders()
    response = connection.getresponse()
    found = response.status, response.read().decode()
    connection.close()
    return found


def test_pages_are_served(server: PageServer) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    assert get(server, "/") == (200, "the index")
    assert get(server, "/episodes/e.html", "localhost:8000") == (200, "an episode")


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt", "/%2e%2e/secret.txt", "/episodes/../../secret.txt", "/way-out.txt",
        "/..%2fsecret.txt", "//../secret.txt", "/.wayword-pages", "/episodes/", "/none.html",
    ],
)  # fmt: skip
def test_nothing_else_is(server: PageServer, path: str) -> None:
    status, text = get(server, path)
    assert status == 404
    assert "secret" not in text.replace("secret.txt", "")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example:80"])
def test_a_name_from_elsewhere_is_refused(server: PageServer, host: str) -> None:
    assert get(server, "/", host)[0] == 403


def test_a_taken_port_is_one_clear_line(server: PageServer) -> None:
    with pytest.raises(UsageError, match=r"port \d+: .*--port"):
        PageServer(server.folder, server.server_address[1])
    with pytest.raises(UsageError, match="--port"):
        PageServer(server.folder, 99_999)
