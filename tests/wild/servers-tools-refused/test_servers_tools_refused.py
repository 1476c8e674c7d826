"""A server without tool calls says so in its own words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from wayword.core.model import Sampling, Tool, user
from wayword.models.servers.profile import Profile
from wayword.models.servers.refusals import learn_tools, read
from wayword.models.servers.requests import ServerSettings, request

ROWS = tomllib.loads(Path(__file__).with_name("cases.toml").read_text())["case"]
LOOK = Tool("look", "Look.", {"type": "object", "properties": {}})


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_refusal_of_tools_has_a_lesson(row: dict[str, Any]) -> None:
    sampling = Sampling(tools=(LOOK,))
    sent = request("m", [user("Look.")], sampling, ServerSettings(), Profile())
    error = {"error": {"message": row["text"]}}
    refusal = read(row.get("status", 400), error, sent.fields)
    lesson = learn_tools(refusal, Profile(), sent)
    assert lesson is not None
    changes = {**lesson[0], **{k: [*v] for k, v in lesson[0].items() if k == "without"}}
    assert changes == row["changes"]
