"""Games of ALFWorld as worlds, with an engine of a few lines in place of TextWorld's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from helpers.textgames import Fridge
from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.core.errors import DataError
from wayword.worlds.alfworld.world import GameWorld, action_of

GAME = {"place": "fridge 1"}
ACTOR = "agent"


class Broken:
    """An engine that cannot load its game."""

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return a failure."""
        return {"error": "KeyError: 'val1'"}


def started_world(start: Any = Fridge) -> GameWorld:
    """A game at its start."""
    world = GameWorld(GAME, start)
    world.reset(Episode("pick-Apple/trial_1", "Take the apple.", "home", {}))
    return world


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("go to fridge 1", "go_to[fridge 1]"),
        ("take apple 1 from countertop 2", "take[apple 1, countertop 2]"),
        ("move apple 1 to fridge 1", "move[apple 1, fridge 1]"),
        # Versions before 0.4.
        ("put apple 1 in/on fridge 1", "move[apple 1, fridge 1]"),
        ("heat apple 1 with microwave 1", "heat[apple 1, microwave 1]"),
        ("slice apple 1 with butterknife 1", "slice[apple 1, butterknife 1]"),
        ("use desklamp 1", "use[desklamp 1]"),
        ("examine fridge 1", "examine[fridge 1]"),
        ("look", "look"),
        # A command of a version to come.
        ("polish apple 1", "do[polish apple 1]"),
    ],
)
def test_a_command_of_the_engine_is_an_action(command: str, action: str) -> None:
    assert str(action_of(command)) == action


def test_the_menu_has_the_commands_of_the_engine_and_a_stop() -> None:
    world = started_world()
    assert [str(each) for each in world.action_space(ACTOR).listed] == [
        "go_to[fridge 1]",
        "inventory",
        "stop",
    ]


def test_a_game_ends_when_the_engine_says_that_it_is_won() -> None:
    world = started_world()
    world.step(ACTOR, Action("go_to", ("fridge 1",)))
    assert not world.done(ACTOR)
    world.step(ACTOR, Action("take", ("apple 1", "fridge 1")))
    assert world.done(ACTOR)
    assert world.state()["won"]


def test_a_stop_ends_a_game_that_is_not_won() -> None:
    world = started_world()
    world.step(ACTOR, STOP)
    assert world.done(ACTOR)
    assert not world.state()["won"]


def test_an_action_that_the_engine_does_not_list_is_refused() -> None:
    with pytest.raises(ValueError, match="not on the menu"):
        started_world().step(ACTOR, Action("take", ("apple 1", "fridge 1")))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))]
)
def test_a_copy_goes_on_from_the_same_point_with_an_engine_of_its_own(
    copied: Any,
) -> None:
    world = started_world()
    world.step(ACTOR, Action("go_to", ("fridge 1",)))
    other = copied(world)
    assert other.observe(ACTOR) == world.observe(ACTOR)
    other.step(ACTOR, Action("take", ("apple 1", "fridge 1")))
    assert other.done(ACTOR)
    # The original is where it was.
    assert not world.done(ACTOR)
    world.step(ACTOR, Action("take", ("apple 1", "fridge 1")))
    assert world.done(ACTOR)


def test_a_game_that_cannot_be_loaded_is_one_line_with_its_episode() -> None:
    with pytest.raises(DataError, match=r"pick-Apple/trial_1.*val1"):
        started_world(Broken)
