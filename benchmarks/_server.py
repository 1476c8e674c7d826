"""A stand-in for a hosted model: a process on loopback that answers every request after a while.

``python benchmarks/_server.py 0.2`` prints its port and answers after 200 ms until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ANSWER = json.dumps(
    {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "on"},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1},
    }
).encode()


@contextmanager
def slow_server(seconds: float) -> Iterator[str]:
    """The address of a server that answers after ``seconds``, in a process of its own."""
    command = [sys.executable, __file__, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.communicate()


async def _serve(seconds: float) -> None:
    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                if head.startswith("get "):  # /models: this server lists none
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                await reader.readexactly(
                    int(head.split("content-length: ")[1].split("\r")[0])
                )
                await asyncio.sleep(seconds)
                length = f"content-length: {len(_ANSWER)}\r\n\r\n".encode()
                fields = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                writer.write(fields + length + _ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
