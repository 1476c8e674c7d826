"""The promises of a world."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import is_dataclass

from wayword.core.action import STOP, Action
from wayword.core.dataset import Dataset
from wayword.core.episode import Episode
from wayword.core.world import Observation, World


def check_world(dataset: Dataset, episodes: int = 3, steps: int = 15, seed: int = 0) -> None:
    """Twins stay twins, looking changes nothing, and only what is on the menu can be done."""
    for task in dataset.tasks[:episodes]:
        _twins_agree(dataset, task.episode, steps, random.Random(seed))
        _refuses_what_is_off_the_menu(_started(dataset, task.episode))
        _stops(_started(dataset, task.episode))


def _started(dataset: Dataset, episode: Episode) -> World:
    world = dataset.world(episode)
    world.reset(episode)
    return world


def _twins_agree(dataset: Dataset, episode: Episode, steps: int, rng: random.Random) -> None:
    one, two = _started(dataset, episode), _started(dataset, episode)
    assert one.actors == two.actors, f"{episode.id}: twin worlds have the same actors"
    for _ in range(steps):
        for actor in one.actors:
            if one.done(actor):
                continue
            seen, menu = one.observe(actor), one.menu(actor)
            _is_observation(seen)
            assert seen == one.observe(actor), "observing changes nothing"
            assert seen == two.observe(actor), "the same actions lead to the same observation"
            choices = [action for action in menu.actions if action != STOP]
            assert list(menu.actions) == list(two.menu(actor).actions), "menus agree"
            if not choices:
                continue
            action = choices[rng.randrange(len(choices))]
            assert action in menu, f"{action} is listed, so it is on the menu"
            assert one.step(actor, action) == two.step(actor, action), f"{action}: same feedback"
            _is_place(one.where(actor))
            assert one.where(actor) == two.where(actor), "and to the same place"
    json.dumps(dict(one.state()))
    assert one.state() == two.state(), "and to the same final state"
    one.reset(episode)
    fresh = _started(dataset, episode)
    assert one.state() == fresh.state(), "reset starts the episode anew"


def _is_observation(seen: Observation) -> None:
    assert isinstance(seen, Observation), "an observation is a core.world.Observation"
    assert is_dataclass(seen), "an observation is a dataclass"


def _is_place(where: Mapping[str, object]) -> None:
    json.dumps(dict(where))
    heading = where.get("heading")
    if isinstance(heading, int | float):
        assert 0 <= heading < 360, f"headings lie in [0, 360), not {heading}"


def _refuses_what_is_off_the_menu(world: World) -> None:
    actor = world.actors[0]
    before = dict(world.state())
    for action in (Action("goto", ("no such place",)), Action("fly"), Action("stop", ("a", "b"))):
        if action in world.menu(actor):
            continue
        try:
            world.step(actor, action)
        except ValueError:
            assert dict(world.state()) == before, f"refusing {action} changes nothing"
        else:
            raise AssertionError(f"{action} is not on the menu, yet the world carried it out")


def _stops(world: World) -> None:
    for actor in world.actors:
        menu = world.menu(actor)
        ending = STOP if STOP in menu else Action("stop", ("nothing",))
        assert ending in menu, "every actor can stop at any time"
        assert not world.done(actor), "nobody has stopped at the start"
        world.step(actor, ending)
        assert world.done(actor), "who stops is done"
