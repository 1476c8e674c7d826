"""House rules for every test: no network but loopback, and real data whenever it is there."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# No test is timed: on busy cores, Hypothesis' 200 ms an example fail what is right. Suites with
# environments of their own do without it.
with suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")

_connect = socket.socket.connect
if "WAYWORD_DATA" in os.environ:  # tests run commands in other folders
    os.environ["WAYWORD_DATA"] = os.path.abspath(os.environ["WAYWORD_DATA"])


def _loopback_only(self: socket.socket, address: Any) -> Any:
    """Refuse every address off this machine, so that no test can reach the network."""
    if self.family in (socket.AF_INET, socket.AF_INET6):
        host = str(address[0])
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise RuntimeError(
                f"tests may not touch the network; this one tried {address!r}"
            )
    return _connect(self, address)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", _loopback_only)
    for name in [n for n in os.environ if n.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)


def pytest_collection_finish() -> None:
    """The collected tests live to the end: Python's search for garbage may skip them, and be rarer
    than for a program of little memory."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True, scope="session")
def _hears_ctrl_c() -> None:
    """Tests press Ctrl-C also where the suite was started with ``&``, which turns it off."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep parsed graphs and cached answers of the tests out of the user's cache folder.

    The workers of one suite share what takes long to draw, parse or convert. Everything else is
    each worker's own, as tests delete and damage it.
    """
    folder = tmp_path_factory.getbasetemp()
    cache = folder / "cache"
    cache.mkdir()
    if "PYTEST_XDIST_WORKER" in os.environ:
        for name in ("numbers", "read", "graphs", "robothor", "landmarks", "models"):
            shared = folder.parent / "shared" / name
            shared.mkdir(parents=True, exist_ok=True)
            (cache / name).symlink_to(shared)
    patch = pytest.MonkeyPatch()
    patch.setenv("WAYWORD_CACHE", str(cache))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def shared_data() -> Iterator[None]:
    """Let the tests of a file share the datasets that they open: each is generated once.

    Not for files whose tests change a dataset's class or files between two openings.
    """
    # Imported here: only files that use this need the library before their tests begin.
    from wayword.runs.opening import shared_datasets

    with shared_datasets():
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The published data. Tests that ask for it are marked ``real``.

    Skipped only where no data is named; a ``$WAYWORD_DATA`` that leads nowhere is a failure.
    """
    named = os.environ.get("WAYWORD_DATA")
    if not named:
        pytest.skip("set WAYWORD_DATA to the folder of published data to run this test")
    folder = Path(named)
    if not (folder / "r2r" / "connectivity").is_dir():
        pytest.fail(f"WAYWORD_DATA={named} holds no r2r/connectivity")
    return folder.resolve()


@pytest.fixture(scope="session")
def _chromium() -> Iterator[tuple[Browser, Callable[[], AbstractContextManager[None]]]]:
    """One browser for all tests of a worker: a start takes as long as a short test."""
    from helpers.in_a_browser import chromium  # few workers need it

    with chromium() as opened:
        yield opened


@pytest.fixture
def browser(
    _chromium: tuple[Browser, Callable[[], AbstractContextManager[None]]],
) -> Iterator[Browser]:
    """The browser, for one test. What the test leaves open is closed."""
    opened, in_use = _chromium
    with in_use():
        yield opened
        for context in opened.contexts:
            context.close()
