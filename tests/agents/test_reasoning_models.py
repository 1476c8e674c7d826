"""Strategies in every world behind a reasoning model: nothing fails, nothing is cut, thoughts stay
its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import Loopback
from helpers.reasoning_stub import MODEL, check, reasoning
from wayword.core.rollout import Outcome
from wayword.runs import Plan, run

STRATEGIES = ("act", "react", "react_emmem", "reflexion")
PLAYED = [
    ("act", "apartments"),
    ("act", "two_phase"),
    *((agent, on) for agent in STRATEGIES for on in ("towns", "grounding")),
    *(
        ("react", on)
        for on in ("iqa", "rearrangement", "ma_household", "ma_wah", "grounding_homes")
    ),
]
"""What ``test_any_model`` leaves out: strategies in the other worlds."""
ONE = {"homes": 1, "episodes": 2}
SMALL: dict[str, dict[str, Any]] = {
    "houses": {"houses": 1, "episodes": 2},
    "towns": {"towns": 2, "episodes": 2},
    "apartments": {**ONE, "rooms": 3},
    "grounding": {"levels": "GoToObj", "episodes": 2},
    **dict.fromkeys(
        ("household", "iqa", "rearrangement", "ma_household", "ma_wah"), ONE
    ),
    "grounding_homes": ONE,
}
STEPS = {"apartments": 14}
"""A full turn is 12; elsewhere 4 steps hold every kind of question."""


def played(
    server: Loopback, out: Path, agent: str, on: str, **settings: Any
) -> Outcome:
    """How a run of two short episodes ended."""
    if on == "grounding":
        pytest.importorskip("minigrid")
    tree = {
        "model": {"base_url": server.address},
        "dataset": SMALL.get(on, {}),
        **settings,
    }
    steps = STEPS.get(on, 4)
    plan = Plan(
        agent, on, f"openai:{MODEL}", tree, limit=2, max_steps=steps, out=out, retries=0
    )
    return run(plan).outcome


@pytest.mark.parametrize(("agent", "on"), PLAYED)
def test_an_agent_plays_through_a_reasoning_model(
    tmp_path: Path, agent: str, on: str
) -> None:
    with reasoning() as server:
        out = tmp_path / "run"
        check(server, out, played(server, out, agent, on))


@pytest.mark.parametrize(
    ("agent", "on"),
    [
        ("navgpt", "houses"),
        ("discussnav", "houses"),
        ("react", "towns"),
        ("act", "household"),
    ],
)
def test_free_answers_too(tmp_path: Path, agent: str, on: str) -> None:
    with reasoning() as server:
        check(
            server,
            tmp_path / "run",
            played(server, tmp_path / "run", agent, on, decoding="free"),
        )


def test_a_completed_walk_too(tmp_path: Path) -> None:
    with reasoning() as server:
        check(
            server,
            tmp_path / "run",
            played(server, tmp_path / "run", "velma", "towns", decoding="complete"),
        )


@pytest.mark.parametrize("agent", ["act", "react"])
def test_a_cascade_of_two(tmp_path: Path, agent: str) -> None:
    with reasoning() as server:
        address = {"base_url": server.address}
        model = {"small": address, "large": address, "margin": 0.0}
        tree = {"model": model, "dataset": SMALL["houses"]}
        name = f"cascade:openai:{MODEL},openai:{MODEL}"
        out = tmp_path / "run"
        plan = Plan(
            agent, "houses", name, tree, limit=2, max_steps=4, out=out, retries=0
        )
        check(server, out, run(plan).outcome)


@pytest.mark.parametrize(
    ("agent", "on"), [("mapgpt", "houses"), ("frontier_llm", "apartments")]
)
def test_a_remembered_scene(tmp_path: Path, agent: str, on: str) -> None:
    with reasoning() as server:
        dataset = {**SMALL[on], "length": 6} if on == "houses" else SMALL[on]
        tree = {"model": {"base_url": server.address}, "dataset": dataset}
        out = tmp_path / "run"
        plan = Plan(agent, on, f"openai:{MODEL}", tree, limit=2, max_steps=STEPS.get(on, 4),
                    remember="scene", out=out, retries=0)  # fmt: skip
        check(server, out, run(plan).outcome)
