"""Agents on published data behind a reasoning model: nothing fails, nothing is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.reasoning_stub import MODEL, check, reasoning
from wayword.runs import Plan, run

pytestmark = pytest.mark.real

PLAYED = [
    ("navgpt", "r2r:val_seen"),
    ("discussnav", "r2r:val_seen"),
    ("walker", "r2r:val_seen"),
    ("reflexion", "r2r:val_seen"),
    ("velma", "map2seq:unseen_dev"),
    ("react_emmem", "map2seq:unseen_dev"),
    ("velma", "touchdown:unseen_dev"),
    ("lgx", "robothor:train"),
    ("discussnav", "robothor:train"),
    ("act", "household:valid_seen"),
    ("react", "rearrangement:2021_val"),
    ("react_emmem", "iqa:val_seen"),
    ("reflexion", "ma_household:valid_seen"),
    ("reflexion_emmem", "ma_wah:logs"),
    ("navgpt", "reverie:val_seen"),
    ("mapgpt", "r2r:val_seen"),
    ("navcot", "r2r:val_seen"),
    ("frontier_llm", "robothor:train"),
    ("planner", "household:valid_seen"),
    ("plan_search", "household:valid_seen"),
]
"""Every agent that asks a model, every dataset with published files."""


@pytest.mark.parametrize(("agent", "on"), PLAYED)
def test_an_agent_plays_published_episodes(
    tmp_path: Path, data: Path, agent: str, on: str
) -> None:
    steps = 30 if on.startswith("robothor") else 4
    with reasoning() as server:
        tree = {"model": {"base_url": server.address}}
        out = tmp_path / "run"
        plan = Plan(
            agent,
            on,
            f"openai:{MODEL}",
            tree,
            2,
            first=True,
            max_steps=steps,
            data=data,
            out=out,
        )
        check(server, out, run(plan).outcome)


def test_a_cascade_of_two_plays_published_episodes(tmp_path: Path, data: Path) -> None:
    with reasoning() as server:
        address = {"base_url": server.address}
        tree = {"model": {"small": address, "large": address, "margin": 0.0}}
        model = f"cascade:openai:{MODEL},openai:{MODEL}"
        out = tmp_path / "run"
        plan = Plan(
            "act",
            "r2r:val_seen",
            model,
            tree,
            2,
            first=True,
            max_steps=4,
            data=data,
            out=out,
        )
        check(server, out, run(plan).outcome)


def test_a_scene_is_remembered_in_published_episodes(
    tmp_path: Path, data: Path
) -> None:
    """The second episode of a tour is asked about with the map and the notes of the first."""
    with reasoning() as server:
        out = tmp_path / "run"
        episodes = ("5593_0", "4020_0")
        tree = {"model": {"base_url": server.address}}
        plan = Plan("mapgpt", "r2r:val_seen", f"openai:{MODEL}", tree, max_steps=3, data=data,
                    episodes=episodes, remember="scene", out=out)  # fmt: skip
        check(server, out, run(plan).outcome)
        assert "Objects within 3 meters of places" in str(server.asked[-1]["messages"])
