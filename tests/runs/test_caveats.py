"""Caveats of datasets, perceivers and agents stand where the figures stand."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.core import registry
from wayword.core.perceiver import Perceiver
from wayword.metrics.papers import paper_table
from wayword.metrics.table import render
from wayword.models.parts.weights import SHIPPED
from wayword.runs import Plan, run
from wayword.runs.config import caveats_of
from wayword.runs.identity import caveats
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.reports import rows_of

HOUSES = {"houses": 1, "episodes": 3}


def listed(agent: str, on: str, **settings: Any) -> str:
    """The caveats of a plan, joined."""
    plan = Plan(agent, on, "scripted:first", settings)
    dataset = open_dataset(plan)
    return " ".join(caveats(dataset, open_agent(plan, dataset)))


def test_simulated_detectors_state_their_quality_and_the_upper_bound(
    tmp_path: Path,
) -> None:
    apartments = {"rooms": 2, "homes": 1, "episodes": 1}
    text = listed("frontier", "apartments", dataset=apartments, quality={"recall": 0.5})
    assert "simulated:glip,recall=0.5 is a simulation" in text
    assert "recall 0.5" in text
    assert "3% of views with a false alarm" in text
    assert "`perfect`" in text
    assert "upper bound" in listed(
        "frontier", "apartments", dataset=apartments, grounding="perfect"
    )
    both = listed("lgx", "apartments", dataset=apartments)
    assert "simulated:glip is" in both
    assert "simulated:yolo is" in both
    assert "simulated:yolo" in listed("discussnav", "apartments", dataset=apartments)
    assert "is a simulation" not in listed("oracle", "apartments", dataset=apartments)
    tree = {"dataset": apartments}
    done = run(
        Plan(
            "frontier", "apartments", "", tree, limit=1, max_steps=2, out=tmp_path / "r"
        )
    )
    assert "simulated:glip is a simulation" in " ".join(
        render(rows_of([done.path])).split()
    )


def test_an_agent_that_looks_at_nothing_in_a_world_has_no_caveat_of_its_sight() -> None:
    assert listed("lgx", "two_phase") == ""


def test_episodes_that_are_left_out_are_the_last_caveat_of_a_run() -> None:
    config: dict[str, Any] = {"caveats": ["walls are inferred"], "left_out": {}}
    assert caveats_of(config) == ("walls are inferred",)
    config["left_out"] = {"no path": 2, "unread": 1}
    left_out = "left out of the split: 2 no path, 1 unread"
    assert caveats_of(config) == ("walls are inferred", left_out)


def test_a_caveat_of_several_actors_is_stated_once() -> None:
    plan = Plan("frontier", "apartments", settings={"grounding": "perfect"})
    dataset = open_dataset(plan)
    agent = open_agent(plan, dataset)
    alone = caveats(dataset, agent)
    team: Any = SimpleNamespace(playing=lambda: [*agent.playing(), *agent.playing()])
    assert any("upper bound" in line for line in alone)
    assert caveats(dataset, team) == alone


def test_velma_without_landmarks_says_so() -> None:
    towns = {"towns": 1, "episodes": 2}
    assert listed("velma", "towns", dataset=towns) == ""
    for settings in ({"scores": "none"}, {"landmarks": "none"}):
        assert "velma sees no landmarks" in listed(
            "velma", "towns", dataset=towns, **settings
        )


def test_discussnav_that_reads_words_says_so() -> None:
    assert "discussnav reads text (" in listed("discussnav", "houses", dataset=HOUSES)


def test_rows_of_trained_agents_and_models_name_their_training_data(
    tmp_path: Path,
) -> None:
    """Under the tables, as a reader takes them for zero-shot ones."""
    pytest.importorskip("onnxruntime")
    tree = {"dataset": HOUSES}
    plans = [
        Plan("imitation", "houses", "", tree),
        Plan("walker", "houses", "regression:walker", tree),
        Plan("forward", "houses", "", tree),
    ]
    for plan in plans:
        run(replace(plan, limit=2, out=tmp_path / plan.agent))
    rows = rows_of([tmp_path / plan.agent for plan in plans])
    notes = [
        "imitation: trained on r2r:train and houses:train.",
        "walker: regression:walker is trained on houses:train.",
    ]
    paper = paper_table(rows, "r2r")
    for note in notes:
        assert note in paper
        for form in ("rich", "markdown", "latex", "csv", "json"):
            assert note.partition(": ")[2].rstrip(".") in render(rows, form, 200)
    assert "trained" not in str(rows[2].caveats)
    # The list of agents says it before the run.
    imitation = registry.summaries("agent")["imitation"]
    assert imitation.endswith("trained on r2r:train and houses:train.")


def test_weights_of_the_users_without_a_card_say_so(tmp_path: Path) -> None:
    weights = tmp_path / "mine.json"
    shutil.copy(SHIPPED / "walker.json", weights)
    plan = Plan("forward", "houses")
    dataset = open_dataset(plan)
    agent = open_agent(plan, dataset)
    name = f"regression:{weights}"
    (caveat,) = caveats(dataset, agent, [name])
    problem = "trained on data that no card names (row `Splits` of mine.md next to it)"
    assert caveat == f"{name} is {problem}"
    weights.with_suffix(".md").write_text("| Splits | towns:train |\n")
    assert caveats(dataset, agent, [name]) == [f"{name} is trained on towns:train"]
    assert caveats(dataset, agent, ["openai:gpt-5-mini", "scripted:first"]) == []


def test_a_perceiver_of_the_users_brings_its_caveats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Guess(Perceiver):
        name = "guess"
        caveats = ("everything here is guessed",)

        def __init__(self, settings: Any, own: Perceiver | None) -> None: ...

    monkeypatch.setitem(registry.CLASSES, ("perceiver", "guess"), Guess)
    text = listed("random", "houses", dataset=HOUSES, perceiver="guess")
    assert text == "everything here is guessed"
