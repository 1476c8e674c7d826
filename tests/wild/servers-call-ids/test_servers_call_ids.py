"""A call without an ID of its own gets one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from wayword.core.model import Message, ToolCall
from wayword.models.parts.calling import read_calls

EARLIER = [
    Message("assistant", "", calls=(ToolCall("functions.look:0", "look", "{}"),))
]


def sent(*ids: Any) -> dict[str, Any]:
    calls = [
        {
            "id": each,
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
        }
        for each in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        (["", None], [False, False]),
        (["functions.look:0"], [False]),
        (["a1b2c3d4e", "a1b2c3d4e"], [True, False]),
        (["call_PTLP8xhu3uwZk4l3nlnrrJha", "x"], [True, True]),
    ],
)
def test_ids_of_a_conversation_differ(ids: list[Any], kept: list[bool]) -> None:
    calls, verbatim = read_calls(sent(*ids), EARLIER)
    found = [call.id for call in calls]
    assert [new == old for new, old in zip(found, ids, strict=True)] == kept
    assert len({*found, "functions.look:0"}) == len(found) + 1
    assert [call["id"] for call in json.loads(verbatim)["tool_calls"]] == found
    for call_id, is_kept in zip(found, kept, strict=True):
        assert is_kept or re.fullmatch("[a-zA-Z0-9]{9}", call_id)
