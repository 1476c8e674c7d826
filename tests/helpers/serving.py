"""Servers that a test starts as a user does: by their command, in a process of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


@contextmanager
def command_served(words: Sequence[str], token: str) -> Iterator[str]:
    """The address that ``wayword WORDS`` prints, once its port listens."""
    command = [sys.executable, "-m", "wayword", *words]
    environment = {**os.environ, "WAYWORD_ENV_TOKEN": token}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stderr is not None
        address = server.stderr.readline().split(" at ")[1].split()[0]
        where = urlsplit(address)
        for _ in range(600):  # the line is written before the port listens
            with (
                suppress(OSError),
                socket.create_connection((where.hostname, where.port), 1),
            ):
                break
            time.sleep(0.1)
        yield address
        server.terminate()
