"""Walker: one growing text, the clause that is followed, and a letter for the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.small_house import SmallHouse
from wayword.agents.walker import Walker, WalkerSettings, direction, gist, letter
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.worlds.indoor.graph import Neighbor

GOLDEN = Path(__file__).parent.parent / "golden"


class Letters:
    """Chooses the given options in turn, and keeps prompts and options."""

    name = "letters"

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self.prompts: list[str] = []
        self.options: list[list[str]] = []

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        assert isinstance(prompt, str)
        self.prompts.append(prompt)
        self.options.append(list(options))
        word = self._words.pop(0)
        return Choice(tuple(options), tuple(0.0 if o == word else -1.0 for o in options))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise AssertionError("walker asks for choices only")

    async def aclose(self) -> None:
        """Nothing to close."""


def play(*words: str) -> tuple[Trajectory, Letters]:
    """A walk to c in the small house, by an instruction of two clauses."""
    house, letters = SmallHouse(), Letters(words)
    first = house.tasks[0]
    episode = replace(first.episode, instruction="Go ahead, then walk to the lamp.")
    setup = Setup(
        house, lambda toolkit, actor: Walker(WalkerSettings(), toolkit), {"main": letters}
    )
    return asyncio.run(rollout(replace(first, episode=episode), setup)), letters


def test_clauses_and_letters_walk_to_the_goal() -> None:
    trajectory, letters = play("same", "A", "next", "C", "stop")
    assert [place["viewpoint"] for place in trajectory.visited("agent")] == ["s", "b", "c", "c"]
    assert trajectory.ended == "stopped"
    assert letters.options == [
        ["same", "next", "stop"], ["A"], ["same", "next", "stop"], ["A", "B", "C", "D"],
        ["same", "stop"],
    ]  # fmt: skip


def test_the_clause_that_is_followed_is_written_before_the_ways() -> None:
    _, letters = play("same", "A", "next", "C", "stop")
    ways = letters.prompts[3].split("Here: ")[-1].splitlines()
    assert ways[1] == "Now: next: walk to the lamp"
    assert ways[2].startswith(" A ")


def test_every_prompt_extends_the_last_byte_for_byte() -> None:
    words = ("same", "A", "same", "C", "next", "A", "same", "C", "stop")
    _, letters = play(*words)
    assert len(letters.prompts) == len(words)
    for last, prompt, word in zip(letters.prompts, letters.prompts[1:], words, strict=False):
        assert prompt.startswith(f"{last} {word}")


def test_the_prompt_reads_as_in_the_golden_file() -> None:
    _, letters = play("same", "A", "next", "C", "same", "A", "same", "A", "stop")
    golden = (GOLDEN / "walker_step4.txt").read_text(encoding="utf-8")
    assert letters.prompts[7] + "\n" == golden


def test_places_that_were_walked_are_marked() -> None:
    _, letters = play("same", "A", "same", "C", "same", "A", "same", "A", "stop")
    last = letters.prompts[7].split("Here: ")[-1]
    marks = [line.partition("(")[2].rstrip(")") for line in last.splitlines()[2:-1]]
    assert sorted(marks) == ["", "", "back", "seen"]


@pytest.mark.parametrize(
    ("turn", "elevation", "distance", "words"),
    [
        (0, 0, 1, "ahead"),
        (-30, 0, 1, "slightly left"),
        (60, 0, 3.5, "half right far"),
        (90, 20, 1, "right up"),
        (-140, -20, 4, "sharp left down far"),
        (180, 0, 1, "behind"),
    ],
)
def test_directions(turn: float, elevation: float, distance: float, words: str) -> None:
    assert direction(Neighbor("x", (350 + turn) % 360, elevation, distance), 350.0) == words


def test_a_caption_is_told_in_its_content_words_once() -> None:
    assert gist("A red chair beside the red table.", {"a", "the", "beside"}) == [
        "red", "chair", "table",
    ]  # fmt: skip


def test_letters_go_on_after_z() -> None:
    assert [letter(number) for number in (0, 25, 26, 27, 52)] == ["A", "Z", "AA", "AB", "BA"]


def test_it_needs_a_dataset_with_words_for_places() -> None:
    with pytest.raises(UsageError, match="has no perceiver"):
        Walker(WalkerSettings(), Toolkit())


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="at least 0"):
        WalkerSettings(words=-1)
