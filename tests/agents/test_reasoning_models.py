"""Every agent behind a reasoning model: nothing fails, nothing is cut, thoughts stay its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import Loopback
from helpers.reasoning_stub import MODEL, THINKING, reasoning, thought
from wayword.core.action import Decision
from wayword.core.model import Completion
from wayword.core.trajectory import Trajectory
from wayword.runs import Plan, run
from wayword.runs.folder import RunFolder

HOME = ("household", "grounding")
STRATEGIES = ("act", "react", "react_emmem", "reflexion")
PLAYED = [
    ("navgpt", "houses"),
    ("discussnav", "houses"),
    ("discussnav", "apartments"),
    ("velma", "towns"),
    ("lgx", "apartments"),
    ("lgx", "two_phase"),
    ("walker", "houses"),
    ("act", "apartments"),
    ("act", "two_phase"),
    ("reflexion_emmem", "household"),
    *((agent, on) for agent in STRATEGIES for on in ("houses", "towns", *HOME)),
    *(
        ("react", on)
        for on in ("iqa", "rearrangement", "ma_household", "ma_wah", "grounding_homes")
    ),
]
ONE = {"homes": 1, "episodes": 2}
SMALL: dict[str, dict[str, Any]] = {
    "houses": {"houses": 1, "episodes": 2},
    "towns": {"towns": 2, "episodes": 2},
    "apartments": {**ONE, "rooms": 3},
    "grounding": {"levels": "GoToObj", "episodes": 2},
    **dict.fromkeys(("household", "iqa", "rearrangement", "ma_household", "ma_wah"), ONE),
    "grounding_homes": ONE,
}
STEPS = {"apartments": 14}
"""A full turn is 12; elsewhere 4 steps hold every kind of question."""


def played(
    server: Loopback, out: Path, agent: str, on: str, **settings: Any
) -> tuple[list[Trajectory], Any]:
    """Two short episodes, and how the run ended."""
    if on == "grounding":
        pytest.importorskip("minigrid")
    tree = {"model": {"base_url": server.address}, "dataset": SMALL.get(on, {}), **settings}
    steps = STEPS.get(on, 4)
    plan = Plan(agent, on, f"openai:{MODEL}", tree, limit=2, max_steps=steps, out=out, retries=0)
    outcome = run(plan).outcome
    return [record.trajectory for record in RunFolder.read(out).records()], outcome


def check(server: Loopback, found: list[Trajectory], outcome: Any) -> None:
    """What must hold of every run behind a reasoning model."""
    assert (outcome.finished, outcome.failed, outcome.unusable) == (2, 0, ""), outcome
    assert server.refused <= 2, server.routes
    decisions = [step.decision for one in found for step in one.steps]
    lost = [d if not isinstance(d, Decision) else d.fallback_for for d in decisions]
    assert not [refusal for refusal in lost if refusal], lost
    calls = [call for one in found for call in one.calls()]
    assert calls
    for call in calls:
        assert call.answer is not None, call.error
        assert call.answer.usage.reasoning >= THINKING
        if isinstance(call.answer, Completion):
            assert "length" not in call.answer.finish
            assert any("Secret deliberation" in said for said in call.answer.reasoning)
    advice = {note.kind for one in found for note in one.notes()}
    assert not advice & {"expert_failed", "predictions_dropped"}
    sent = json.dumps(server.asked)
    assert not [n for n in range(len(server.asked)) if thought(n) in sent]


@pytest.mark.parametrize(("agent", "on"), PLAYED)
def test_an_agent_plays_through_a_reasoning_model(tmp_path: Path, agent: str, on: str) -> None:
    with reasoning() as server:
        check(server, *played(server, tmp_path / "run", agent, on))


@pytest.mark.parametrize(
    ("agent", "on"),
    [("navgpt", "houses"), ("discussnav", "houses"), ("react", "towns"), ("act", "household")],
)
def test_free_answers_too(tmp_path: Path, agent: str, on: str) -> None:
    with reasoning() as server:
        check(server, *played(server, tmp_path / "run", agent, on, decoding="free"))


def test_a_completed_walk_too(tmp_path: Path) -> None:
    with reasoning() as server:
        check(server, *played(server, tmp_path / "run", "velma", "towns", decoding="complete"))
