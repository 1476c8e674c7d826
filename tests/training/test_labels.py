"""Response-based learning's labels, case by case against algorithm 1 of VELMA."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.small_street import SmallStreet
from helpers.training_walks import played
from wayword.core.action import Action
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.training.examples import Guide, near_goal
from wayword.worlds.indoor.world import ObjectReference

FORWARD = Action("forward")
LEFT = Action("left")
RIGHT = Action("right")
NEAR = frozenset({"j", "e1", "e2"})


def street(*path: str) -> tuple[SmallStreet, Task]:
    """The small street, and a route in it that starts facing north."""
    start = {"panorama": path[0], "heading": 0}
    episode = Episode("1", "Go on.", "small", start)
    return SmallStreet(), Task(episode, PathReference("1", path))


def labels_of(words: list[str], *path: str, method: str = "rbl") -> list[str]:
    """The labels after an agent's own walk of these words."""
    dataset, task = street(*path)
    example = played("velma", {"shots": 0}, dataset, task, words, method)  # type: ignore[arg-type]
    assert [choice.taken.strip() for choice in example.choices[: len(words)]] == words
    return [choice.label.strip() for choice in example.choices]


EAST = ("s2", "s3", "j", "e1")


def test_success_keeps_the_agents_own_actions() -> None:
    walk = ["forward", "forward", "right", "forward", "stop"]
    assert labels_of(walk, *EAST) == walk


def test_success_by_a_detour_keeps_the_detour() -> None:
    walk = ["forward", "forward", "left", "turn_around", "forward", "stop"]
    assert labels_of(walk, *EAST) == walk


def test_one_short_counts_as_success() -> None:
    walk = ["forward", "forward", "stop"]
    assert labels_of(walk, *EAST) == walk


def test_off_the_route_the_oracle_turns_it_back_at_every_step() -> None:
    walk = ["forward", "forward", "forward", "stop"]
    assert labels_of(walk, *EAST) == ["forward", "forward", "right", "turn_around"]


def test_a_walk_that_never_stops_is_no_success_even_at_the_goal() -> None:
    walk = ["forward", "turn_around"]
    found = labels_of([*walk, *["turn_around"] * 10], "s2", "s3")
    assert found[:2] == ["forward", "stop"]
    assert set(found[1:]) == {"stop"}
    assert len(found) == SmallStreet.max_steps


def test_too_long_a_walk_is_reported_to_stop_at_the_goal_and_then_to_turn_back() -> (
    None
):
    walk = ["forward", "forward", "forward", "stop"]
    assert labels_of(walk, "s0", "s1") == [
        "forward",
        "stop",
        "turn_around",
        "turn_around",
    ]


def test_the_agents_own_actions_stay_in_the_text() -> None:
    dataset, task = street("s0", "s1")
    walk = ["forward", "forward", "forward", "stop"]
    example = played("velma", {"shots": 0}, dataset, task, walk, "rbl")
    assert [choice.taken.strip() for choice in example.choices] == walk
    assert [choice.label.strip() for choice in example.choices][1:] == [
        "stop",
        *["turn_around"] * 2,
    ]
    assert example.text.endswith("3. forward\n4. stop")
    assert not example.success


def test_dagger_takes_the_oracles_action_also_after_a_success() -> None:
    walk = ["forward", "forward", "stop"]
    assert labels_of(walk, *EAST, method="dagger") == ["forward", "forward", "right"]


@pytest.mark.parametrize(
    ("walk", "success"),
    [
        (["forward", "forward", "stop"], True),  # one short
        (["forward", "forward", "right", "forward", "stop"], True),
        (["forward", "stop"], False),
        (["stop"], False),
        (["forward", "forward", *["turn_around"] * 20], False),  # cut off
    ],
)
def test_a_walk_is_completed_by_its_own_stop_near_the_goal(
    walk: list[str], success: bool
) -> None:
    dataset, task = street(*EAST)
    assert (
        played("velma", {"shots": 0}, dataset, task, walk, "dagger").success is success
    )


def test_the_goal_and_its_neighbours_in_either_direction_count() -> None:
    assert near_goal(*street(*EAST)) == NEAR


def test_where_an_object_is_sought_the_places_that_see_it_count() -> None:
    dataset, task = street(*EAST)
    reference = ObjectReference("1", EAST, visible_from=frozenset({"s1"}))
    assert near_goal(dataset, replace(task, reference=reference)) == {"s1"}


def test_the_guide_follows_a_path_that_crosses_itself() -> None:
    dataset, task = street("s0", "s1", "s2", "s1")
    world = dataset.world(task.episode)
    world.reset(task.episode)
    guide = Guide(world, ("s0", "s1", "s2", "s1"))
    done = []
    while not world.done("agent"):
        done.append(guide.best(str(world.pose("agent")["panorama"])))
        world.step("agent", done[-1])
    assert [action.name for action in done] == [
        "forward", "forward", "turn_around", "forward", "stop",
    ]  # fmt: skip


def test_near_the_goal_yes_is_right_where_the_agent_is_queried() -> None:
    """The gold walk goes on to the goal, and the label before it says that one may stop."""
    dataset, task = street(*EAST)
    settings = {"shots": 0, "follow": True}
    strict = played("velma", settings, dataset, task)
    near = played("velma", settings, dataset, task, near=True)
    assert near.text == strict.text
    both = zip(strict.choices, near.choices, strict=True)
    apart = [(one.taken, one.label, other.label) for one, other in both if one != other]
    assert apart
    assert set(apart) == {(" no", " no", " yes")}


def test_off_the_gold_path_no_clause_is_the_right_one() -> None:
    """After a wrong turn the oracle would turn back, which is not asked about."""
    dataset, task = street(*EAST)
    words = "Turn right at the light. Go a few steps and stop."
    reworded = replace(task, episode=replace(task.episode, instruction=words))
    settings = {"shots": 0, "follow": True}
    lost = played(
        "velma", settings, dataset, reworded, ["yes", "left", "no", "no"], "rbl"
    )
    found = [(choice.taken, choice.label) for choice in lost.choices]
    assert found == [(" yes", " yes"), (" left", " right"), (" no", " no")]
    assert lost.text.count("Done?") == 3  # the last one at w1, where nothing is right
