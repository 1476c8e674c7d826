"""MA-Household: TEACh's tasks are judged rightly, drawn unsolved, planned so that they are met."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from helpers.rehearsing import rehearse
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback, Observation
from wayword.datasets.ma_household import MaHousehold
from wayword.datasets.procedural.homes.episodes import HomesSettings
from wayword.datasets.procedural.homes.objects import names_of
from wayword.datasets.sources.teach import (
    CLASSES,
    Dish,
    Portion,
    Served,
    Unbuildable,
    compile_task,
    definitions,
    of_type,
)
from wayword.datasets.sources.teach_drawing import enable
from wayword.datasets.sources.teach_planning import plan_task
from wayword.metrics.household import actions_taken
from wayword.worlds.household.builder import SceneBuilder, type_name
from wayword.worlds.household.goals import State
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.skills import PlannedReference
from wayword.worlds.household.world import HouseholdWorld

TASKS = definitions()


def pairs(**settings: Any) -> MaHousehold:
    return MaHousehold(
        settings=MaHousehold.Settings(**{"homes": 5, "episodes": 25, **settings})
    )


def planned(reference: object) -> PlannedReference:
    assert isinstance(reference, PlannedReference)
    return reference


def kitchen() -> Scene:
    """A sink, a stove, a microwave, a coffee machine, a table, a plant, and what goes there."""
    house = SceneBuilder("k")
    house.room("kitchen", [(0, 0), (6, 0), (6, 4), (0, 4)])
    table = house.furniture("dining_table", 3, 2, 1.6, 0.8, 0.8, receptacle="on")
    basin = house.furniture(
        "sink_basin",
        1,
        3.8,
        0.6,
        0.4,
        0.2,
        "cleaner",
        "filler",
        bottom=0.7,
        receptacle="in",
    )
    house.furniture(
        "faucet", 1, 3.95, 0.1, 0.1, 0.1, "toggleable", bottom=0.9, controls=(basin,)
    )
    hob = house.furniture(
        *("stove_burner", 2, 3.8, 0.3, 0.3, 0.02, "heater"),
        bottom=0.9, receptacle="on", accepts=("pot",), capacity=1,
    )  # fmt: skip
    house.furniture(
        "stove_knob", 2, 3.6, 0.1, 0.1, 0.1, "toggleable", bottom=0.8, controls=(hob,)
    )
    house.furniture(
        *("microwave", 5, 3.8, 0.5, 0.4, 0.3, "heater", "toggleable", "openable"),
        bottom=0.9, receptacle="in",
    )  # fmt: skip
    house.furniture(
        *("coffee_machine", 4, 3.8, 0.3, 0.3, 0.3, "filler", "toggleable"),
        bottom=0.9, receptacle="in", accepts=("mug",), capacity=1,
    )  # fmt: skip
    house.furniture("house_plant", 0.2, 2, 0.2, 0.2, 0.3, "fillable", bottom=0.6)
    for kind in ("mug", "mug"):
        house.item(kind, "dirtyable", "fillable", parent=table, dirty=True)
    house.item("pot", "fillable", parent=table, receptacle="in")
    for kind in ("plate", "plate"):
        house.item(kind, "dirtyable", parent=table, receptacle="on", dirty=True)
    house.item("knife", "slicer", parent=table)
    for kind in ("potato", "tomato", "tomato", "lettuce", "bread", "egg"):
        house.item(kind, "sliceable", "cookable", parent=table)
    scene = house.build()
    return replace(scene, objects=tuple(enable(each) for each in scene.objects))


def state(scene: Scene, **changes: dict[str, Any]) -> State:
    """The scene's first state as judges see it, with some records changed."""
    flags = dict.fromkeys(("open", "on", "dirty", "sliced", "cooked", "filled"), False)
    objects: dict[str, dict[str, Any]] = {
        o.id: {
            **flags,
            "coffee": False,
            "boiled": False,
            "dirty": o.dirty,
            "in": o.parent,
        }
        for o in scene.objects
    }
    for name, change in changes.items():
        objects[name.replace("__", "|")].update(change)
    return {"objects": objects, "actors": {}}


def met(
    task: str, params: tuple[str, ...], **changes: dict[str, Any]
) -> tuple[int, int]:
    scene = kitchen()
    goals = compile_task(TASKS[task], params, CLASSES, scene).goals
    found = state(scene, **changes)
    return sum(goal.met(found) for goal in goals), sum(goal.parts for goal in goals)


def test_coffee_counts_clean_and_filled_for_one_and_the_same_mug() -> None:
    assert met("Coffee", ()) == (0, 2)
    assert met("Coffee", (), mug__1={"coffee": True}) == (1, 2)
    assert met("Coffee", (), mug__1={"coffee": True}, mug__2={"dirty": False}) == (1, 2)
    assert met("Coffee", (), mug__1={"coffee": True, "dirty": False}) == (2, 2)
    assert met("Coffee", (), mug__1={"filled": True, "dirty": False}) == (1, 2), (
        "water is none"
    )


