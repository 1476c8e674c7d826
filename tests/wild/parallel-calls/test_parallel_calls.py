"""An assistant sends the calls of a whole walk at once: they are played in order and replay."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mcp.client.client import Client

from wayword.envs import make
from wayword.envs.mcp import server
from wayword.runs import RunFolder
from wayword.runs.verify import verify

MOVES = ["turn_left", "move_ahead"] * 4


def test_calls_in_one_message_are_carried_out_in_order(tmp_path: Path) -> None:
    app, session = server(make("household"), tmp_path / "run")

    async def play() -> None:
        async with Client(app) as client:
            for _ in range(4):
                await client.call_tool("begin", {})
                calls = [
                    client.call_tool("act", {"action": move})
                    for move in [*MOVES, "stop"]
                ]
                looks = [client.call_tool("look", {}) for _ in range(2)]
                results = await asyncio.gather(*calls, *looks)
                assert not any(result.is_error for result in results[: len(calls)])

    asyncio.run(play())
    session.close()
    run = RunFolder.read(tmp_path / "run")
    for record in run.records():
        steps = record.trajectory.steps
        assert [str(step.decision.action) for step in steps] == [*MOVES, "stop"]
    differences = [difference for _, difference in verify(run)]
    assert differences == [""] * 4
