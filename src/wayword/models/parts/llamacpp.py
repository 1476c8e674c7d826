"""llama.cpp in this process: complete text, tokenize, apply chat templates and serve a GGUF file.

xllamacpp runs llama.cpp's server inside this process. Completions use its bindings, which release
the interpreter lock. Tokenization and chat templates exist only as HTTP routes, so these two use
the server's loopback port, which is protected by a random key.

A prompt that continues an earlier one evaluates its new tokens only: finished slots keep their
tokens, and the server caches the state of conversations that lose their slot.

Source: https://github.com/xorbitsai/xllamacpp and llama.cpp's ``tools/server/README.md``
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import ModelError, UsageError, needing
from wayword.core.limits import check_room
from wayword.core.loopback import is_local_request
from wayword.core.model import Usage
from wayword.models.parts.decoding import (
    BREAK,
    broken,
    check_options,
    continued,
    prefix_length,
)


@dataclass(frozen=True)
class EngineSettings:
    """Settings for loading a file: see :class:`wayword.models.local.LocalSettings`."""

    slots: int = 4
    context: int = 8192
    threads: int = 1
    memory: int = 2048


_ENGINE_BYTES = 700 * 2**20  # of the library, its threads and their buffers
_ENGINE_THREADS = 8 + (os.cpu_count() or 1)  # of the HTTP server, at least


class Engine:
    """A loaded GGUF file. Methods block, and may be called from many threads at once.

    Raises ``UsageError`` if xllamacpp is not installed or cannot load the file.
    """

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self._key = secrets.token_urlsafe(24)
        self._server: Any = start_server(path, settings, self._key)
        address = urlsplit(self._server.listening_address)
        self._host = address.hostname or "127.0.0.1"
        self._port = address.port
        self._control: dict[str, bool] = {}  # text -> True if it is a control token

    def complete(self, payload: JsonObject) -> dict[str, Any]:
        """Complete a prompt. The payload has llama.cpp's fields, the reply OpenAI's.

        Raises ``ModelError`` with the engine's message, or with the token counts if the prompt
        does not fit into the context.
        """
        payload = dict(payload)
        # Broken control tokens cannot be written as text: the engine would read them as such.
        if BREAK in payload["prompt"]:
            payload["prompt"] = self.tokens(payload["prompt"])
        answer: dict[str, Any] = self._server.handle_completions(payload)
        return _check_reply(answer)

    def tokens(self, text: str) -> list[int]:
        """Return the token ids of a prompt, with special tokens parsed unless they are ``broken``,
        and BOS if the model uses it."""
        first, *others = text.split(BREAK)
        ids = self._tokenized(first, add_special=True)
        for part in others:
            ids += self._tokenized(part)
        return ids

    def broken(self, text: str) -> str:
        """Return a text in which the model's control tokens are text (see ``decoding.broken``)."""
        return broken(text, self._is_control)

    def _is_control(self, text: str) -> bool:
        """True if a text is a control token of the model; cached."""
        if text not in self._control:
            as_text = self._tokenized(text, parse_special=False)
            self._control[text] = self._tokenized(text) != as_text
        return self._control[text]

    def _tokenized(self, text: str, **options: bool) -> list[int]:
        """Return the tokens of a text, by the engine."""
        body = {"content": text, "add_special": False, "parse_special": True, **options}
        return list(self._post("/tokenize", body)["tokens"])

    def apply_template(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return messages as one text, by the chat template in the model's file."""
        return str(
            self._post("/apply-template", {"messages": list(messages)})["prompt"]
        )

    def close(self) -> None:
        """Free the memory. The engine cannot be used afterwards."""
        self._server = None

    def _post(self, route: str, body: Json) -> dict[str, Any]:
        """Send a request to the engine, and return its reply. Raises ``ModelError``."""
        connection = http.client.HTTPConnection(self._host, self._port or 0, timeout=60)
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self._key}",
        }
        try:
            connection.request("POST", route, json.dumps(body), headers)
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
        except (OSError, ValueError) as error:
            raise ModelError(
                f"the local engine did not answer {route}: {error}"
            ) from None
        finally:
            connection.close()
        return _check_reply(answer)


def start_server(path: Path, settings: EngineSettings, key: str) -> Any:
    """Start llama.cpp's server in this process, on a free port of 127.0.0.1.

    Its HTTP routes require ``key``. It runs until the returned object is deleted. Raises
    ``UsageError``.
    """
    size = path.stat().st_size + _ENGINE_BYTES
    check_room("this model", size, _ENGINE_THREADS + settings.threads)
    with needing("local models need xllamacpp", "local"):
        import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = settings.memory
    # No page and no list of conversations: the port is open to all users of the machine.
    params.fit_params = params.warmup = params.ui = params.endpoint_slots = False
    params.api_keys = [key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.verbosity = 0
    try:
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError):
        raise UsageError(f"{path}: {_why_not_loaded(path)}") from None
    # Deleting a server before its loop has started would block forever. After one completion, the
    # loop is known to run.
    server.handle_completions({"prompt": "a", "n_predict": 1})
    return server


