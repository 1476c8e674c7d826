"""How a server is reached: certificates, proxies, connections that are used again."""

from __future__ import annotations

import asyncio
import datetime
import gc
import gzip
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from helpers.loopback import chat, serving
from wayword.core.errors import ModelError
from wayword.core.model import Sampling, user
from wayword.models.openai import OpenAIModel
from wayword.models.parts.opening import open_model
from wayword.models.servers.addresses import proxy_for
from wayword.models.servers.connection import model_error

HELLO = [user("hello")]


def _ask(*addresses: str, **extra: str) -> list[str]:
    """What servers answer, each asked in an event loop of its own."""

    async def one(address: str) -> str:
        settings = {"base_url": address, "extra": {"extra_headers": extra}}
        model = open_model("openai:m", settings)
        try:
            return (await model.complete(HELLO, Sampling())).text
        finally:
            await model.aclose()

    return [asyncio.run(one(address)) for address in addresses]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for 127.0.0.1, signed by itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number()
    )
    made = made.not_valid_before(now - datetime.timedelta(days=1))
    made = made.not_valid_after(now + datetime.timedelta(days=1)).add_extension(
        here, False
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(pem, form, serialization.NoEncryption())
    path.write_bytes(private + made.sign(key, hashes.SHA256()).public_bytes(pem))
    return path


class _Handler(BaseHTTPRequestHandler):
    """Answers zipped whatever is asked for, and notes its callers."""

    protocol_version = "HTTP/1.1"
    callers: set[Any]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.callers.add(self.client_address)
        raw = gzip.compress(b'{"choices": [{"message": {"content": "yes"}}]}')
        self.send_response(200)
        self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    _Handler.callers = set()
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    made.daemon_threads = True
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def test_only_a_server_with_a_trusted_certificate_is_queried(
    server: ThreadingHTTPServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    address = f"https://127.0.0.1:{server.server_address[1]}/v1"
    with pytest.raises(
        ModelError, match=r"no connection to https.*certificate verify failed"
    ):
        _ask(address)
    assert not _Handler.callers
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert _ask(address) == ["yes"]


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)  # Python itself says of these sockets that nobody closed them, where it is asked to
def test_a_connection_is_used_again_and_left_without_a_word(
    server: ThreadingHTTPServer, capfd: pytest.CaptureFixture[str]
) -> None:
    given = OpenAIModel.Settings(
        base_url=f"http://127.0.0.1:{server.server_address[1]}/v1"
    )

    async def twice(model: OpenAIModel) -> None:
        for _ in range(2):
            await model.complete(HELLO, Sampling())

    model = OpenAIModel("m", given)
    asyncio.run(twice(model))
    assert len(_Handler.callers) == 1
    # Another event loop: the first one's connection is of no use
    asyncio.run(twice(model))
    assert len(_Handler.callers) == 2
    asyncio.run(model.aclose())
    asyncio.run(twice(model := OpenAIModel("m", given)))
    del model
    gc.collect()
    assert capfd.readouterr().err == ""


def test_the_proxy_of_the_environment_is_used_but_not_for_hosts_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(lambda *requests: (200, chat("by proxy"))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        far = "http://model.invalid/v1"
        assert (
            _ask(far, proxy.address, key="x", Authorization="Bearer x")
            == ["by proxy"] * 2
        )
    assert proxy.routes == [f"{far}/chat/completions", "/v1/chat/completions"]


def test_a_proxy_without_a_scheme_is_reached_over_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "proxy.invalid:3128")
    address = urlsplit("http://model.invalid/v1")
    assert proxy_for(address) == "http://proxy.invalid:3128"


def test_what_settings_and_environment_put_into_the_head_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heads: list[dict[str, str]] = []

    def answer(route: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        heads.append(headers)
        return 200, chat(route)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-7")
    with serving(answer) as here:
        _ask(here.address)
        (route,) = _ask(f"{here.address}/?api-version=3", authorization="Bearer mine")
    assert route == "/v1/chat/completions?api-version=3"
    assert [head["authorization"] for head in heads] == [
        "Bearer sk-theirs",
        "Bearer mine",
    ]
    assert heads[0]["openai-organization"] == "org-7"


@pytest.mark.parametrize("host", [r"a\b", "a..b", "a" * 70 + ".org"])
def test_an_address_that_is_none_is_not_tried_again(host: str) -> None:
    with pytest.raises(
        ModelError, match=r"no connection to .*: not a valid address"
    ) as caught:
        asyncio.run(_model(f"http://{host}/v1").complete(HELLO, Sampling()))
    assert caught.value.fatal
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("status", "is_fatal"),
    [(407, True), (403, True), (499, True), (500, False), (502, False)],
)
def test_a_proxy_that_refuses_is_named_and_one_that_is_away_is_tried_again(
    status: int, is_fatal: bool
) -> None:
    info: Any = None
    refused = aiohttp.ClientHttpProxyError(info, (), status=status, message="No")
    error = model_error(refused, "http://here/v1", "http://ann:pw@proxy:1")
    assert str(error).startswith("no connection to http://here/v1 through the proxy")
    assert str(error).endswith(f"@proxy:1: {status} No")
    assert "pw" not in str(error)
    assert (error.fatal, error.retryable) == (is_fatal, True)


def test_an_unknown_error_of_the_client_may_be_tried_again() -> None:
    error = model_error(KeyError("odd"), "http://here/v1")
    assert str(error) == "http://here/v1: KeyError: 'odd'"
    assert (error.fatal, error.retryable, error.away) == (False, True, False)


def test_a_connection_error_without_words_is_named_by_its_kind() -> None:
    error = model_error(ConnectionResetError(), "http://here/v1")
    assert str(error) == "no connection to http://here/v1: ConnectionResetError"


def _model(address: str) -> OpenAIModel:
    return OpenAIModel(
        "m", OpenAIModel.Settings(base_url=address, extra={"extra_headers": {}})
    )
