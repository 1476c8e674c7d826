"""Servers that refuse lengths in the schemas of tools get tools without them, and nothing else is
learnt."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from wayword.core.model import Sampling, Tool, user
from wayword.models.servers.profile import Profile
from wayword.models.servers.refusals import learn, learn_tools, read
from wayword.models.servers.requests import ServerSettings, request

TEXTS = {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 5}
SCHEMA = {"type": "object", "properties": {"rooms": TEXTS, "maxItems": TEXTS}}
PLAN = Tool("plan", "Plan a tour.", SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        'Unknown name "maxItems" at tools[0].parameters.properties: Cannot find field.',
        "tools.0.parameters: the keyword maxLength is not supported",
    ],
)
def test_tools_are_sent_again_without_lengths(text: str) -> None:
    profile = Profile()
    sent = request(
        "m", [user("Plan.")], Sampling(tools=(PLAN,)), ServerSettings(), profile
    )
    assert '"maxLength"' in json.dumps(sent.body)
    refusal = read(400, {"error": {"message": text}}, sent.fields)
    lesson = learn_tools(refusal, profile, sent) or learn(refusal, profile, sent.body)
    assert lesson == ({"max_length": False}, "without lengths in schemas")
    changed = replace(profile, **lesson[0])
    again = request(
        "m", [user("Plan.")], Sampling(tools=(PLAN,)), ServerSettings(), changed
    )
    (tool,) = again.body["tools"]
    properties = tool["function"]["parameters"]["properties"]
    # A property of that name is no limit.
    assert [*properties] == ["rooms", "maxItems"]
    assert properties["rooms"] == {"type": "array", "items": {"type": "string"}}
