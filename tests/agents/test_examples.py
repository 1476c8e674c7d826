"""Solved examples in every task for homes and grids, by single steps and by whole errands."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.two_in_a_flat import TwoInAFlat
from wayword.agents.strategies.examples import (
    count_characters,
    draw_fitting,
    example_turns,
)
from wayword.core.action import Action
from wayword.core.agent import Demonstration
from wayword.core.errors import UsageError
from wayword.core.model import Message
from wayword.core.trajectory import Trajectory
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder

TASKS: list[tuple[str, dict[str, Any]]] = [
    ("household", {}),
    ("rearrangement", {"rooms": 1}),
    ("iqa", {}),
    ("grounding", {"levels": "GoToObjS4"}),
    ("grounding_homes", {}),
    ("ma_wah", {"agents": 1, "rooms": 3}),
    ("ma_household", {"task": "Coffee", "rooms": 3}),
    ("ma_wah", {"rooms": 3}),
]


def first_prompts(
    out: Path, on: str, dataset: dict[str, Any], agent: str = "act", **settings: Any
) -> tuple[list[Sequence[Message]], Trajectory]:
    """What each actor is asked at its first turn."""
    home = {} if on == "grounding" else {"homes": 1, "rooms": 2}
    tree = {"dataset": {"episodes": 1, **home, **dataset}, **settings}
    run(Plan(agent, on, "scripted:first", tree, limit=1, max_steps=1, out=out))
    (record,) = RunFolder.read(out).records()
    prompts = [call.prompt for call in record.trajectory.calls()]
    assert prompts
    assert not record.trajectory.error
    return [
        prompt for prompt in prompts if not isinstance(prompt, str)
    ], record.trajectory


@pytest.mark.parametrize("actions", ["low", "high"])
@pytest.mark.parametrize(("on", "dataset"), TASKS)
def test_examples_are_shown_in_every_task(
    tmp_path: Path, on: str, dataset: dict[str, Any], actions: str
) -> None:
    given = {**dataset, "actions": actions}
    prompts, played = first_prompts(tmp_path / "run", on, given, shots=1)
    several = on in ("ma_household", "ma_wah") and dataset.get("agents") != 1
    assert len(prompts) == (2 if several else 1)
    for prompt in prompts:
        has_question = [
            json.loads(m.content)["action"] for m in prompt if m.role == "assistant"
        ]
        assert len(has_question) >= (1 if on == "grounding" else 2), prompt
        skills = any(each.startswith("go") for each in has_question)
        assert not (skills if actions == "low" else "move_ahead" in has_question), (
            has_question
        )
    assert not [note.kind for note in played.notes() if note.kind != "state"]


def test_an_actors_example_tells_what_the_others_stated(tmp_path: Path) -> None:
    commander, follower = first_prompts(
        tmp_path / "run",
        "ma_household",
        {"actions": "high", "task": "Coffee", "rooms": 3},
        shots=1,
    )[0]
    assert "commander says: Please " in follower[1].content + follower[3].content
    spoken = [json.loads(m.content) for m in commander if m.role == "assistant"]
    assert any(each["action"] == "chat" and each["argument"] for each in spoken)


def test_a_context_that_has_no_room_for_examples_refuses_the_run(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        UsageError, match=r"0 of 2 examples fit.* raise context, or lower shots"
    ):
        first_prompts(tmp_path / "run", "iqa", {}, shots=2, context=600)


def test_examples_may_be_drawn_for_each_episode(tmp_path: Path) -> None:
    home = {"homes": 1, "rooms": 2, "episodes": 2}
    tree = {"dataset": {**home, "actions": "high"}, "shots": 1, "draw": "episode"}
    run(
        Plan(
            "act",
            "iqa",
            "scripted:first",
            tree,
            limit=2,
            max_steps=1,
            out=tmp_path / "run",
        )
    )
    records = list(RunFolder.read(tmp_path / "run").records())
    texts = [next(iter(r.trajectory.calls())).prompt[1].content for r in records]
    assert texts[0] != texts[1]


def test_examples_hold_the_experts_reasons_on_request(tmp_path: Path) -> None:
    """Why each step is taken, and nothing of what the actor of the example had not seen by name."""
    given = {"actions": "high", "kind": "pick_and_place_simple"}
    messages = []
    for thoughts in (True, False):
        out = tmp_path / f"{thoughts}"
        prompts, _ = first_prompts(
            out, "household", given, "react", shots=1, thoughts=thoughts
        )
        turns = [json.loads(m.content) for m in prompts[0] if m.role == "assistant"]
        messages.append([turn.get("thought", "") for turn in turns])
        before = ""
        for message in prompts[0][2:]:
            if message.role == "assistant":
                named = set(
                    re.findall(
                        r"\w+_\d+", json.loads(message.content).get("thought", "")
                    )
                )
                assert named <= set(re.findall(r"\w+_\d+", before))
            before += message.content
    reasons, without = messages
    assert not any(without)
    assert all(reasons)
    assert reasons[-1] == "All that was asked for is done, so I stop."
    assert any("should be" in reason for reason in reasons)


@pytest.mark.parametrize("actor", ["", "ann", "bob"])
def test_reasons_are_those_of_the_first_actor_s_own_actions(actor: str) -> None:
    """Whatever the others do in between; nothing is known of their reasons."""
    dataset = TwoInAFlat()
    episode = dataset.tasks[0].episode
    left, right, wait = (Action(v) for v in ("turn_left", "turn_right", "wait"))
    turns = (
        ("bob", wait),
        ("ann", left),
        ("bob", left),
        ("bob", wait),
        ("ann", right),
        ("bob", right),
    )
    solved = Demonstration(
        episode,
        (left, right),
        lambda: dataset.world(episode),
        turns,
        ("to the left", "to the right"),
    )

    def answers(thoughts: bool) -> list[str]:
        written = example_turns(
            solved,
            lambda action, view, space, thought: f"{thought}: {action}",
            lambda view, feedback: "",
            "",
            actor,
            thoughts,
        )
        return [answer for _, answer in written]

    if actor == "bob":
        expected = [f": {action}" for action in (wait, left, wait, right)]
        assert answers(thoughts=True) == expected
    else:
        expected = [f"to the left: {left}", f"to the right: {right}"]
        assert answers(thoughts=True) == expected
        assert answers(thoughts=False) == [f": {left}", f": {right}"]


@pytest.mark.parametrize(
    ("lengths", "drawn"),
    [
        ([50, 50], [50, 50]),
        ([51, 50, 50], [50, 50]),
        # What the first leaves is the room of the second.
        ([30, 70], [30, 70]),
        ([30, 71, 70], [30, 70]),
        ([50, 51, 20], [50, 20]),
    ],
)
def test_each_example_has_a_share_of_the_room_that_is_left(
    lengths: list[int], drawn: list[int]
) -> None:
    waiting = list(enumerate(lengths))

    def draw(count: int, seed: int) -> list[Any]:
        """The next example, one at a time."""
        number, length = waiting.pop(0)
        return [SimpleNamespace(episode=SimpleNamespace(id=number), length=length)]

    examples = draw_fitting(
        draw, lambda each: [("x" * each.length, "")], len(drawn), 0, 100.0
    )
    assert [count_characters(each) for each in examples] == drawn


def test_examples_use_the_skills_that_the_actor_has(tmp_path: Path) -> None:
    """One with single motions has up to 100 turns, and shows no thought that the answer needs."""
    given = {"kind": "pick_and_place_simple", "rooms": 4}
    prompts, _ = first_prompts(tmp_path / "run", "household", given, "react", shots=1)
    turns = [json.loads(m.content) for m in prompts[0] if m.role == "assistant"]
    assert any(turn["action"].startswith("go_") for turn in turns)
    assert all(turn["thought"] for turn in turns)
    assert len(turns) <= 12
    assert "omit thoughts" not in prompts[0][0].content
