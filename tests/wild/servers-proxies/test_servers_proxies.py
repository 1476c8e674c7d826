"""Proxies of the environment."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from helpers.loopback import chat, serving
from helpers.served_runs import send_request
from wayword.core.errors import UsageError
from wayword.core.model import Completion
from wayword.models.servers.addresses import proxy_for

PROXY = "http://proxy.invalid:3128"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", "socks5://127.0.0.1:1"])
def test_a_server_on_this_machine_is_reached_directly(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("ALL_PROXY", proxy)
    with serving(lambda *_: (200, chat("hi"))) as server:
        answer = send_request(server.address)
    assert isinstance(answer, Completion)


@pytest.mark.parametrize(
    ("host", "listed", "direct"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "192.168.0.0/16, 10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3:8000", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("gpu.lab", "*.lab", True),
        ("gpu.lab", ".lab", True),
        ("gpu.lab", "other lab", True),
        ("gpulab", "lab", False),
        ("gpu.lab", "*", True),
        ("fd00::1", "fd00::/8", True),
        ("gpu.lab", "", False),
        ("localhost", "", True),
        ("0.0.0.0", "", True),
    ],
)
def test_no_proxy_takes_every_usual_form(
    monkeypatch: pytest.MonkeyPatch, host: str, listed: str, direct: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", listed)
    shown = f"[{host}]" if ":" in host else host
    assert proxy_for(urlsplit(f"http://{shown}:8000/v1")) == ("" if direct else PROXY)


def test_a_socks_proxy_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("ALL_PROXY", "socks5://10.0.0.1:1080")
    error = send_request("http://gpu.lab:8000/v1")
    assert isinstance(error, UsageError)
    assert "socks5://10.0.0.1:1080" in str(error)
    assert "$NO_PROXY" in str(error)


def test_an_error_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret@127.0.0.1:1")
    error = send_request("http://gpu.lab:8000/v1")
    assert "through the proxy" in str(error)
    assert "127.0.0.1:1" in str(error)
    assert "secret" not in str(error)
