"""A GGUF file in this process: continue text, tokenise, apply its chat template, serve it.

xllamacpp runs llama.cpp's server inside this process. Completions go through the bindings, which
leave the interpreter free meanwhile; tokenising and templates exist only as HTTP routes, so these
two go over the server's loopback port, which is locked with a random key.

Prefixes: every finished slot keeps its tokens, and the server parks the state of conversations
that lose their slot in memory, so a prompt that continues an earlier one evaluates its new
tokens only, also with more episodes in the air than slots.

Source: https://github.com/xorbitsai/xllamacpp and llama.cpp's ``tools/server/README.md``
"""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError, needing
from wayword.core.loopback import asked_from_here
from wayword.core.model import Usage
from wayword.models.parts.decoding import checked_options, continued, shared_tokens


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How to load a file.

    ``slots`` prompts are worked on at once, each with ``context`` tokens (0: as many as the model
    was trained with). ``threads`` for writing and reading. ``memory`` is for parked prefixes, MiB.
    """

    slots: int = 4
    context: int = 8192
    threads: int = 1
    memory: int = 2048


class Engine:
    """A GGUF file in memory. Every method blocks and may be called from many threads.

    Raises ``UsageError`` where xllamacpp is missing or cannot load the file.
    """

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self._key = secrets.token_urlsafe(24)
        self._server: Any = start_server(path, settings, key=self._key)
        address = urlsplit(self._server.listening_address)
        self._host, self._port = address.hostname or "127.0.0.1", address.port

    def complete(self, payload: Mapping[str, Json]) -> dict[str, Any]:
        """Continue a prompt. The payload is llama.cpp's; the answer is OpenAI's text completion.

        Raises ``ModelError`` with the engine's own words, or naming tokens and limit where the
        prompt does not fit.
        """
        answer: dict[str, Any] = self._server.handle_completions(dict(payload))
        return _checked(answer)

    def tokens(self, text: str) -> list[int]:
        """The token ids of a text, as a prompt: special ones read, BOS where it has one."""
        body = {"content": text, "add_special": True, "parse_special": True}
        found: list[int] = self._post("/tokenize", body)["tokens"]
        return found

    def templated(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The conversation as text, by the chat template stored in the GGUF file."""
        prompt: str = self._post("/apply-template", {"messages": list(messages)})["prompt"]
        return prompt

    def close(self) -> None:
        """Free the memory. The engine is of no use afterwards."""
        self._server = None

    def _post(self, route: str, body: Json) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._host, self._port or 0, timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        try:
            connection.request("POST", route, json.dumps(body), headers)
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
        except (OSError, ValueError) as error:
            raise ModelError(f"the local engine did not answer {route}: {error}") from None
        finally:
            connection.close()
        return _checked(answer)


def start_server(path: Path, settings: EngineSettings, *, key: str = "", port: int = 0) -> Any:
    """llama.cpp's server in this process, on 127.0.0.1 only; port 0 is any free one.

    ``key`` locks its HTTP routes. It serves until the object is deleted. Raises ``UsageError``.
    """
    with needing("local models need xllamacpp", "local"):
        import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = settings.memory
    params.fit_params = params.warmup = params.ui = params.endpoint_slots = False
    params.api_keys = [key] if key else []
    params.hostnames, params.port = ["127.0.0.1"], port
    params.verbosity = 0
    try:
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"{path}: llama.cpp cannot load it: {error}") from None
    # A server that is deleted before its loop has begun to run waits for it forever; one answer
    # is proof that the loop runs.
    server.handle_completions({"prompt": "a", "n_predict": 1})
    return server


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    error = answer.get("error")
    if error is None:
        return answer
    if error.get("type") == "exceed_context_size_error":
        raise ModelError(
            f"the prompt is {error['n_prompt_tokens']} tokens long and the context holds "
            f"{error['n_ctx']}; shorten the prompt or raise the model's setting 'context'"
        )
    raise ModelError(f"the local engine refused: {error.get('message', error)}")


# The exact log-probability of each option as the next words of a prompt.
#
# Prompt and option are tokenised together, and what all of them share is the prefix. One pass
# over the prefix gives the distribution of the next token; it is forced along the longest option,
# so that this option is scored whole in the same pass. Options that part from it later are forced
# from where they part, on top of the same cached prefix: only option tokens are evaluated again.
#
# The engine reports a token's log-probability before grammar and temperature, so forcing a token
# does not change its score.

LIKELIEST = 128
"""Next tokens listed a pass. An option beyond them costs one more pass over one token."""

_Table = dict[tuple[tuple[int, ...], int], float]


def rank(engine: Engine, prompt: str, options: Sequence[str]) -> tuple[tuple[float, ...], Usage]:
    """Log-probabilities in the options' order, and what they took. Blocks.

    Raises ``ModelError`` for an empty prompt or option.
    """
    prefix, endings = _split(engine, prompt, options)
    table: _Table = {}
    usage = Usage()
    for ending in sorted(endings, key=len, reverse=True):
        for start in _gaps(ending, table):
            answer = engine.complete(_forced(prefix + list(ending[:start]), ending[start:]))
            _fill(table, ending, start, answer)
            usage += _usage(answer, len(prefix), first=usage == Usage())
    totals = (sum(table[e[:i], token] for i, token in enumerate(e)) for e in endings)
    return tuple(totals), usage