def test_a_plate_of_toast_is_toast_on_the_very_plate_that_is_clean() -> None:
    toast = {"sliced": True, "cooked": True}
    assert met("Plate Of Toast", ()) == (0, 3)
    assert met("Plate Of Toast", (), bread__1=toast) == (1, 3)
    on_a_dirty_one: dict[str, dict[str, Any]] = {
        "bread__1": {**toast, "in": "plate|1"},
        "plate__2": {"dirty": False},
    }
    assert met("Plate Of Toast", (), **on_a_dirty_one) == (2, 3)
    clean: dict[str, dict[str, Any]] = {
        "bread__1": {**toast, "in": "plate|1"},
        "plate__1": {"dirty": False},
    }
    assert met("Plate Of Toast", (), **clean) == (3, 3)


def test_slices_are_one_sliced_object_and_a_dish_needs_one_of_its_own() -> None:
    five = compile_task(TASKS["N Slices Of X In Y"], ("5", "Tomato", "on", "Plate"), CLASSES,
                        kitchen())  # fmt: skip
    assert five.dishes[0].load == (
        Portion(("tomato|1", "tomato|2"), (("sliced", True),)),
    )
    breakfast = (
        "0",
        "0",
        "0",
        "Plate",
        "0",
        "Plate",
        "1",
        "0",
        "1",
        "1",
        "0",
        "2",
        "0",
    )
    both = compile_task(
        TASKS["Breakfast"], (*breakfast, "DiningTable"), CLASSES, kitchen()
    )
    assert len(both.dishes) == 2
    assert {dish.at for dish in both.dishes} == {("dining_table|1",)}
    lettuce = ("0", "0", "0", "Plate", "0", "Plate", "1", "1", "0", "1", "1", "0", "0")
    with pytest.raises(Unbuildable, match="needs 2 of lettuce, has 1"):
        compile_task(TASKS["Breakfast"], (*lettuce, "DiningTable"), CLASSES, kitchen())


def test_two_dishes_never_count_the_same_object() -> None:
    plates = ("plate|1", "plate|2")
    scene = kitchen()
    dish = Dish(plates, (("dirty", False),))
    two = Served((dish, dish))
    assert two.met(state(scene, plate__1={"dirty": False})) == 1
    assert (
        two.met(state(scene, plate__1={"dirty": False}, plate__2={"dirty": False})) == 2
    )


def test_put_all_on_any_and_all_on_one_differ() -> None:
    scene = kitchen()
    apart = {"tomato__1": {"in": "plate|1"}, "tomato__2": {"in": "plate|2"}}
    for task, parts in (("Put All X On Y", 2), ("Put All X In One Y", 1)):
        compiled = compile_task(TASKS[task], ("Tomato", "on", "Plate"), CLASSES, scene)
        assert sum(goal.met(state(scene, **apart)) for goal in compiled.goals) == parts


@pytest.mark.parametrize(
    ("task", "params", "item", "traits"),
    [
        ("Coffee", (), "mug", {"coffee": True, "dirty": False}),
        ("Boil X", ("Potato",), "potato", {"boiled": True}),
        ("Poach Egg", (), "egg", {"boiled": True, "sliced": True}),
        ("Water Plant", (), "house_plant", {"filled": True}),
        ("Omelette", (), "egg", {"cooked": True, "sliced": True, "boiled": False}),
        ("Clean All X", ("Plate",), "plate", {"dirty": False}),
    ],
)
def test_a_plan_carried_out_in_the_world_brings_the_state_about(
    task: str, params: tuple[str, ...], item: str, traits: dict[str, bool]
) -> None:
    scene = kitchen()
    compiled = compile_task(TASKS[task], params, CLASSES, scene)
    plan = plan_task(compiled, scene)
    reference = PlannedReference("1", task, compiled.goals, plan=plan)
    episode = replace(pairs(episodes=1).tasks[0].episode, actors=("agent",), scene="k", start={
        "poses": {"agent": {"x": 3.0, "y": 1.0, "heading": 0.0}}})  # fmt: skip
    world = HouseholdWorld(scene, named=True)
    rehearse(world, episode, reference)
    objects = world.state()["objects"]
    found = [record for name, record in objects.items() if name.startswith(f"{item}|")]
    assert any(traits.items() <= record.items() for record in found)
    assert reference.met(world.state()) == reference.parts()


def test_the_expert_solves_each_of_the_twenty_five_and_none_is_solved_from_the_start() -> (
    None
):
    dataset = pairs()
    kinds = Counter(planned(task.reference).kind for task in dataset.tasks)
    assert kinds == dict.fromkeys(TASKS, 1)
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        reference = planned(task.reference)
        world.reset(task.episode)
        assert reference.met(world.state()) < reference.parts(), task.episode.id
        rehearse(world, task.episode, reference)
        assert reference.met(world.state()) == reference.parts(), task.episode.id


def test_homes_that_lack_a_bathtub_get_the_next_task() -> None:
    dataset = pairs(rooms=1, homes=2, episodes=1, task="")
    small = MaHousehold(settings=MaHousehold.Settings(rooms=1, homes=1, task="Candles"))
    assert planned(dataset.tasks[0].reference).kind in TASKS
    with pytest.raises(
        UsageError, match="no home of 1 rooms has the objects for 'Candles'"
    ):
        small.tasks[0]
    assert small.omissions == {"no home of 1 rooms has the objects for Candles": 1}


