"""Jobs for several: C-WAH's kinds and counts, told fully, possible, and the same every time."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest

from helpers.rehearsing import play
from wayword.core.errors import UsageError
from wayword.core.visible import join_words
from wayword.datasets.ma_wah import (
    BOOK,
    FEWEST_OBJECTS,
    JOBS,
    KINDS,
    MOST_OBJECTS,
    PER_TYPE,
    SPACING,
    MaWah,
    count_phrase,
    instruct,
)
from wayword.datasets.procedural.homes.chores import spoken_name
from wayword.worlds.household.goals import Held, HouseholdReference, Inside
from wayword.worlds.household.verbs import Body


def jobs(episodes: int = 20, homes: int = 5, **settings: int | str | float) -> MaWah:
    given = {"episodes": episodes, "homes": homes, **settings}
    return MaWah(settings=MaWah.Settings(**given))  # type: ignore[arg-type]


def goals(reference: object) -> HouseholdReference:
    assert isinstance(reference, HouseholdReference)
    return reference


def test_jobs_ask_for_as_much_as_c_wah_does_and_none_of_it_is_done_at_first() -> None:
    dataset = jobs()
    for task in dataset.tasks:
        reference = goals(task.reference)
        assert FEWEST_OBJECTS <= reference.parts() <= MOST_OBJECTS
        assert all(1 <= goal.parts <= PER_TYPE for goal in reference.goals)
        places = {g.receptacles for g in reference.goals if isinstance(g, Inside)}
        assert len(places) == 1, "all things go to one and the same piece"
        assert (reference.kind == BOOK) == any(
            isinstance(g, Held) for g in reference.goals
        )
        world = dataset.world(task.episode)
        world.reset(task.episode)
        assert reference.met(world.state()) == 0
    assert Counter(
        goals(task.reference).kind for task in dataset.tasks
    ) == dict.fromkeys(KINDS, 4)


def test_the_instruction_names_every_thing_the_place_and_the_room() -> None:
    dataset = jobs()
    for task in dataset.tasks:
        reference = goals(task.reference)
        text = task.episode.instruction
        world = dataset.world(task.episode)
        for goal in reference.goals:
            assert isinstance(goal, Inside | Held)
            kind = goal.objects[0].partition("|")[0]
            wanted = count_phrase(spoken_name(kind), goal.parts)
            assert wanted in text
            if isinstance(goal, Inside):
                index = world.layout.index[goal.receptacles[0]]
                place = world.scene.objects[index]
                room = world.layout.room_at(place.x, place.y)
                assert f"the {spoken_name(place.type)} in the {room}" in text
                alike = [o for o in world.scene.objects if o.type == place.type]
                rooms = [world.layout.room_at(o.x, o.y) for o in alike]
                assert rooms.count(room) == 1, "so there is only one piece it can mean"
        assert "agent_1 and agent_2" in text


def test_words() -> None:
    assert count_phrase("wine glass", 1) == "a wine glass"
    assert count_phrase("egg", 1) == "an egg"
    assert count_phrase("loaf of bread", 2) == "two loaves of bread"
    assert join_words(["a", "b", "c"]) == "a, b and c"
    assert join_words(["a"]) == "a"
    assert instruct("Set the table", "a fork", "on the desk", (), ("agent",)) == (
        "Set the table: put a fork on the desk."
    )
    said = instruct("Read", "a cup", "on the desk", ("book",), ("agent_1", "agent_2"))
    assert said == (
        "Read: put a cup on the desk. At the end, one of you must hold a book. "
        "agent_1 and agent_2 do this together."
    )
    assert instruct("Read", "", "", ("book", "pen"), ("agent",)) == (
        "Read. At the end, you must hold a book. At the end, you must hold a pen."
    )
    assert set(JOBS) == set(KINDS)


@pytest.mark.parametrize("agents", [1, 2, 4])
def test_everybody_starts_at_a_place_of_their_own_with_two_hands(agents: int) -> None:
    dataset = jobs(episodes=10, agents=agents)
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        world.reset(task.episode)
        assert world.actors == tuple(f"agent_{n}" for n in range(1, agents + 1))
        people = list(world.house.actors.values())
        assert all(person.body.inventory_capacity == 2 for person in people)
        for one, other in itertools.combinations(people, 2):
            assert math.dist((one.x, one.y), (other.x, other.y)) >= SPACING


def test_things_have_one_name_for_all_but_each_sees_its_own_view() -> None:
    dataset = jobs()
    apart = 0
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        world.reset(task.episode)
        views = [
            {o.name for o in world.observe(actor).objects} for actor in world.actors
        ]
        apart += views[0] != views[1]
        for actor, view in zip(world.actors, views, strict=True):
            ids = {world.object_id(actor, name) for name in view}
            others = {
                world.object_id(other, name) for other in world.actors for name in view
            }
            assert ids == others
            known = world.house.actors[actor].discovered
            assert {i for i in range(len(known)) if known[i]} >= {
                world.layout.index[i] for i in ids if i is not None
            }
    assert apart > len(dataset.tasks) / 2


def test_one_actor_that_knows_the_house_can_do_it_alone() -> None:
    dataset = jobs(episodes=10, agents=1, actions="all")
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        reference = goals(task.reference)
        world.reset(task.episode)
        play(world, "agent_1", reference)
        assert reference.met(world.state()) == reference.parts(), task.episode.id


def test_the_same_episode_every_time_and_for_any_number_of_episodes() -> None:
    few = jobs(episodes=3)
    many = jobs(episodes=20)
    random.seed(1)
    assert list(few.tasks) == list(many.tasks[:3])
    one, two = (each.world(each.tasks[2].episode).scene for each in (few, many))
    assert one.objects == two.objects
    train = MaWah("generated_train", None, few.settings)
    assert train.tasks[0].episode.scene != few.tasks[0].episode.scene


def test_jobs_for_more_actors_are_the_same_jobs() -> None:
    two = jobs(episodes=10, agents=2)
    three = jobs(episodes=10, agents=3)
    for task, other in zip(two.tasks, three.tasks, strict=True):
        assert goals(task.reference).goals == goals(other.reference).goals


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="agents must be at most 4, got 5"):
        MaWah.Settings(agents=5)
    with pytest.raises(UsageError, match="did you mean 'put_fridge'"):
        MaWah.Settings(kind="put_frige")
    with pytest.raises(UsageError, match="ma_wah has no split 'test'"):
        MaWah("test")
    with pytest.raises(UsageError, match="set --data FOLDER"):
        MaWah("logs")
    with pytest.raises(UsageError, match="only a team can solve it"):
        jobs().demonstrations(1, 0)
    assert isinstance(MaWah.Settings().make_body(), Body)
    assert "move_ahead" not in MaWah.Settings(actions="high").make_body().actions
