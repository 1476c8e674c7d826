"""Tools read their arguments in every form that clients send, and errors of a call cost no turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from helpers.looping import for_each
from wayword.envs import make
from wayword.envs.mcp import server, tool_text
from wayword.runs import RunFolder

Call = Callable[..., Awaitable[tuple[str, bool]]]

SAME_ACTION = [
    "goto[fridge_1]",
    '"goto[fridge_1]"',
    " goto[fridge_1]\n",
    ["goto[fridge_1]"],
    '["goto[fridge_1]"]',
    {"action": "goto[fridge_1]"},
    '{"action": "goto[fridge_1]"}',
    {"name": "goto", "arguments": ["fridge_1"]},
    {"action": "goto", "arguments": {"object": "fridge_1"}},
    {"verb": "goto", "args": "fridge_1"},
    {"name": "goto", "arguments": '{"object": "fridge_1"}'},
    {"action": {"name": "goto", "arguments": ["fridge_1"]}},
    {"tool": "act", "input": {"action": "goto[fridge_1]"}},
    {"name": "act", "arguments": '{"action": "goto", "object": "fridge_1"}'},
    json.dumps({"action": json.dumps({"action": "goto", "arguments": ["fridge_1"]})}),
]
IN_OTHER_FIELDS: list[dict[str, Any]] = [
    {"action": "goto[fridge_1]", "reason": "it is near", "thought": None},
    {"action": "goto", "object": "fridge_1"},
    {"action": "goto", "arguments": ["fridge_1"]},
    {"action": "goto", "args": '{"object": "fridge_1"}', "reason": "near"},
    {"command": "goto[fridge_1]"},
    {"input": "goto[fridge_1]"},
    {"name": "goto", "arguments": {"place": "fridge_1"}},
    {"action": ["goto", "fridge_1"]},
    {"action": '["goto", "fridge_1"]'},
    {"params": {"action": "goto[fridge_1]"}},
    {"Action": "goto[fridge_1]"},
    {"cmd": "goto fridge_1"},
    {"actions": ["goto[fridge_1]"]},
    {"arguments": '{"action": "goto[fridge_1]"}'},
    {"action": {"type": "goto", "target": "fridge_1"}},
    {"kwargs": {"action": "goto", "object": "fridge_1"}, "session": 3},
]
NOTHING = [None, "", "  ", "null", '""', {"action": None}]


def with_session(work: Callable[[Call], Awaitable[None]], out: Path) -> None:
    app, session = server(make("household"), out)

    async def run() -> None:
        async with Client(app) as client:

            async def call(tool: str, **given: Any) -> tuple[str, bool]:
                answer: Any = await client.call_tool(tool, given)
                return answer.content[0].text, bool(answer.is_error)

            await work(call)

    asyncio.run(run())
    session.close()


def test_an_action_is_read_in_every_form(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        seen = set()
        await call("begin")
        for form in SAME_ACTION:
            text, failed = await call("act", action=form)
            assert not failed, (form, text)
            assert "no action" not in text, (form, text)
            seen.add("fridge_1" in text)
        assert seen == {True}

    with_session(work, tmp_path / "run")


def test_an_action_is_read_from_other_fields(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        await call("begin", session_id="1")
        for given in IN_OTHER_FIELDS:
            text, failed = await call("act", **given)
            assert not failed, (given, text)
            assert "'fridge_1'" in text, (given, text)
        for given in ({}, {"reason": None}):
            text, failed = await call("act", **given)
            assert failed
            assert "\n" not in text
            assert "act needs an action" in text
        for verb in ("goto", "go to", "goto[fridge_1]", "Go-to"):
            text, failed = await call("actions", verb=verb)
            assert not failed
            assert text.startswith("goto[")

    with_session(work, tmp_path / "run")


def test_two_arguments_keep_their_order() -> None:
    given = {"action": "put", "target": "table_1", "object": "mug_1"}
    assert json.loads(tool_text(given))["arguments"] == ["mug_1", "table_1"]
    named = {"action": "put", "receptacle": "table_1", "item": "mug_1"}
    assert json.loads(tool_text(named))["arguments"] == ["mug_1", "table_1"]
    listed = {"action": "put", "arguments": ["mug_1", "table_1"]}
    assert json.loads(tool_text(listed))["arguments"] == ["mug_1", "table_1"]


def test_an_empty_action_is_an_error_and_costs_no_turn(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        await call("begin")
        for form in NOTHING:
            text, failed = await call("act", action=form)
            assert failed
            assert "act needs an action" in text
        await call("act", action="stop")

    with_session(work, tmp_path / "run")
    (record,) = RunFolder.read(tmp_path / "run").records()
    assert len(record.trajectory.steps) == 1


@pytest.mark.parametrize("nothing", [None, "null", ""])
def test_null_is_no_argument(nothing: Any, tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        text, failed = await call("begin", episode=nothing)
        assert not failed, text
        listed, failed = await call("actions", verb=nothing)
        assert not failed
        assert "stop" in listed.splitlines()

    with_session(work, tmp_path / "run")


def test_a_mistyped_episode_ends_nothing(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        await call("begin")
        text, failed = await call("begin", episode=7)
        assert failed
        assert "no episode '7'" in text
        _, failed = await call("look")
        assert not failed, "the episode goes on"

    with_session(work, tmp_path / "run")


PLAIN = {
    3: "3",
    2.5: "2.5",
    True: "true",
    "[3] is near": "[3] is near",
    "{": "{",
    "go to the kitchen": "go to the kitchen",
    "[" * 100_000: "[" * 100_000,
}


@for_each("value", PLAIN, ids=lambda value: str(value)[:20])
def test_other_values_are_their_text(value: Any) -> None:
    assert tool_text(value) == PLAIN[value]