def _split(
    engine: Engine, prompt: str, options: Sequence[str]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The tokens all share, and what is each option's own."""
    pairs = [continued(prompt, option) for option in checked_options(options)]
    base = engine.tokens(pairs[0][0])
    whole = [engine.tokens(start + ending) for start, ending in pairs]
    shared = shared_tokens([base, *whole])
    if shared == 0:
        raise ModelError("choose needs a prompt; this one is empty")
    return base[:shared], [tuple(tokens[shared:]) for tokens in whole]


def _gaps(ending: tuple[int, ...], table: _Table) -> Iterator[int]:
    """Where the option's tokens first lack a score; asked again after each pass filled some."""
    while True:
        missing = [i for i, token in enumerate(ending) if (ending[:i], token) not in table]
        if not missing:
            return
        yield missing[0]


def _forced(prompt: list[int], tokens: Sequence[int]) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
        "max_tokens": len(tokens),
        "temperature": 0.0,
        "logprobs": LIKELIEST,
        "cache_prompt": True,
    }


def _fill(table: _Table, ending: tuple[int, ...], start: int, answer: dict[str, Any]) -> None:
    listed = answer["choices"][0]["logprobs"]["content"]
    for i, entry in enumerate(listed[: len(ending) - start], start):
        for known in (*entry["top_logprobs"], entry):
            table[ending[:i], known["id"]] = known["logprob"]
    if (ending[:start], ending[start]) not in table:
        raise ModelError("the local engine did not follow the option it was to score")


def _usage(answer: dict[str, Any], prefix: int, first: bool) -> Usage:
    """The first pass reads the prompt; later ones read option tokens, counted as written."""
    timings = answer["timings"]
    if first:
        return Usage(prefix, timings["predicted_n"], timings["cache_n"])
    return Usage(0, timings["predicted_n"], 0)


# A GGUF file behind OpenAI's interface on this machine: ``wayword models serve``.
#
# The server is llama.cpp's own, through xllamacpp, bound to 127.0.0.1: other machines cannot reach
# it. Any program that speaks to OpenAI can use it, ``openai:`` models of Wayword among them::
#
#     with serve(located("smollm2")) as address:
#         model = OpenAIModel("smollm2", ServerSettings(base_url=address, dialect="llamacpp"))


@contextmanager
def serve(path: Path, port: int = 0, settings: EngineSettings | None = None) -> Iterator[str]:
    """Serve the file while the context lasts; gives the address, ``http://127.0.0.1:PORT/v1``.

    ``port`` 0 takes any free one. No key is asked for, but only this machine's programs and pages
    are answered (:mod:`~wayword.models.parts.llamacpp`). Raises ``UsageError`` for a file that
    cannot be loaded and a port that is taken.
    """
    if port and _taken(port):
        raise UsageError(f"port {port} of 127.0.0.1 is taken; name another, or 0 for any")
    key = secrets.token_urlsafe(24)
    server = start_server(path, settings or EngineSettings(), key=key)
    inner = urlsplit(server.listening_address)
    try:
        with GuardedDoor(port, (inner.hostname or "127.0.0.1", inner.port or 0), key) as door:
            thread = threading.Thread(target=door.serve_forever, daemon=True)
            thread.start()
            try:
                yield f"{door.address}/v1"
            finally:
                door.shutdown()
                thread.join()
    finally:
        del server  # the server stops with its object


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# The door of ``wayword models serve``: only programs of this machine may come in.
#
# What passes (see :mod:`wayword.core.loopback`) goes on to llama.cpp's server behind it, which is
# locked with a random key.

HOST = "127.0.0.1"
MOST_BYTES = 64_000_000
"""Of a request."""
_PATIENCE = 30.0
"""Seconds that a client may take for its request's next bytes."""
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"})
_OWN = frozenset({"server", "date", "access-control-allow-origin"})


class GuardedDoor(ThreadingHTTPServer):
    """Listens on 127.0.0.1 and passes requests on to ``inner``, with ``key``."""

    daemon_threads = True

    def __init__(self, port: int, inner: tuple[str, int], key: str) -> None:
        self.inner, self.key = inner, key
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://{HOST}:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: GuardedDoor
    timeout = _PATIENCE
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._pass(b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length") or ""
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.BAD_REQUEST, "send a Content-Length, at most 64 MB")
            return
        self._pass(self.rfile.read(int(length)))

    def _pass(self, body: bytes) -> None:
        if not asked_from_here(self.headers.get("Host") or "", self.headers.get("Origin")):
            self._refuse(HTTPStatus.FORBIDDEN, "only programs and pages of this machine may ask")
            return
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.server.key}"}
        inner = http.client.HTTPConnection(*self.server.inner)
        try:
            inner.request(self.command, self.path, body or None, headers)
            self._answer(inner.getresponse())
        except OSError as error:
            self._refuse(HTTPStatus.BAD_GATEWAY, f"the engine did not answer: {error}")
        finally:
            inner.close()

    def _answer(self, told: http.client.HTTPResponse) -> None:
        """The engine's answer as it comes, piece by piece where it streams."""
        self.send_response(told.status)
        for name, value in told.getheaders():
            if name.lower() not in _HOP | _OWN:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        while piece := told.read1(65_536):
            self.wfile.write(piece)
            self.wfile.flush()

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        body = json.dumps({"error": {"message": why, "type": "refused"}}).encode()
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        return None
