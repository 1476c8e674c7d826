"""One loaded GGUF file: continue text, tokenise, apply the file's chat template.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError


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
    try:
        import xllamacpp
    except ImportError:
        raise UsageError("local models need xllamacpp: pip install 'wayword[local]'") from None
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
