"""Walker: one growing text of yes or no: is the clause done, does a way lead there?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.small_house import SmallHouse
from wayword.agents.walker.agent import (
    Walker,
    WalkerSettings,
    content_words,
    direction_text,
)
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.settings import make
from wayword.worlds.indoor.graph import Neighbor

GOLDEN = Path(__file__).parent.parent / "golden"


class Player(Model):
    """Says yes to these: the clauses that are done (by place and words), and these directions."""

    name = "player"

    def __init__(self, done: Sequence[tuple[str, str]], routes: Sequence[str]) -> None:
        self._done = list(done)
        self._ways = list(routes)
        self.prompts: list[str] = []

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        assert isinstance(prompt, str)
        assert list(options) == ["no", "yes"]
        self.prompts.append(prompt)
        clause, *lines = prompt[prompt.rindex("Now: ") :].splitlines()
        if prompt.endswith("Done?"):
            yes = any(a in lines[0] and b in clause for a, b in self._done)
        else:
            signs = lines[-1].rpartition(": ")[2]
            yes = signs.startswith(self._ways[prompt.count("Went ")])
        return Choice(tuple(options), (-1.0, 0.0) if yes else (0.0, -1.0))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise AssertionError("walker asks for choices only")

    async def aclose(self) -> None:
        """Nothing to close."""


def play(done: Sequence[tuple[str, str]], *ways: str) -> tuple[Trajectory, Player]:
    """A walk to c in the small house, by an instruction of two clauses."""
    house = SmallHouse()
    player = Player(done, ways)
    first = house.tasks[0]
    episode = replace(
        first.episode, instruction="Go ahead, then turn right and walk to the lamp."
    )
    setup = Setup(
        house,
        lambda toolkit, actor: Walker(WalkerSettings(), toolkit),
        {"main": player},
    )
    return asyncio.run(rollout(replace(first, episode=episode), setup)), player


TO_THE_GOAL = [("called b", "ahead"), ("called c", "lamp")]


def test_clauses_and_routes_lead_to_the_goal() -> None:
    trajectory, player = play(TO_THE_GOAL, "ahead", "right")
    assert [place["viewpoint"] for place in trajectory.visited("agent")] == [
        "s",
        "b",
        "c",
        "c",
    ]
    assert trajectory.ended == "stopped"
    prompts = [prompt.splitlines()[-1] for prompt in player.prompts]
    assert [line.endswith("Done?") for line in prompts] == [
        True, False, True, True, False, False, False, False, True,
    ]  # fmt: skip


def test_a_clause_that_is_done_is_followed_by_the_next_at_the_same_place() -> None:
    _, player = play(TO_THE_GOAL, "ahead", "right")
    prompts = [p.splitlines()[-2:] for p in player.prompts if p.endswith("Done?")]
    assert [clause for clause, _ in prompts] == [
        "Now: Go ahead",
        "Now: Go ahead",
        "Now: turn right, walk to the lamp",
        "Now: turn right, walk to the lamp",
    ]
    steps = [place.rpartition(": ")[2].partition(",")[0] for _, place in prompts]
    assert [each.removesuffix(". Done?") for each in steps] == [
        "no steps", "one step", "no steps", "one step",
    ]  # fmt: skip


def test_the_trajectory_says_which_clause_is_followed_at_each_step() -> None:
    trajectory, _ = play(TO_THE_GOAL, "ahead", "right")
    assert trajectory.noted("clauses") == [
        {"texts": ["Go ahead", "turn right, walk to the lamp"], "begins": [0, 15]}
    ]
    assert [(each["number"], each["done"]) for each in trajectory.noted("followed")] == [
        (1, []), (2, [1]), (2, [1, 2]),
    ]  # fmt: skip


def test_every_prompt_extends_the_last_byte_for_byte() -> None:
    _, player = play([("called d", "ahead"), ("called c", "lamp")], *AROUND)
    assert len(player.prompts) > 10
    for last, prompt in zip(player.prompts, player.prompts[1:], strict=False):
        assert prompt.startswith(last)


AROUND = ("ahead", "ahead", "behind", "left")


def test_the_prompt_reads_as_in_the_golden_file() -> None:
    _, player = play([("called d", "ahead"), ("called c", "lamp")], *AROUND)
    golden = (GOLDEN / "walker_step4.txt").read_text(encoding="utf-8")
    assert player.prompts[-1] + "\n" == golden


def test_places_that_were_walked_are_marked() -> None:
    _, player = play([], *AROUND)
    seen = [prompt for prompt in player.prompts if prompt.count("Went ") == 3]
    routes = seen[-1].split("Done? no\n")[-1].splitlines()
    assert [way for way in routes if "seen" in way] == ["b south: ahead, seen?"]
    assert [way for way in routes if "back" in way] == ["b north: behind, back?"]


def signs(prompt: str) -> str:
    return prompt.splitlines()[-1].rpartition(": ")[2]


def test_a_turn_is_shown_the_nearest_way_while_its_clause_begins() -> None:
    _, player = play(TO_THE_GOAL, "ahead", "right")
    assert [signs(p) for p in player.prompts if ", turn" in signs(p)] == [
        "right, turn, at all?"
    ]


def test_what_the_clause_names_is_reported_where_it_stands() -> None:
    _, player = play(TO_THE_GOAL, "ahead", "right")
    place = next(
        p for p in player.prompts if p.endswith("Done?") and "the lamp\nHere" in p
    )
    assert signs(place) == "no steps, by all. Done?"


@pytest.mark.parametrize(
    ("turn", "elevation", "distance", "words"),
    [
        (0, 0, 1, "ahead"),
        (-30, 0, 1, "slightly left"),
        (60, 0, 3.5, "slightly right far"),
        (90, 20, 1, "right up"),
        (-140, -20, 4, "sharp left down far"),
        (180, 0, 1, "behind"),
    ],
)
def test_directions(turn: float, elevation: float, distance: float, words: str) -> None:
    assert (
        direction_text(Neighbor("x", (350 + turn) % 360, elevation, distance), 350.0)
        == words
    )


def test_a_caption_is_reported_in_its_content_words_once() -> None:
    assert content_words("A red chair beside the red table.", {"a", "the", "beside"}) == [
        "red", "chair", "table",
    ]  # fmt: skip


def test_it_needs_a_dataset_with_words_for_places() -> None:
    with pytest.raises(UsageError, match="set a perceiver"):
        Walker(WalkerSettings(), Toolkit())


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="at least 0"):
        make(WalkerSettings, {"words": -1}, "walker")
