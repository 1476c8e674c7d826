"""Which clause belongs to which gold step: as written by the generator, or laid along the path."""

from __future__ import annotations

from weights.sft.alignment import GoldStep, align, align_by_features

from helpers.small_house import SmallHouse
from wayword.agents.clauses import Clause, clauses
from wayword.agents.velma.legs import legs
from wayword.core.action import STOP, Action
from wayword.core.episode import PathReference
from wayword.datasets.houses import Houses
from wayword.datasets.towns import Towns
from wayword.training.examples import (
    ClauseEnds,
    align_by_turns,
    align_clauses,
    turns_of,
)


def step(
    turn: float = 0.0, slope: float = 0.0, words: str = "", ahead: str = ""
) -> GoldStep:
    return GoldStep(turn, slope, frozenset(words.split()), frozenset(ahead.split()))


def laid(text: str, *steps: GoldStep) -> list[int]:
    """The clause of each step, from 1."""
    found = align_by_features(clauses(text), steps)
    return [found.at(place) for place in range(len(steps))]


def test_a_place_where_a_clause_ends_belongs_to_the_next() -> None:
    found = ClauseEnds((2, 4))
    assert [found.at(place) for place in range(5)] == [1, 1, 2, 2, 2]


def test_objects_that_are_named_pull_a_clause_to_their_step() -> None:
    text = "Go to the sofa. Go into the kitchen."
    sofa = step(words="sofa lamp")
    kitchen = step(words="kitchen oven")
    assert laid(text, sofa, kitchen, kitchen) == [1, 2, 2]
    assert laid(text, sofa, sofa, kitchen) == [1, 1, 2]


def test_stairs_and_turns_pull_too() -> None:
    text = "Walk up the stairs. Take a left into the hall."
    assert laid(text, step(slope=30), step(slope=30), step(turn=-80)) == [1, 1, 2]
    assert laid(text, step(slope=30), step(turn=-80), step()) == [1, 2, 2]


def test_clauses_never_go_back() -> None:
    found = laid(
        "Enter the den. Enter the attic. Enter the den.", *[step(words="den")] * 4
    )
    assert found == sorted(found)


def test_a_generated_house_knows_its_stretches() -> None:
    houses = Houses("train", None, Houses.Settings(houses=3, episodes=9))
    for task in houses.tasks:
        path = task.reference.path  # type: ignore[attr-defined]
        found = clauses(task.episode.instruction)
        placed = align(houses, task, found, len(path))
        _, number, _ = task.episode.id.rsplit("_", 2)
        stretches = houses.route(task.episode.scene, int(number)).stretches
        assert placed.ends == tuple(stretch.end for stretch in stretches)


def test_a_generated_town_knows_where_it_turns() -> None:
    towns = Towns("train", None, Towns.Settings(towns=2, episodes=6))
    for task in towns.tasks:
        assert isinstance(task.reference, PathReference)
        path = task.reference.path
        found = [leg.clause for leg in legs(task.episode.instruction)]
        placed = align(towns, task, found, len(path))
        assert len(placed.ends) == len(found)
        town = towns.town(task.episode.scene)
        corners = [town.graph.index[path[end]] for end in placed.ends[:-1]]
        assert all(town.is_junction(corner) for corner in corners)
        assert placed.ends[-1] == len(path) - 1


def test_clauses_that_share_a_stretch_divide_it() -> None:
    class Told:
        def narrated(self, task: object) -> list[tuple[int, int]]:
            return [(0, 2), (20, 6)]

    shared = (Clause("a", 0), Clause("b", 20), Clause("c", 30))
    assert align_clauses(Told(), None, shared, 7) == ClauseEnds((2, 4, 6))  # type: ignore[arg-type]


def test_in_streets_a_clause_with_a_turn_ends_where_it_is_made() -> None:
    forward = Action("forward")
    left = Action("left")
    right = Action("right")
    actions = [forward] * 4 + [left] + [forward] * 3 + [right] + [forward] * 5 + [STOP]
    made = turns_of(actions)
    assert made == [(4, "left"), (7, "right")]
    text = "Go to the bank. Turn left at the light. Go right at the park. Stop by the deli."
    found = align_by_turns([leg.clause for leg in legs(text)], made, 13)
    assert found.ends == (4, 7, 12)


def test_a_turn_that_was_not_made_shares_its_stretch() -> None:
    text = "Turn left at the light. Turn right at the bank. Stop by the deli."
    found = align_by_turns([leg.clause for leg in legs(text)], [(5, "right")], 11)
    assert found.ends[1] == 5
    assert found.ends[2] == 10
    assert found.ends == tuple(sorted(found.ends))


def test_views_with_captions_lay_published_clauses_along_the_path() -> None:
    house = SmallHouse()
    task = house.tasks[0]
    places = len(house.tasks[0].reference.path)
    texts = [
        Clause("Wait.", 0),
        Clause("Walk on past many things and more of them.", 6),
    ]
    by_words = align_clauses(house, task, texts, places)
    assert align(house, task, texts, places) != by_words
    house.perceiver = lambda: None  # type: ignore[method-assign,assignment,return-value]
    assert align(house, task, texts, places) == by_words
