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
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError, needing
from wayword.core.loopback import is_local_request
from wayword.core.model import Usage
from wayword.models.parts.decoding import check_options, continued, prefix_length


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings to load a file: see :class:`wayword.models.local.LocalSettings`."""

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
        return _check_reply(answer)

    def tokens(self, text: str) -> list[int]:
        """The token ids of a text, as a prompt: special ones read, BOS where it has one."""
        body = {"content": text, "add_special": True, "parse_special": True}
        tokens: list[int] = self._post("/tokenize", body)["tokens"]
        return tokens

    def apply_template(self, messages: Sequence[Mapping[str, str]]) -> str:
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
        return _check_reply(answer)


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


def _check_reply(answer: dict[str, Any]) -> dict[str, Any]:
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

TOP_TOKENS = 128
"""Next tokens listed a pass. An option beyond them costs one more pass over one token."""

_Table = dict[tuple[tuple[int, ...], int], float]


def rank(engine: Engine, prompt: str, options: Sequence[str]) -> tuple[tuple[float, ...], Usage]:
    """Log-probabilities in the options' order, and what they took. Blocks.

    Raises ``ModelError`` for an empty prompt or option.
    """
    pairs = [continued(prompt, option) for option in check_options(options)]
    base = engine.tokens(pairs[0][0])
    tokens = [engine.tokens(start + ending) for start, ending in pairs]
    shared_count = prefix_length([base, *tokens])
    if shared_count == 0:
        raise ModelError("choose needs a prompt; this one is empty")
    endings = [tuple(each[shared_count:]) for each in tokens]
    table: _Table = {}
    usage = Usage()
    for ending in sorted(endings, key=len, reverse=True):
        while missing := [i for i, each in enumerate(ending) if (ending[:i], each) not in table]:
            timings = _score(engine, base[:shared_count], ending, missing[0], table)
            is_first = usage == Usage()  # this pass reads the prompt; later ones read option tokens
            read_tokens, reused_tokens = (shared_count, timings["cache_n"]) if is_first else (0, 0)
            usage += Usage(read_tokens, timings["predicted_n"], reused_tokens)
    totals = (sum(table[e[:i], token] for i, token in enumerate(e)) for e in endings)
    return tuple(totals), usage


def _score(
    engine: Engine, prefix: list[int], ending: tuple[int, ...], start: int, table: _Table
) -> dict[str, Any]:
    """Add the log-probabilities of an ending from ``start`` on; returns the pass's timings."""
    forced = ending[start:]
    answer = engine.complete(
        {
            "prompt": prefix + list(ending[:start]),
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in forced),
            "max_tokens": len(forced),
            "temperature": 0.0,
            "logprobs": TOP_TOKENS,
            "cache_prompt": True,
        }
    )
    content = answer["choices"][0]["logprobs"]["content"]
    for i, entry in enumerate(content[: len(forced)], start):
        for listed in (*entry["top_logprobs"], entry):
            table[ending[:i], listed["id"]] = listed["logprob"]
    if (ending[:start], ending[start]) not in table:
        raise ModelError("the local engine did not follow the option it was to score")
    timings: dict[str, Any] = answer["timings"]
    return timings


# A GGUF file behind OpenAI's interface on this machine: ``wayword models serve``.
#
# The server is llama.cpp's own, through xllamacpp, bound to 127.0.0.1 and locked with a random key:
# other machines cannot reach it. Before it stands a door that lets in programs and pages of this
# machine alone (:mod:`wayword.core.loopback`). Any program that speaks to OpenAI can use it,
# ``openai:`` models of Wayword among them::
#
#     with serve(located("smollm2")) as address:
#         model = OpenAIModel("smollm2", ServerSettings(base_url=address, dialect="llamacpp"))

HOST = "127.0.0.1"
MOST_BYTES = 64_000_000
"""Of a request."""
_KEPT_HEADERS = ("content-type", "content-length", "content-encoding")
"""Headers of the engine's answer that are passed on."""


@contextmanager
def serve(path: Path, port: int = 0, settings: EngineSettings | None = None) -> Iterator[str]:
    """Serve the file while the context lasts; gives the address, ``http://127.0.0.1:PORT/v1``.

    ``port`` 0 takes any free one. No key is asked for, but only this machine's programs and pages
    are answered. Raises ``UsageError`` for a file that cannot be loaded and a port that is taken.
    """
    import uvicorn

    with closing(socket.socket()) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError:
            raise UsageError(
                f"port {port} of {HOST} is taken; name another, or 0 for any"
            ) from None
        listening.listen()  # from here on connections wait until the door is open
        key = secrets.token_urlsafe(24)
        server = start_server(path, settings or EngineSettings(), key=key)
        app = door(server.listening_address, key)
        keeper = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=keeper.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://{HOST}:{listening.getsockname()[1]}/v1"
        finally:
            keeper.should_exit = True
            thread.join()
            del server  # the server stops with its object


def door(inner: str, key: str) -> Any:
    """ASGI application that passes requests of this machine on to the address ``inner``, with its
    ``key``, and the answers back as they come."""
    from aiohttp import ClientError, ClientSession, ClientTimeout
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    def refusal(status: HTTPStatus, why: str) -> Response:
        return JSONResponse({"error": {"message": why, "type": "refused"}}, status)

    async def pass_on(request: Request) -> Response:
        if not is_local_request(request.headers.get("host", ""), request.headers.get("origin")):
            why = "only programs and pages of this machine may ask"
            return refusal(HTTPStatus.FORBIDDEN, why)
        length = request.headers.get("content-length", "0")
        if not (length.isdecimal() and int(length) <= MOST_BYTES):
            why = "send a Content-Length, at most 64 MB"
            return refusal(HTTPStatus.BAD_REQUEST, why)
        url = request.url.replace(scheme="http", netloc=urlsplit(inner).netloc)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        session = ClientSession(auto_decompress=False, timeout=ClientTimeout())
        try:
            body = await request.body()
            answer = await session.request(request.method, str(url), data=body, headers=headers)
        except ClientError as error:
            await session.close()
            return refusal(HTTPStatus.BAD_GATEWAY, f"the engine did not answer: {error}")

        async def pieces() -> AsyncIterator[bytes]:
            async with session:  # an answer that nobody reads to its end stops the engine, too
                async for piece in answer.content.iter_any():
                    yield piece

        kept = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
        return StreamingResponse(pieces(), answer.status, kept)

    return Starlette(routes=[Route("/{path:path}", pass_on, methods=["GET", "POST"])])
