"""NavCoT: an imagination, a match and an action in one answer; labels of them; an honest player."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from helpers import honest_player as honest
from helpers.playing import Scripted, play
from wayword.agents.strategies.navcot import NavCoT, NavCoTSettings
from wayword.core.model import Completion, Prompt, Sampling, Usage
from wayword.core.rollout import Setup, rollout
from wayword.datasets.houses import Houses
from wayword.metrics.scoring import score
from wayword.runs import Plan, run
from wayword.runs.export import Export, export


def answer_text(action: str) -> str:
    return json.dumps(
        {"imagination": "a lamp", "match": f"{action}: a lamp", "action": action}
    )


def test_the_thought_is_the_imagination_and_its_match() -> None:
    played = play(
        NavCoT,
        NavCoTSettings(),
        {"main": Scripted([answer_text("goto[a]"), answer_text("stop")])},
    )
    assert played.steps[0].decision.thought == "a lamp goto[a]: a lamp"
    assert played.ended == "stopped"


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, ["imagination", "match", "action"]),
        ({"imagine": False}, ["match", "action"]),
        ({"filter": False}, ["imagination", "action"]),
    ],
)
def test_each_idea_can_be_left_out(settings: dict[str, Any], fields: list[str]) -> None:
    model = Scripted([json.dumps({"action": "stop"})])
    played = play(NavCoT, NavCoTSettings(**settings), {"main": model})
    (call,) = played.calls()
    assert call.sampling.json_schema is not None  # type: ignore[union-attr]
    assert call.sampling.json_schema["required"] == fields  # type: ignore[union-attr]
    prompts = model.prompts[0].partition("for example\n")[2].partition("\n<")[0]
    example, *lines = prompts.splitlines()
    assert list(json.loads(example)) == fields
    assert [line.partition(":")[0] for line in lines] == fields


class Reader(honest.Honest):
    """Walks by the clauses of the instruction, in the form of the recipe."""

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        done = await super().complete(prompt, sampling)
        action = done.texts[0].removeprefix("Action: ")
        form = f"Imagination: a landmark\nMatch: {action}\nAction: {action}"
        return Completion((form,), ("stop",), Usage(1, 1))


@pytest.mark.parametrize("number", [8, 12, 15])
def test_a_walk_by_its_instructions_clauses(number: int) -> None:
    dataset = Houses(settings=Houses.Settings())
    settings = NavCoTSettings(decoding="free")
    task = dataset.tasks[number]
    model = Reader(honest.route)
    setup = Setup(
        dataset, lambda tools, _: NavCoT(settings, tools), {"main": model}, max_steps=60
    )
    played = asyncio.run(rollout(task, setup))
    assert played.ended == "stopped", played.error
    (scores,) = score(dataset, [(task, played)])
    assert (scores["sr"], scores["rejections"]) == (1.0, 0.0), (
        task.episode.instruction,
        model.said,
    )


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three walks of the oracle."""
    out = tmp_path_factory.mktemp("gold") / "run"
    assert run(Plan("oracle", "houses", limit=3, out=out)).outcome.complete
    return out


def test_labels_are_what_the_instruction_names_of_the_next_view(
    tmp_path: Path, gold: Path
) -> None:
    card = export([gold], tmp_path / "labels.jsonl", Export("navcot"))
    assert (card.episodes, card.missing_fields) == (3, [])
    chats = [
        json.loads(line)
        for line in (tmp_path / "labels.jsonl").read_text().splitlines()
    ]
    for chat in chats:
        task = chat["messages"][1]["content"].partition("\n")[0].lower()
        labels = [
            json.loads(m["content"])
            for m in chat["messages"]
            if m["role"] == "assistant"
        ]
        assert labels[-1] == {
            "imagination": "the end of the route", "match": "stop", "action": "stop"
        }  # fmt: skip
        for label in labels[:-1]:
            assert label["match"] == f"{label['action']}: {label['imagination']}"
            assert any(word in task for word in label["imagination"].lower().split()), (
                label
            )


def test_examples_hold_the_labels_of_their_own_instruction() -> None:
    dataset = Houses(settings=Houses.Settings())
    settings = NavCoTSettings(decoding="free", shots=1, context=100_000)
    model = Scripted(["Imagination: a\nMatch: stop\nAction: stop"])
    setup = Setup(
        dataset, lambda tools, _: NavCoT(settings, tools), {"main": model}, max_steps=1
    )
    played = asyncio.run(rollout(dataset.tasks[0], setup))
    (call,) = played.calls()
    answers = [m.content for m in call.prompt if m.role == "assistant"]  # type: ignore[union-attr]
    assert answers[0].startswith("Imagination: ")
    assert answers[-1] == "Imagination: the end of the route\nMatch: stop\nAction: stop"
