"""VELMA on real routes: the prompt beside the paper's figure 7, and recorded landmark lists.

Published texts stay out of the project: in the golden prompt the instruction is a slot and every
landmark the number it has in the recorded list.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.gold_actions import gold_actions
from helpers.small_street import GOLDEN, play
from wayword.agents.velma.agent import VelmaSettings, tidy_landmarks
from wayword.core.action import Decision
from wayword.datasets.touchdown import Map2seq
from wayword.worlds import street

pytestmark = pytest.mark.real
GOLD_STEPS = 22


@pytest.fixture(scope="module")
def map2seq(data: Path) -> Map2seq:
    return Map2seq("unseen_dev", data, Map2seq.Settings())


def gold(map2seq: Map2seq, number: int) -> list[str]:
    task = map2seq.tasks[number]
    path: Any = task.reference
    return list(
        gold_actions(map2seq.graph(""), path.path, task.episode.start["heading"])
    )


def synthetic_scores(
    folder: Path, places: list[tuple[str, int]], names: list[str]
) -> Path:
    """A landmark comes into view at every fifth step, in one view after the other."""
    lines = [
        json.dumps({"landmark": name, "mean": 0.2, "deviation": 0.01}) for name in names
    ]
    for step, (panorama, heading) in enumerate(places):
        for view in range(5):
            seen = step % 5 == 4 and view == step // 5 % 5
            score = dict.fromkeys(names, 0.2)
            score[names[step // 5 % len(names)]] = 0.24 if seen else 0.21
            at = (heading + 45 * (view - 2)) % 360
            lines.append(
                json.dumps({"panorama": panorama, "heading": at, "scores": score})
            )
    path = folder / "scores.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_the_prompt_of_a_real_episode_is_the_golden_one(
    map2seq: Map2seq, tmp_path: Path
) -> None:
    task = map2seq.tasks[0]
    world = map2seq.world(task.episode)
    world.reset(task.episode)
    places = []
    words = gold(map2seq, 0)[:GOLD_STEPS]
    for word in words:
        where = world.pose("agent")
        places.append((where["panorama"], where["heading"]))
        world.step(
            "agent",
            next(a for a in world.action_space("agent").listed if a.name == word),
        )
    names = tidy_landmarks(task.episode.extra["landmarks"]).names
    scores = synthetic_scores(tmp_path, places, list(names))
    settings = VelmaSettings(shots=0, scores="recorded", scores_file=str(scores))
    _, script = play(
        First(map2seq), [*words[1:], "stop"], settings, max_steps=GOLD_STEPS + 1
    )
    shown = script.prompts[-1].replace(
        " ".join(task.episode.instruction.split()), "{instruction}"
    )
    for number, name in enumerate(names, 1):
        shown = shown.replace(f"You see {name} ", f"You see {{landmark {number}}} ")
    assert shown == (GOLDEN / "velma_map2seq.txt").read_text(encoding="utf-8").rstrip(
        "\n"
    )


def test_gold_answers_walk_real_routes_to_their_goals(map2seq: Map2seq) -> None:
    for number in range(0, 40, 4):
        task = map2seq.tasks[number]
        words = gold(map2seq, number)
        trajectory, script = play(
            First(map2seq, number), words[1:], max_steps=len(words)
        )
        assert trajectory.ended == "stopped"
        assert trajectory.visited("agent")[-1]["panorama"] == task.reference.goal  # type: ignore[attr-defined]
        assert len(script.prompts) == len(words) - 1, (
            "the opening is walked without asking"
        )
        written = [
            line.partition(". ")[2]
            for line in script.prompts[-1].splitlines()
            if ". " in line
        ]
        assert [word for word in written if word in words] == words[:-1]


def test_shots_are_routes_of_the_training_area(map2seq: Map2seq) -> None:
    _, script = play(First(map2seq), ["stop"], VelmaSettings(shots=2, draw="run"))
    task, one, other, route = script.prompts[0].split("\n\n")
    assert task.startswith("Follow")
    for example in (one, other):
        assert example.endswith(". stop")
        assert 20 <= example.count("forward") <= 60
        assert "-way intersection." in example
    assert route.endswith("1. forward\n2.")
    _, again = play(First(map2seq, 5), ["stop"], VelmaSettings(shots=2, draw="run"))
    assert again.prompts[0].split("\n\n")[:3] == [task, one, other], (
        "the same for every episode"
    )
    _, seeded = play(
        First(map2seq), ["stop"], VelmaSettings(shots=2, examples=1, draw="run")
    )
    assert seeded.prompts[0].split("\n\n")[1:3] != [one, other]


def test_several_steps_come_from_one_completion(map2seq: Map2seq) -> None:
    words = gold(map2seq, 0)

    def on(prompt: str) -> str:
        number = int(prompt.rpartition("\n")[2].rstrip("."))
        rest = words[number - 1 : number + 19]
        return "\n".join(
            [f" {rest[0]}", *(f"{number + i}. {w}" for i, w in enumerate(rest[1:], 1))]
        )

    settings = VelmaSettings(shots=0, decoding="complete")
    trajectory, script = play(First(map2seq), on, settings, max_steps=55)
    assert trajectory.ended == "stopped"
    assert all(isinstance(step.decision, Decision) for step in trajectory.steps)
    assert len(script.prompts) / len(trajectory.steps) < 0.25


def test_recorded_landmark_lists_are_read_for_every_route(map2seq: Map2seq) -> None:
    kept = [tidy_landmarks(task.episode.extra["landmarks"]) for task in map2seq.tasks]
    assert len(kept) == 800
    assert not any(landmarks.ignored for landmarks in kept)
    counts = [len(landmarks.names) for landmarks in kept]
    assert min(counts) == 0
    assert 2.0 < sum(counts) / len(counts) < 4.0
    assert max(counts) <= 10


class First:
    """A dataset whose first task is another's task of that number."""

    family = street.family
    max_steps = 55
    needs_stop = Map2seq.needs_stop
    eyes = Map2seq.eyes

    def __init__(self, full: Map2seq, number: int = 0) -> None:
        self.tasks = [full.tasks[number]]
        self.world = full.world
        self.graph = full.graph
        self.perceiver = full.perceiver
        self.demonstrations: Callable[..., Any] = full.demonstrations