def test_an_episode_means_the_same_for_any_number_of_episodes() -> None:
    few = pairs(episodes=3)
    many = pairs(episodes=9)
    assert list(few.tasks) == list(many.tasks[:3])
    assert len({task.episode.id for task in many.tasks}) == 9


def test_each_is_shown_its_own_and_names_are_those_of_the_world() -> None:
    dataset = pairs()
    for task in dataset.tasks[:6]:
        text = task.episode.extra["instructions"]
        world = dataset.world(task.episode)
        world.reset(task.episode)
        names = names_of(world.scene.objects)
        for order in planned(task.reference).plan:
            assert world.name("follower", order.object) == names[order.object]
            assert names[order.object] in text["commander"]
        shown = json.dumps([task.episode.instruction, text["follower"]])
        assert not [name for name in names.values() if name in shown]


def test_the_commander_floats_and_has_no_hands() -> None:
    dataset = pairs()
    episode = dataset.tasks[0].episode
    world = dataset.world(episode)
    world.reset(episode)
    assert world.actors == ("commander", "follower")
    verbs = {action.name for action in world.action_space("commander").listed}
    moves = {"move_ahead", "turn_left", "turn_right", "pan_left", "pan_right"}
    assert verbs <= {*moves, "wait", "stop"}
    assert Action("pick_up", ("mug_1",)) not in world.action_space("commander")
    assert world.house.others(world.house.actors["follower"]) == []


def test_the_commander_has_a_view_of_its_own_where_requested() -> None:
    settings = {"homes": 1, "episodes": 1, "body": {"view_distance": 2.0}}
    far = MaHousehold.Settings(**settings, commander={"view_distance": 10.0})
    dataset = MaHousehold(settings=far)
    world = dataset.world(dataset.tasks[0].episode)
    world.reset(dataset.tasks[0].episode)
    seen = {
        name: actor.body.view_distance for name, actor in world.house.actors.items()
    }
    assert seen == {"commander": 10.0, "follower": 2.0}
    with pytest.raises(UsageError, match="body: unknown field 'sight'"):
        MaHousehold.Settings(commander={"sight": 3.0})


def test_path_weighted_scores_count_the_follower_alone() -> None:
    seen = HouseholdObservation("commander", "kitchen", 0.0, (), (), (), (), ())
    decision = Decision(Action("chat", ("hm",)))
    failed = [
        Step(a, seen, decision, Feedback("no_listener"), {})
        for a in ("commander", "follower")
    ]
    actors = {"commander": {"low_level": 40}, "follower": {"low_level": 7}}
    trajectory = Trajectory("1", {}, failed, {"actors": actors})
    assert actions_taken(trajectory, ("follower",)) == 8
    assert actions_taken(trajectory) == 49


def test_names_of_types_and_classes() -> None:
    assert [type_name(name) for name in ("CD", "TVStand", "CounterTop")] == [
        *("cd", "tv_stand", "counter_top")
    ]
    assert of_type("EggCracked") == (("egg",), True)
    assert of_type("Bathtub") == (("bathtub", "bathtub_basin"), False)


def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown task 'Cofee'; did you mean 'Coffee'"):
        MaHousehold.Settings(task="Cofee")
    with pytest.raises(UsageError, match="has no split"):
        MaHousehold("valid")
    with pytest.raises(UsageError, match="needs its data"):
        MaHousehold("train")
    with pytest.raises(DataError, match="alfred_train_floors"):
        MaHousehold("train", tmp_path).tasks[0]


def test_a_commander_is_not_left_talking_to_no_one() -> None:
    dataset = pairs(homes=1, episodes=1)
    episode = dataset.tasks[0].episode
    world = dataset.world(episode)
    world.reset(episode)
    assert not world.done("commander")
    world.step("follower", STOP)
    assert world.done("commander")


def test_no_one_is_handed_what_another_alone_is_shown() -> None:
    texts_by_key: dict[str, Episode] = {}

    class Spy(Agent):
        Settings = HomesSettings
        families: ClassVar[frozenset[str]] = frozenset()
        needs_model = False

        def __init__(self, actor: str) -> None:
            self._actor = actor

        async def begin(self, episode: Episode) -> None:
            texts_by_key[self._actor] = episode

        async def act(self, observation: Observation, space: ActionSpace) -> Decision:
            return Decision(STOP)

        def on_feedback(
            self, decision: Decision | Rejection, feedback: Feedback
        ) -> None:
            """Nothing to learn."""

    dataset = pairs(homes=1, episodes=1)
    task = dataset.tasks[0]
    asyncio.run(rollout(task, Setup(dataset, lambda toolkit, actor: Spy(actor))))
    secret = task.episode.extra["instructions"]["commander"]
    assert texts_by_key["commander"].extra["instructions"] == {"commander": secret}
    assert secret not in texts_by_key["follower"].extra["instructions"].values()
    assert texts_by_key["follower"].start == {}
