"""What an actor perceives is what the package's own view shows, square by square."""

from __future__ import annotations

import random
from typing import Any

import pytest

from helpers.small_grid import drawn
from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.datasets.grounding import LEVELS
from wayword.verbalize.babyai import around, describe, place
from wayword.worlds.babyai.level import HEADINGS, visible_squares
from wayword.worlds.babyai.world import BabyAIWorld

MOVES = (
    "turn_left",
    "turn_right",
    "move_ahead",
    "move_ahead",
    "pick_up",
    "drop",
    "toggle",
)


def expected(env: Any) -> set[tuple[str, str, int, int, str]]:
    """The things in view, decoded by the package: an independent way to them."""
    from minigrid.core.grid import Grid

    grid, _ = Grid.decode(type(env).gen_obs(env)["image"])
    found = set()
    for i in range(7):
        for j in range(7):
            thing = grid.get(i, j)
            if (i, j) != (3, 6) and thing is not None and thing.type != "wall":
                state = ""
                if thing.type == "door":
                    shut = "locked" if thing.is_locked else "closed"
                    state = "open" if thing.is_open else shut
                found.add((thing.color, thing.type, 6 - j, i - 3, state))
    return found


@pytest.mark.parametrize(
    "level", ["BossLevelNoUnlock", "KeyCorridorS3R3", "UnblockPickup"]
)
def test_the_view_is_the_packages_own(level: str) -> None:
    world = BabyAIWorld(level)
    for seed in range(3):
        world.reset(Episode("1", "?", level, {"seed": seed}))
        rng = random.Random(seed)
        for _ in range(60):
            if world.done("agent"):
                break
            seen = world.observe("agent")
            env = world.level.env
            told = {(t.color, t.kind, t.ahead, t.right, t.state) for t in seen.objects}
            assert told == expected(env)
            assert seen.heading == HEADINGS[env.agent_dir]
            for thing in seen.objects:
                real = world.names.objects[thing.name]
                x, y = world.level.find(real) or (-1, -1)
                assert env.relative_coords(x, y) == (thing.right + 3, 6 - thing.ahead)
            _, mask = env.gen_obs_grid()
            assert len(set(visible_squares(world.level))) == mask.sum()
            world.step("agent", Action(rng.choice(MOVES)))


@pytest.mark.parametrize("level", LEVELS)
def test_every_square_in_view_is_the_packages(level: str) -> None:
    """Walls and empty squares too, and all that is hidden, at each step of a random walk."""
    from minigrid.core.constants import OBJECT_TO_IDX

    world = BabyAIWorld(level)
    rng = random.Random(level)
    for seed in range(4):
        world.reset(Episode("1", "?", level, {"seed": seed}))
        while not world.done("agent") and world.state()["steps"] < 80:
            env = world.level.env
            image = type(env).gen_obs(env)["image"][:, :, 0]
            ours = []
            for ahead in range(7):
                for right in range(-3, 4):
                    seen = world.level.view(ahead, right)
                    code = 1 if seen is None else OBJECT_TO_IDX[seen.type]
                    ours.append(
                        code if world.level.visible[right + 3, 6 - ahead] else 0
                    )
            theirs = [int(image[i, 6 - ahead]) for ahead in range(7) for i in range(7)]
            ours[3] = theirs[3] = 0  # there the package shows what is carried
            assert ours == theirs
            world.step("agent", Action(rng.choice(MOVES)))


def test_two_of_a_kind_keep_their_own_names() -> None:
    world = drawn("r.v.r. ...... r.r...")
    first = {(t.ahead, t.right): t.name for t in world.observe("agent").objects}
    assert first == {
        (0, -2): "red_ball_1",
        (2, 0): "red_ball_2",
        (0, 2): "red_ball_3",
        (2, 2): "red_ball_4",
    }
    for verb in ("turn_left", "turn_right"):
        world.step("agent", Action(verb))
    assert {(t.ahead, t.right): t.name for t in world.observe("agent").objects} == first


def test_walls_and_things_are_told_in_steps() -> None:
    world = drawn(".>.r.. ...... .l#...")
    assert describe(world.observe("agent")) == (
        "You face east.\nYou hold nothing.\n"
        "Walls: 5 steps straight ahead, 1 step to the left. No wall in view to the right.\n"
        "You see: red_ball_1 (2 steps ahead); red_door_1 (locked, 2 steps to the right)."
    )


def test_what_is_held_is_told_and_is_not_in_view() -> None:
    world = drawn(".>k... ......")
    world.step("agent", Action("pick_up"))
    seen = world.observe("agent")
    assert describe(seen).splitlines()[1] == "You hold red_key_1."
    assert around(seen).endswith("You see no objects.")


@pytest.mark.parametrize(
    ("ahead", "right", "words"),
    [
        (1, 0, "right ahead"),
        (3, 0, "3 steps ahead"),
        (0, -1, "1 step to the left"),
        (1, 2, "1 step ahead and 2 to the right"),
    ],
)
def test_places_in_words(ahead: int, right: int, words: str) -> None:
    assert place(ahead, right) == words
