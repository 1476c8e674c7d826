"""Four agents play through servers that each follow one provider's rules."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from helpers.provider_stubs import PROVIDERS, Provider, provider
from wayword.core.model import Completion
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run

pytestmark = pytest.mark.usefixtures("shared_data")
HOUSES = {"houses": 1, "episodes": 3}
GAMES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("navgpt", "houses", HOUSES),
    ("velma", "towns", {"towns": 1, "episodes": 3}),
    ("discussnav", "houses", HOUSES),
    ("react", "houses", HOUSES),
)
MOST_STEPS = 2
FIELDS = {"json_schema": "response_format"}
"""Field of ``Sampling`` -> field of a request, where the names differ."""


@pytest.mark.parametrize("rules", PROVIDERS, ids=[each.name for each in PROVIDERS])
@pytest.mark.parametrize(
    ("agent", "on", "small"), GAMES, ids=[agent for agent, _, _ in GAMES]
)
def test_an_agent_plays_through_a_provider(
    tmp_path: Path, agent: str, on: str, small: dict[str, Any], rules: Provider
) -> None:
    out = tmp_path / "run"
    with provider(rules) as server:
        tree = {"model": {"base_url": server.address}, "dataset": small}
        plan = Plan(agent, on, f"openai:{rules.model}", tree, limit=3,
                    max_steps=MOST_STEPS, concurrency=1, out=out, retries=0)  # fmt: skip
        outcome = run(plan).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (3, 0, "")
    calls = [
        call for record in RunFolder.read(out).records()
        for call in record.trajectory.calls()
    ]  # fmt: skip
    assert calls
    # only refused fields are left out
    unsent = {
        FIELDS.get(name, name)
        for call in calls
        if isinstance(call.answer, Completion)
        for name in call.answer.unsent
    }
    assert unsent <= rules.fields
    accepted = [
        body
        for body, status in zip(server.asked, server.statuses, strict=True)
        if status == 200
    ]
    for body in accepted:
        assert {"max_tokens", "max_completion_tokens"} & body.keys()
        assert "temperature" in body or "temperature" in rules.fields
    # a request of a call is refused at most three times, and each refusal happens once
    refused = [status >= 400 for status in server.statuses]
    streaks = [len(list(group)) for is_refused, group in groupby(refused) if is_refused]
    assert max(streaks, default=0) <= 3
    assert server.refused <= len(rules.fields) + len(rules.rules) + 1
