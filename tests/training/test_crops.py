"""Walks cut into single decisions: every label once, each with what it is decided by."""

from __future__ import annotations

from recipes.language.batches import cropped

from helpers.small_street import PARK_AND_SHOP, Eyes, SmallStreet
from helpers.training_walks import played
from wayword.datasets.houses import Houses
from wayword.datasets.towns import Towns
from wayword.training.examples import Example


def labels(*examples: Example) -> list[tuple[str, str]]:
    """What was taken, as the text has it at its place, and the labels."""
    found = []
    for one in examples:
        for choice in one.choices:
            assert one.text[choice.at :].startswith(choice.taken)
            found.append((choice.taken, choice.label))
    return found


def test_pieces_hold_every_label_once_and_a_place_each() -> None:
    house = Houses("train", None, Houses.Settings(houses=1, episodes=1))
    task = house.tasks[0]
    whole = played("walker", {}, house, task)
    pieces = cropped(whole)
    assert len(pieces) == len(task.reference.path)  # type: ignore[attr-defined]
    assert labels(*pieces) == labels(whole)
    assert all(piece.text.startswith("Now: ") for piece in pieces)
    assert not any("Follow the instruction" in piece.text for piece in pieces)


def test_streets_are_cut_where_a_leg_begins() -> None:
    towns = Towns("train", None, Towns.Settings(towns=1, episodes=1))
    whole = played("velma", {"shots": 0, "follow": True}, towns, towns.tasks[0])
    pieces = cropped(whole)
    assert len(pieces) > 1
    assert labels(*pieces) == labels(whole)
    assert all(piece.text.startswith("Now: ") for piece in pieces)


def test_a_walk_without_clauses_stays_whole() -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=["a park", "Corner Shop"])
    whole = played("velma", {"shots": 0}, street, street.tasks[0])
    assert cropped(whole) == [whole]