# llama.cpp writes its log in a thread, which needs a moment before the process ends.
_LOAD = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.verbosity = sys.argv[1], 256, 2
params.fit_params = params.warmup = params.ui = False
try:
    xllamacpp.Server(params)
finally:
    time.sleep(1)
"""


_REMEDIES = {
    "CLIP|'clip'": "it is the projector of a model with vision; name the model itself",
    "architecture: ''": "it has no model; name a file with weights",
    "architecture: ": "update xllamacpp, or use another model",
    "key not found|missing tensor": (
        "it is no complete model; merge an adapter (LoRA) into its model first"
    ),
    "the first split": "name its first part, which ends in -00001-of-…",
    "GGUF split": "put all of its parts into one folder",
}
"""What to do by llama.cpp's reason, a pattern."""


def _why_not_loaded(path: Path) -> str:
    """Return why llama.cpp cannot load a file, with a remedy. Only its log has the reason, so the
    file is loaded again in a process whose log can be read, and which may die without memory."""
    with suppress(subprocess.TimeoutExpired):
        tried = subprocess.run(
            [sys.executable, "-c", _LOAD, str(path)],
            capture_output=True,
            timeout=60,
        )
        found = re.search(rb"error loading model: (.*)", tried.stderr)
        reason = found[1].decode(errors="replace").strip() if found else ""
        for pattern, remedy in _REMEDIES.items():
            if re.search(pattern, reason):
                return f"llama.cpp cannot load it: {reason}; {remedy}"
        if re.search("incomplete|corrupt|end of file|failed to (?:read|load)", reason):
            size = path.stat().st_size
            return f"the file is incomplete ({size:,} bytes); download it again"
        # A failure to allocate has its own remedy, in the last message.
        if reason and not re.search("alloc|memory|mmap", reason):
            return f"llama.cpp cannot load it: {reason}"
    size_mib = path.stat().st_size // 2**20
    return (
        "llama.cpp cannot load it, probably for lack of memory: the weights need "
        f"{size_mib:,} MiB; free some, lower model.context or model.slots, or use a smaller model"
    )


