"""Instructions are right: whoever follows the told route by the rules arrives, seeing what is told.

The follower is given the route's legs and no path. It sees what an agent sees: the number of ways
at a panorama, and the landmark scorer's verdict on the five views.
"""

from __future__ import annotations

import re
from functools import cache

from helpers.looping import for_each
from wayword.core.action import Action
from wayword.core.dataset import Task
from wayword.core.episode import PathReference
from wayword.datasets.procedural.towns.routes import TURN_ACTIONS, TownLeg, TownRoute
from wayword.datasets.procedural.towns.town import LIGHT
from wayword.datasets.towns import Towns, TownsSettings, write_instruction
from wayword.perception.landmarks import visible
from wayword.verbalize.street import DIRECTIONS, VIEWS
from wayword.worlds.street.world import StreetWorld

TOWNS = Towns("test", None, TownsSettings(towns=10, episodes=200))
NUMBERS = range(120)
LEFT = "on your left"
RIGHT = "on your right"


@cache
def task_and_route(number: int) -> tuple[Task, TownRoute]:
    task = TOWNS.tasks[number]
    return task, TOWNS.route(task.episode.scene, number // 10)


class Follower:
    """Walks in a world and keeps what it saw at each panorama: landmark -> direction."""

    def __init__(self, task: Task) -> None:
        self.world: StreetWorld = TOWNS.world(task.episode)
        self.world.reset(task.episode)
        self.names = [*task.episode.extra["landmarks"], LIGHT]
        self.actions: list[str] = []
        self.seen: list[dict[str, str]] = [self.look()]
        self.places = [self.here]

    @property
    def here(self) -> str:
        return str(self.world.pose("agent")["panorama"])

    @property
    def at_junction(self) -> bool:
        return self.world.observe("agent").exits > 2

    def look(self) -> dict[str, str]:
        seen = self.world.observe("agent")
        headings = [(seen.heading + view) % 360 for view in VIEWS]
        scores = TOWNS.perceiver().score(
            seen.scene, seen.panorama, headings, self.names
        )
        return {self.names[row]: DIRECTIONS[view] for row, view in visible(scores)}

    def do(self, word: str) -> None:
        assert self.world.step("agent", Action(word)).ok
        self.actions.append(word)
        if word == "forward":
            self.seen.append(self.look())
            self.places.append(self.here)

    def to_junction(self) -> bool:
        """Go on to the next junction; whether a light hung over it."""
        self.do("forward")
        while not self.at_junction:
            self.do("forward")
        return self.seen[-2].get(LIGHT) in DIRECTIONS[1:4]

    def turn(self, leg: TownLeg) -> None:
        """Count lights where the leg can be told by them, junctions where not."""
        junctions = lights = 0
        while (
            (lights < leg.light_number)
            if leg.light_number
            else (junctions < leg.junction_number)
        ):
            junctions = junctions + 1
            lights = lights + self.to_junction()
        assert junctions == leg.junction_number, (
            "lights and intersections lead to the same junction"
        )
        for word in TURN_ACTIONS[leg.turn]:
            self.do(word)

    def finish(self, route: TownRoute) -> None:
        ending = route.ending
        for _ in range(ending.junctions):
            self.to_junction()
        if ending.beside is None:
            for _ in range(ending.steps):
                self.do("forward")
        else:
            self.do("forward")
            while self.seen[-1].get(ending.beside.name) not in (LEFT, RIGHT):
                self.do("forward")
        self.do("stop")


def follow(number: int) -> tuple[Task, TownRoute, Follower]:
    task, route = task_and_route(number)
    follower = Follower(task)
    for leg in route.legs:
        follower.turn(leg)
    follower.finish(route)
    return task, route, follower


@for_each("number", NUMBERS)
def test_following_the_legs_leads_along_the_gold_path_and_no_further(
    number: int,
) -> None:
    task, route, follower = follow(number)
    assert isinstance(task.reference, PathReference)
    assert tuple(follower.places) == task.reference.path
    gold = TOWNS.solve(task)
    assert follower.actions == [action.name for action in gold]
    assert follower.actions[0] == task.episode.extra["opening"][0]
    assert len(follower.actions) == route.actions <= Towns.max_steps


@for_each("number", NUMBERS)
def test_landmarks_are_seen_where_and_on_the_side_they_are_reported(
    number: int,
) -> None:
    _, route, follower = follow(number)
    sides = {"left": DIRECTIONS[:2], "right": DIRECTIONS[3:]}
    passed = [p for leg in route.legs for p in leg.passed] + list(route.ending.passed)
    passed += [leg.corner for leg in route.legs if leg.corner]
    named = [each for each in passed if each.name in follower.names]
    for each in named:
        directions = {seen[each.name] for seen in follower.seen if each.name in seen}
        assert directions & set(sides[each.side]), f"{each} is never seen on that side"
    landmark = route.ending.beside
    if landmark:
        assert follower.seen[-1][landmark.name] == f"on your {landmark.side}"


@for_each("number", lambda: [n for n in NUMBERS if task_and_route(n)[1].ending.too_far])
def test_what_means_too_far_is_seen_by_going_on_and_not_before(number: int) -> None:
    _, route, follower = follow(number)
    name = route.ending.too_far
    assert not any(name in seen for seen in follower.seen)
    follower.world._stopped = False
    for _ in range(8):
        follower.do("forward")
        if name in follower.seen[-1]:
            return
    raise AssertionError(f"{name} is not to be seen behind the goal")


@for_each("number", NUMBERS)
def test_the_words_say_what_the_legs_hold(number: int) -> None:
    task, route = task_and_route(number)
    text = task.episode.instruction
    assert write_instruction(task.episode.scene, route).text == text
    assert [leg.turn for leg in route.legs] == turns(text)
    for name in task.episode.extra["landmarks"]:
        assert name in text or (name == LIGHT and " light" in text)


def turns(text: str) -> list[str]:
    """The turns in order; sentences that only pass something, or stop, end in a side as well."""
    kept = []
    for sentence in re.findall(r"[^.]+\.", text):
        found = re.search(r"(slight(?:ly)? |sharp )?(left|right)\.", sentence)
        if found and not re.match(r"\s*(Pass|Go past|Walk past|Stop)\b", sentence):
            kept.append(
                f"{(found[1] or '').strip().removesuffix('ly')} {found[2]}".strip()
            )
    return kept


def test_the_instructions_use_all_of_their_kinds() -> None:
    texts = " ".join(
        task_and_route(number)[0].episode.instruction for number in NUMBERS
    )
    for part in (
        "light",
        "intersection",
        "end of the block",
        "too far",
        "corner",
        "sharp",
        "Take",
    ):
        assert part in texts
    endings = [task_and_route(number)[1].ending for number in NUMBERS]
    assert sum(bool(ending.too_far) for ending in endings) >= 15
    assert sum(ending.steps > 0 for ending in endings) >= 15
    assert sum(ending.junctions > 0 for ending in endings) >= 15
