"""Any actions at all leave a sound house, and replaying them gives the same text to the byte."""

from __future__ import annotations

import json
import random
from collections import Counter

import numpy as np
import pytest

from helpers.invariants import violations
from helpers.rooms_scenes import act, flat, free_poses, random_house, start
from helpers.sampling import LONG
from wayword.core.action import Action
from wayword.verbalize.household import describe, feedback
from wayword.worlds.household.verbs import HIGH_LEVEL, LOW_LEVEL, VERBS, Body
from wayword.worlds.household.world import HouseholdWorld

OPENERS = frozenset(("open", "close", "heat", "cool", "clean", "go_check", "go_put"))
HANDS = tuple(verb for verb in LOW_LEVEL if VERBS[verb].slots)
STEPS = 10_000 if LONG else 2_000


def draw(world: HouseholdWorld, actor: str, rng: random.Random) -> Action:
    """Mostly steps and turns, often an act upon something known, now and then a long errand."""
    dice = rng.random()
    if dice < 0.45:
        return Action(
            rng.choice(("move_ahead", "move_ahead", "turn_left", "pan_right"))
        )
    if dice < 0.47:
        return Action("chat", (f"message {rng.randrange(100)}",))
    verb = VERBS[rng.choice(HANDS if dice < 0.98 else HIGH_LEVEL)]
    me = world.house.actors[actor]
    known = [me.names.of[i] for i in me.names.order] or ["unicorn_1"]
    near = [me.names.of[i] for i in me.view.entities] or known
    words = []
    for slot in verb.slots:
        if slot == "held" and me.hands and rng.random() < 0.8:
            words.append(me.names.of[rng.choice(me.hands)])
        elif slot == "room":
            words.append(rng.choice(world.scene.rooms).name)
        else:
            words.append(rng.choice(near if rng.random() < 0.8 else known))
    return Action(verb.name, tuple(words))


def act_and_describe(
    world: HouseholdWorld, actor: str, action: Action
) -> tuple[bool, str]:
    """Whether an action was done, and the words the actor gets for it."""
    outcome = world.step(actor, action)
    json.dumps(outcome.details)  # plain values only, or it could not be recorded
    return outcome.ok, f"{feedback(outcome)}\n{describe(world.observe(actor))}"


def begin(seed: int) -> HouseholdWorld:
    scene = random_house(seed, rooms=4 + seed % 3, things=40)
    body = Body(
        inventory_capacity=1 + seed % 3,
        view_distance=4.0,
        pan_degrees=30 if seed % 4 else 0,
    )
    poses = free_poses(scene, 2 + seed % 2, seed)
    return start(scene, *poses, body=body, shared_names=bool(seed % 2))


@pytest.mark.parametrize("seed", range(10))
def test_random_steps_break_nothing_and_replay_to_the_byte(seed: int) -> None:
    world = begin(seed)
    rng = random.Random(seed)
    assert len(world.actors) >= 2
    taken: list[tuple[str, Action, str]] = []
    counts: Counter[str] = Counter()
    for n in range(STEPS):
        actor = world.actors[n % len(world.actors)]
        action = draw(world, actor, rng)
        assert action in world.action_space(actor)
        before = world.house.entities.open.copy()
        done, words = act_and_describe(world, actor, action)
        taken.append((actor, action, words))
        counts[action.name] += done
        if action.name not in OPENERS:
            assert np.array_equal(before, world.house.entities.open), action
        if n % 20 == 0 or action.name in HIGH_LEVEL:
            assert not violations(world.house), (n, action)
    assert not violations(world.house)
    # Not a walk of refusals: most kinds of action were done, and many times.
    assert len(+counts) >= (14 if LONG else 9), counts
    assert counts.total() > STEPS / 5
    again = begin(seed)
    for actor, action, words in taken:
        assert act_and_describe(again, actor, action)[1] == words
    assert json.dumps(again.state()) == json.dumps(world.state())


def test_the_checker_finds_what_is_wrong() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    house = world.house
    me = world.house.actors["agent"]
    assert violations(house) == []
    house.stand(me, 2.0, 2.5)
    assert any("furniture" in line for line in violations(house))
    house.stand(me, 2.0, 1.5)
    me.hands.append(house.layout.index["mug"])
    assert any("hands" in line for line in violations(house))
    me.hands.clear()
    house.entities.inside[house.layout.index["bowl"]] = house.layout.index["bowl"]
    assert any("inside itself" in line for line in violations(house))


def test_a_high_level_action_is_the_same_as_its_low_level_ones() -> None:
    """The errand, and the list it reports played by hand, end in the same state and text."""
    skills = [
        *(
            "go_check fridge_1",
            "go_grab apple_1",
            "heat apple_1 microwave_1",
            "go_put table_1",
        ),
        *(
            "go_grab mug_1",
            "clean mug_1 sink_1",
            "go_explore hall",
            "goto door_1",
            "goto box_1",
        ),
    ]
    full, parts = (start(flat(), (2.0, 1.5, 0.0)) for _ in range(2))
    for world in (full, parts):
        for _ in range(4):
            act(world, "turn_right")
    for skill in skills:
        done = act(full, skill)
        assert done.ok, (skill, done)
        for step in done.details["low_level"]:
            assert act(parts, step.replace("[", " ").replace(",", "").rstrip("]")).ok
        assert describe(full.observe("agent")) == describe(parts.observe("agent"))
    ends = [world.state() for world in (full, parts)]
    counts = [end["actors"]["agent"].pop("actions") for end in ends]
    assert counts[0] == 4 + len(skills)
    assert counts[1] == ends[0]["actors"]["agent"]["low_level"] > 50
    assert ends[0] == ends[1]
