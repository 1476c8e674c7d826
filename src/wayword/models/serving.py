"""A GGUF file behind OpenAI's interface on this machine: ``wayword models serve``.

The server is llama.cpp's own, through xllamacpp, bound to 127.0.0.1: other machines cannot reach
it. Any program that speaks to OpenAI can use it, ``openai:`` models of Wayword among them::

    with serve(located("smollm2")) as address:
        model = OpenAIModel("smollm2", ServerSettings(base_url=address, dialect="llamacpp"))
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wayword.core.errors import UsageError
from wayword.models.llamacpp.engine import EngineSettings, start_server


@contextmanager
def serve(path: Path, port: int = 0, settings: EngineSettings | None = None) -> Iterator[str]:
    """Serve the file while the context lasts; gives the address, ``http://127.0.0.1:PORT/v1``.

    ``port`` 0 takes any free one. No key is asked for. Raises ``UsageError`` for a file that
    cannot be loaded and a port that is taken.
    """
    if port and _taken(port):
        raise UsageError(f"port {port} of 127.0.0.1 is taken; name another, or 0 for any")
    server = start_server(path, settings or EngineSettings(), port=port)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # the server stops with its object


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