def _check_reply(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a reply of the engine. Raises ``ModelError`` for one that states an error."""
    error = answer.get("error")
    if error is None:
        return answer
    if error.get("type") == "exceed_context_size_error":
        raise ModelError(
            f"the prompt is {error['n_prompt_tokens']} tokens long and the context holds "
            f"{error['n_ctx']}; shorten the prompt or raise the model's setting 'context'"
        )
    raise ModelError(
        f"the local engine rejected the request: {error.get('message', error)}"
    )


# The exact log-probability of each option as the continuation of a prompt.
#
# Prompt and option are tokenized together; the tokens that all options share are the prefix. One
# pass over the prefix gives the distribution of the next token. A grammar forces this pass along
# the longest option, which is thereby scored in full. Options that diverge later are forced from
# the point where they diverge, on the same cached prefix, so only option tokens are evaluated.
#
# The engine reports log-probabilities before grammar and temperature, so forcing a token does not
# change its score.

# Listed per pass; an option outside the list costs a pass over one token
TOP_TOKENS = 128

_Table = dict[tuple[tuple[int, ...], int], float]


def rank(
    engine: Engine,
    prompt: str,
    options: Sequence[str],
) -> tuple[tuple[float, ...], Usage]:
    """Return the log-probability of each option in order, and the tokens used. Blocks.

    Raises ``ModelError`` for an empty prompt or option.
    """
    pairs = [continued(prompt, option) for option in check_options(options)]
    base = engine.tokens(pairs[0][0])
    tokens = [engine.tokens(start + ending) for start, ending in pairs]
    # Tokens may merge where prompt and option meet: the prompt is what all share.
    shared_count = prefix_length([base, *tokens])
    if shared_count == 0:
        raise ModelError("choose needs a prompt, got an empty one")
    endings = [tuple(each[shared_count:]) for each in tokens]
    table: _Table = {}
    usage = Usage()
    # The longest first: its pass scores the beginnings of the shorter ones as well.
    for ending in sorted(endings, key=len, reverse=True):
        while missing := [
            i for i, each in enumerate(ending) if (ending[:i], each) not in table
        ]:
            start = missing[0]
            forced = ending[start:]
            # The grammar forces the option, so that its tokens get log-probabilities.
            answer = engine.complete(
                {
                    "prompt": base[:shared_count] + list(ending[:start]),
                    "grammar": "root ::= "
                    + " ".join(f"<[{token}]>" for token in forced),
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
                raise ModelError(
                    "the local engine generated a text other than the option to score"
                )
            timings = answer["timings"]
            # This pass reads the prompt; later ones read option tokens
            is_first = usage == Usage()
            if is_first:
                read_tokens = shared_count
                reused_tokens = timings["cache_n"]
            else:
                read_tokens = 0
                reused_tokens = 0
            usage += Usage(read_tokens, timings["predicted_n"], reused_tokens)
    totals = []
    for ending in endings:
        steps = enumerate(ending)
        totals.append(sum(table[ending[:i], token] for i, token in steps))
    return tuple(totals), usage


# ``wayword models serve``: a GGUF file with an OpenAI-compatible API on this machine.
#
# The server is llama.cpp's own, bound to 127.0.0.1 and protected by a random key. A proxy in front
# of it adds the key to requests from programs and pages of this machine, and refuses all others
# (:mod:`wayword.core.loopback`). Any OpenAI client can use it, such as an ``openai:`` model::
#
#     with serve(located("smollm2")) as address:
#         model = OpenAIModel("smollm2", ServerSettings(base_url=address, dialect="llamacpp"))

HOST = "127.0.0.1"
_MAX_REQUEST_BYTES = 64_000_000
_FORWARDED_HEADERS = ("content-type", "content-length", "content-encoding")
"""Headers of the engine's reply that are passed on to the client."""


@contextmanager
def serve(
    path: Path,
    port: int = 0,
    settings: EngineSettings | None = None,
) -> Iterator[str]:
    """Serve a GGUF file inside a ``with`` block, which yields ``http://127.0.0.1:PORT/v1``.

    Port 0 takes any free port. Clients need no key, but must run on this machine. Raises
    ``UsageError`` if the file cannot be loaded or the port is in use.
    """
    import uvicorn

    with closing(socket.socket()) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError:
            raise UsageError(
                f"port {port} is in use; choose another, or 0 for any"
            ) from None
        listening.listen()  # connections now queue until the proxy is ready
        key = secrets.token_urlsafe(24)
        server = start_server(path, settings or EngineSettings(), key)
        app = local_proxy(server.listening_address, key)
        # In a thread, so that the caller's block runs while it serves.
        proxy = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(
            target=proxy.run,
            kwargs={"sockets": [listening]},
            daemon=True,
        )
        thread.start()
        try:
            yield f"http://{HOST}:{listening.getsockname()[1]}/v1"
        finally:
            proxy.should_exit = True
            thread.join()
            del server  # stops llama.cpp


def local_proxy(address: str, key: str) -> Any:
    """Return an ASGI application that forwards requests from this machine to ``address`` with its
    ``key``, and streams the replies back."""
    from aiohttp import ClientError, ClientSession, ClientTimeout
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    def refusal(status: HTTPStatus, reason: str) -> Response:
        return JSONResponse({"error": {"message": reason, "type": "refused"}}, status)

    async def forward(request: Request) -> Response:
        if not is_local_request(
            request.headers.get("host", ""),
            request.headers.get("origin"),
        ):
            return refusal(
                HTTPStatus.FORBIDDEN,
                "only requests from this machine are accepted",
            )
        # The body is read into memory, so its length must be known first.
        length = request.headers.get("content-length", "0")
        if not (length.isdecimal() and int(length) <= _MAX_REQUEST_BYTES):
            return refusal(
                HTTPStatus.BAD_REQUEST,
                "Content-Length must be at most 64 MB",
            )
        url = request.url.replace(scheme="http", netloc=urlsplit(address).netloc)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        # As the engine sent it, and without a limit: a long answer may take minutes.
        session = ClientSession(auto_decompress=False, timeout=ClientTimeout())
        try:
            body = await request.body()
            reply = await session.request(
                request.method,
                str(url),
                data=body,
                headers=headers,
            )
        except ClientError as error:
            await session.close()
            return refusal(
                HTTPStatus.BAD_GATEWAY,
                f"the engine did not answer: {error}",
            )

        async def chunks() -> AsyncIterator[bytes]:
            async with (
                session
            ):  # if the client disconnects, this stops the engine as well
                async for chunk in reply.content.iter_any():
                    yield chunk

        sent = {
            name: reply.headers[name]
            for name in _FORWARDED_HEADERS
            if name in reply.headers
        }
        return StreamingResponse(chunks(), reply.status, sent)

    return Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST"])])
