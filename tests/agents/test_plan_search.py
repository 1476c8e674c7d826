"""Plan search: actions tried in copies of the home, rated, and the best sequence carried out."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helpers import honest_player as honest
from helpers.golden import check_golden
from helpers.playing import Scripted, flat
from helpers.small_flat import SmallFlat
from wayword.agents.strategies.plan_search import (
    PlanSearch,
    PlanSearchSettings,
    TreeNode,
)
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.model import Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Feedback
from wayword.datasets.household import Household
from wayword.metrics.household import score_state
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder
from wayword.runs.reports import table
from wayword.verbalize.household import verbalizer

GOLDEN = Path(__file__).parent.parent / "golden"


def play(dataset: Any, model: Scripted, number: int = 0, **settings: Any) -> Trajectory:
    given = PlanSearchSettings(**{"decoding": "free", "context": 100_000, **settings})
    setup = Setup(
        dataset,
        lambda toolkit, _: PlanSearch(given, toolkit),
        {"main": model},
        max_steps=40,
    )
    played = asyncio.run(rollout(dataset.tasks[number], setup))
    assert played.ended != "failed", played.error
    return played


def actions(played: Trajectory) -> list[str]:
    return [
        str(step.decision.action) if isinstance(step.decision, Decision) else "rejected"
        for step in played.steps
    ]


def careless(prompt: Prompt, sampling: Sampling) -> str:
    """A player whose first proposal is idle, and who judges results by what the prompt says of
    them: an object in the hands, in its place, and the stop after that."""
    fixed, has_question = (str(message.content) for message in prompt)  # type: ignore[union-attr]
    task = has_question.partition("\n")[0]
    item, place = (each.lower().replace(" ", "_") for each in honest.phrases(task[6:]))
    steps = has_question.partition("Your steps so far:\n")[2].partition("\n\nNow:")[0]
    if "The results:" not in has_question:
        return "Actions:\n1. turn_left\n2. " + next_action(
            fixed, has_question, steps, item, place
        )
    results = has_question.partition("The results:\n")[2].partition("\n\nRate each")[0]
    blocks = re.split(r"(?m)^\d+\. ", results)[1:]
    rated = "\n".join(
        f"{n}. {rate(steps, block, item)}" for n, block in enumerate(blocks, 1)
    )
    return f"Ratings:\n{rated}"


def next_action(fixed: str, query: str, steps: str, item: str, place: str) -> str:
    known = dict.fromkeys(re.findall(r"\b[a-z]\w*_\d+\b", query))
    held = re.search(r", holding (\w+_\d+)", query)
    if re.search(rf"put {item}_\d+ (?:in|on) it", steps):
        return "stop"
    if doors := re.findall(
        r"Closed on it: (door_\d+)", steps.splitlines()[-1] if steps else ""
    ):
        return f"goto[{doors[0]}]"
    if door := re.search(r"You went to (door_\d+)\.$", steps):
        return f"open[{door[1]}]"
    sought = place if held else item
    found = [name for name in known if re.fullmatch(rf"{sought}_\d+", name)]
    if found:
        return f"go_put[{found[0]}]" if held else f"go_grab[{found[0]}]"
    rooms = honest.Notes.of(fixed).rooms
    unexplored = [room for room in rooms if f"You explored the {room}" not in steps]
    return f"go_explore[{unexplored[0]}]" if unexplored else "turn_right"


def rate(steps: str, block: str, item: str) -> int:
    is_put = bool(re.search(rf"put {item}_\d+ (?:in|on) it", steps + block))
    if block.startswith("stop"):
        return 10 if is_put else 0
    progress = [
        is_put and 9,
        bool(re.search(rf", holding {item}_\d+", block)) and 6,
        bool(re.search(rf"\b{item}_\d+", steps + block)) and 3,
        bool(re.search("You (?:explored|checked|opened|went to)", block)),
    ]
    return max(map(int, progress)) if not block.startswith("turn_left") else 0


def test_what_a_careless_player_misses_is_found_by_trying() -> None:
    settings = Household.Settings(homes=6, episodes=6, kind="pick_and_place_simple")
    dataset = Household(settings=settings)
    for number in (1, 3):  # requests without closed containers
        task = dataset.tasks[number]
        reference = cast("Any", dataset.tasks[number].reference)
        searched = play(dataset, Scripted(careless), number, width=2, depth=8, calls=12)
        plain = play(dataset, Scripted(careless), number, width=1, depth=1, calls=2)
        worth = [
            score_state(reference, played.state)["sr"] for played in (searched, plain)
        ]
        assert worth == [1.0, 0.0], task.episode.instruction


def scripted(*answers: str) -> Scripted:
    return Scripted(list(answers))


def test_the_best_sequence_is_carried_out_without_more_questions() -> None:
    model = scripted(
        "Actions:\n1. turn_left\n2. go_grab[mug_1]", "Ratings:\n1. 0\n2. 7",
        "Actions:\n1. stop\n2. go_explore[hall]", "Ratings:\n1. 1\n2. 9",
        "Actions:\n1. stop", "Ratings:\n1. 10",
    )  # fmt: skip
    played = play(SmallFlat(), model, calls=6, depth=3)
    assert actions(played) == ["go_grab[mug_1]", "go_explore[hall]", "stop"]
    assert len(model.prompts) == 6
    thought = played.steps[0].decision.thought
    assert (
        thought
        == "Tried 5 actions; best, rated 1.00: go_grab[mug_1]; go_explore[hall]; stop"
    )
    assert played.steps[1].calls == []


def test_trying_changes_nothing_in_the_world() -> None:
    """The copy picks the mug up; the world that is played on does not."""
    model = scripted(
        "Actions:\n1. go_grab[mug_1]\n2. turn_left", "Ratings:\n1. 0\n2. 5"
    )
    played = play(SmallFlat(), model, calls=2, depth=1)
    assert actions(played)[0] == "turn_left"
    assert ", holding nothing." in model.prompts[2].partition("Now: ")[2]


def turning(prompt: Prompt, sampling: Sampling) -> str:
    """Two turns everywhere, the second of them a little better."""
    if "The results:" in flat(prompt):
        return "Ratings: 5, 6"
    return "Actions: turn_left\nturn_right"


@pytest.mark.parametrize(
    ("calls", "depth", "query", "tried"),
    [(8, 9, 8, 8), (8, 1, 2, 2), (8, 2, 6, 6), (1, 9, 2, 2)],
)
def test_depth_and_calls_are_limits(
    calls: int, depth: int, query: int, tried: int
) -> None:
    first = play(SmallFlat(), Scripted(turning), calls=calls, depth=depth).steps[0]
    assert len(first.calls) == query
    assert first.decision.thought.startswith(
        f"Tried {tried} actions; best, rated 0.60: turn_right"
    )


def test_an_answer_without_an_action_is_rejected() -> None:
    played = play(SmallFlat(), scripted("I would like to dance."))
    refused = played.steps[0].decision
    assert isinstance(refused, Rejection)
    assert refused.reason == "no legal action was proposed"


def test_tables_say_that_it_uses_the_simulator(tmp_path: Path) -> None:
    settings = {"dataset": {"homes": 1, "episodes": 1}}
    out = tmp_path / "run"
    run(
        Plan(
            "plan_search", "household", "scripted:first", settings, out=out, max_steps=2
        )
    )
    assert RunFolder.read(tmp_path / "run").config["sees_answer"] is True
    shown = table([tmp_path / "run"], "markdown")
    assert "(uses ground truth)" in shown
    assert "uses the simulator" in shown


def test_the_two_questions() -> None:
    """In the flat, the second state: what is asked after one action was tried."""
    model = scripted(
        "Actions:\n1. go_grab[mug_1]\n2. turn_left", "Ratings:\n1. 7\n2. 0", "Actions:\n1. stop",
        "Ratings:\n1. 0",
    )  # fmt: skip
    play(SmallFlat(), model, calls=4)
    check_golden(
        GOLDEN / "plan_search_flat.txt", "\n\n".join(model.prompts[2:4]) + "\n"
    )


@pytest.mark.parametrize("exploration", [0.0, 0.5])
def test_the_best_mean_is_expanded_first_and_of_equals_the_rarer(
    exploration: float,
) -> None:
    settings = PlanSearchSettings(exploration=exploration)
    agent: Any = SimpleNamespace(_settings=settings)

    def priority(total: float, visits: int, is_closed: bool = False) -> float:
        root = TreeNode(cast("Any", None), visits=9)
        node = TreeNode(cast("Any", None), root, total=total, visits=visits)
        node.is_closed = is_closed
        return PlanSearch._priority(agent, node)

    assert priority(1.8, 2) > priority(2.4, 4), "0.9 and 0.6 on average"
    assert (priority(0.5, 1) > priority(1.5, 3)) == (exploration > 0)
    assert priority(9.0, 1, is_closed=True) < priority(0.0, 1)


@pytest.mark.parametrize("status", ["ok", "blocked"])
@pytest.mark.parametrize(("details", "is_kept"), [({}, True), ({"by": "a cat"}, False)])
@pytest.mark.parametrize("expected", ["ok", "blocked"])
def test_a_path_is_followed_while_the_world_reacts_as_its_copy_did(
    expected: str, details: dict[str, str], is_kept: bool, status: str
) -> None:
    """Whether the action succeeded or not, and down to the details."""
    agent = PlanSearch(PlanSearchSettings(), Toolkit({"main": scripted("")}))
    agent._verbalizer = verbalizer
    agent._path = [TreeNode(cast("Any", None))]
    usual = {"action": "move_ahead", "distance": 0.25, "by": "a wall"}
    agent._expected = Feedback(expected, usual)
    given = Feedback(status, {**usual, **details})
    agent.on_feedback(Decision(Action("move_ahead")), given)
    assert bool(agent._path) == (is_kept and status == expected)
