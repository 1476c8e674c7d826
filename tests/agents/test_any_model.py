"""Every registered agent behind the two kinds of awkward model: one that reasons in hiding and
refuses parameters, and one that only chats, in prose with markdown. No episode fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.prose_stub import prose
from helpers.reasoning_stub import MODEL, check, reasoning
from wayword.core import registry
from wayword.core.action import Decision
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder

WORLDS: dict[str, tuple[str, dict[str, Any], int]] = {
    "indoor": ("houses", {"houses": 1, "episodes": 2}, 3),
    "street": ("towns", {"towns": 1, "episodes": 2}, 4),
    "household": ("household", {"homes": 1, "episodes": 2}, 4),
    "objectnav": ("apartments", {"homes": 1, "episodes": 2, "rooms": 3}, 14),
    "two_phase": ("two_phase", {}, 3),
}
"""Family -> a dataset without files, its settings, and steps that hold every kind of question."""
SEATED = [
    (name, family)
    for name in registry.names("agent")
    if (cls := registry.load("agent", name)).needs_model
    for family in sorted(cls.families or ("indoor", "household"))
]


def plan(agent: str, family: str, address: str, out: Path) -> Plan:
    on, settings, steps = WORLDS[family]
    tree = {"model": {"base_url": address}, "dataset": settings}
    return Plan(
        agent, on, f"openai:{MODEL}", tree, limit=2, max_steps=steps, out=out, retries=0
    )


@pytest.mark.parametrize(("agent", "family"), SEATED)
def test_an_agent_plays_with_a_model_that_only_chats(
    tmp_path: Path, agent: str, family: str
) -> None:
    with prose() as server:
        outcome = run(plan(agent, family, server.address, tmp_path / "run")).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (2, 0, ""), outcome
    found = [record.trajectory for record in RunFolder.read(tmp_path / "run").records()]
    refused = [
        refusal
        for one in found
        for step in one.steps
        if (
            refusal := step.decision.fallback_for
            if isinstance(step.decision, Decision)
            else step.decision
        )
    ]
    assert not refused, refused
    assert any(step.calls for one in found for step in one.steps), "the model is asked"


@pytest.mark.parametrize(("agent", "family"), SEATED)
def test_an_agent_plays_with_a_model_that_reasons_in_hiding(
    tmp_path: Path, agent: str, family: str
) -> None:
    with reasoning() as server:
        outcome = run(plan(agent, family, server.address, tmp_path / "run")).outcome
        check(server, tmp_path / "run", outcome)
