"""Houses of the rooms world on the map: walls, doors that open, things that move, what was seen."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.parsed_page import Element, Page, check_safe
from helpers.two_in_a_flat import TwoInAFlat, named
from wayword import viewer
from wayword.core.action import Action, Decision
from wayword.core.episode import Reference
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer.content import Content
from wayword.viewer.data import Sources
from wayword.viewer.library import Library
from wayword.viewer.maps import household
from wayword.viewer.maps.content import Map, Shape, Waypoint
from wayword.worlds.household.goals import (
    AnswerReference,
    Held,
    HouseholdReference,
    Inside,
    Lit,
    Restored,
)
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

ANN = (
    "go_grab[apple_1]",
    "goto[door_1]",
    "open[door_1]",
    "go_explore[hall]",
    "go_put[box_1]",
)


def action(text: str) -> Action:
    name, _, rest = text.partition("[")
    return Action(name, (rest[:-1],) if rest else ())


def carried(
    actions: tuple[str, ...] = ANN,
) -> tuple[Trajectory, Sources, HouseholdWorld]:
    """Ann carries the apple from the kitchen table into the box in the hall; Bob waits."""
    dataset = TwoInAFlat()
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    trajectory = Trajectory(
        task.episode.id, {actor: world.pose(actor) for actor in world.actors}
    )
    for text in actions:
        seen = world.observe("ann")
        done = action(text)
        feedback = world.step("ann", done)
        assert feedback.ok, (text, feedback)
        trajectory.steps.append(
            Step("ann", seen, Decision(done), feedback, world.pose("ann"))
        )
    return trajectory, Sources(dataset, {task.episode.id: task}), world


def of_kind(drawn: Map, kind: str) -> list[Shape]:
    """The shapes of a class."""
    return [shape for shape in drawn.shapes if kind in shape.kind.split()]


def test_a_door_opens_and_a_held_apple_is_where_its_actor_is() -> None:
    walk, sources, _ = carried()
    drawn = household.map(walk, sources)
    assert drawn is not None
    assert household.START not in drawn.legend
    leaves = [(leaf.kind, leaf.first, leaf.last) for leaf in of_kind(drawn, "leaf")]
    assert leaves == [("leaf closed", 1, 3), ("leaf open", 4, 6)]
    apples = of_kind(drawn, "object")
    held = [apple for apple in apples if apple.label == "apple_1 (held)"]
    on_furniture = [apple for apple in apples if apple not in held]
    # on the table, then in the box
    assert [(apple.first, apple.last) for apple in on_furniture] == [(1, 1), (6, 6)]
    # After step n is before step n + 1.
    stops = {stop.step + 1: stop.point for stop in drawn.walks["ann"]}
    for number in range(2, 6):
        (place,) = [p.points[0] for p in held if p.first <= number <= p.last]
        assert place == pytest.approx(stops[number], abs=1e-3)
    assert {apple.kind for apple in apples} == {"object goal-object"}
    furniture = [(box.label, box.kind) for box in of_kind(drawn, "furniture")]
    assert furniture == [("table_1", "furniture"), ("box_1", "furniture destination")]
    assert {room.label for room in of_kind(drawn, "roomname")} == {"kitchen", "hall"}


def test_a_high_level_walk_is_drawn_through_the_door() -> None:
    walk_text, sources, world = carried()
    drawn = household.map(walk_text, sources)
    assert drawn is not None
    walk = drawn.walks["ann"]
    routed = [stop for stop in walk if stop.route]
    assert routed
    for stop in routed:
        assert math.dist(stop.route[-1], stop.point) < 0.25
    (door,) = world.scene.doors
    low, high = (most(door.a[1], door.b[1]) for most in (min, max))
    corners = [(walk[0].point)] + [
        p for stop in walk for p in (*stop.route, stop.point)
    ]
    crossed = [
        a[1]
        for a, b in pairwise(corners)
        if (a[0] - door.a[0]) * (b[0] - door.a[0]) < 0
    ]
    assert crossed
    assert all(low <= y <= high for y in crossed), "never through the wall"


def test_what_is_drawn_as_seen_is_what_the_world_shows() -> None:
    """A thing in view lies within the outline, and the outline ends at walls and shut doors."""
    walk, sources, world = carried(("goto[table_1]", "turn_right", "turn_right"))
    drawn = household.map(walk, sources)
    assert drawn is not None
    for step in walk.steps:
        number = walk.steps.index(step) + 1
        rim = drawn.views["ann"][number]
        assert len(rim) > 20
        assert all(-0.01 <= x <= 4.01 and -0.01 <= y <= 3.01 for x, y in rim), (
            "not through walls"
        )
    far = [
        math.dist(rim[0], point)
        for rim in drawn.views["ann"].values()
        for point in rim[1:]
    ]
    assert max(far) <= world.house.actors["ann"].body.view_distance + 1e-6


@pytest.mark.parametrize("heading", [0.0, 150.0, 180.0])
def test_an_eye_on_the_outer_wall_sees_nothing_outside(heading: float) -> None:
    _, _, world = carried(())
    me = replace(world.house.actors["ann"], x=2.0, y=0.0, heading=heading)
    rim = household.view(world, me)
    assert min(y for _, y in rim) >= -1e-6
    assert (max(y for _, y in rim) > 1.0) == (heading == 0.0)


def test_through_an_open_door_the_view_goes_on() -> None:
    walk, sources, _ = carried((*ANN[:3], "turn_right"))
    drawn = household.map(walk, sources)
    assert drawn is not None
    before = drawn.views["ann"][2]
    after = drawn.views["ann"][3]  # the step that opens the door
    assert max(x for x, _ in before) <= 4.01
    assert max(x for x, _ in after) > 4.5


def test_an_arrow_leads_from_an_object_to_the_place_that_it_belongs_to() -> None:
    _, _, world = carried(())
    scene = world.scene
    index = world.layout.index
    apple = next(item for item in scene.objects if "pickupable" in item.affordances)
    other = next(item for item in scene.objects if item.type != apple.type)
    places = {index[apple.id]: (0.0, 0.0)}
    moved = Restored(apple.id, other.id, False)
    opened = Restored(apple.id, "", True)
    reference = HouseholdReference("1", goals=(moved, opened))
    (arrow,) = household._arrows(world, places, reference)
    assert arrow.points == ((0.0, 0.0), (other.x, other.y))
    here = {index[apple.id]: (other.x, other.y)}
    assert household._arrows(world, here, reference) == [], "it is there already"


def test_a_recording_that_the_world_does_not_repeat_is_drawn_as_it_began() -> None:
    walk, sources, _ = carried()
    walk.steps[2] = replace(walk.steps[2], feedback=Feedback("too_far"))
    drawn = household.map(walk, sources)
    assert drawn is not None
    assert household.START in drawn.legend
    assert not drawn.views
    assert [leaf.kind for leaf in of_kind(drawn, "leaf")] == ["leaf closed"]
    assert len(drawn.walks["ann"]) == 6, "the walk itself was recorded"


@pytest.mark.parametrize("text", ["fly[roof]", "put[apple_1]", "goto[]", "chat"])
def test_a_foreign_action_breaks_nothing(text: str) -> None:
    walk, sources, _ = carried()
    walk.steps[0] = replace(walk.steps[0], decision=Decision(action(text)))
    drawn = household.map(walk, sources)
    assert drawn is not None
    assert household.START in drawn.legend


def test_an_actor_that_the_world_lacks_is_drawn_without_a_house() -> None:
    walk, sources, _ = carried()
    walk.start["carl"] = walk.start["ann"]
    drawn = household.map(walk, sources)
    assert drawn is not None
    assert "carl" in drawn.walks
    assert not drawn.shapes


def test_without_the_dataset_there_is_no_house() -> None:
    walk, sources, _ = carried()
    episode = replace(sources.tasks[walk.episode_id].episode, start={"poses": {}})
    task = replace(
        sources.tasks[walk.episode_id],
        episode=episode,
        reference=Reference(walk.episode_id),
    )
    for data in (Sources(), Sources(sources.dataset, {walk.episode_id: task})):
        drawn = household.map(walk, data)
        assert drawn is not None
        assert drawn.walks
        assert not drawn.shapes


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The page of an episode in which Ann is an expert and Bob chats."""
    named(monkeypatch)
    chatty = tmp_path / "chatty.py"
    chatty.write_text(CHATTY)
    done = run(
        Plan(
            "expert", "flat", limit=1, actors={"bob": str(chatty)}, out=tmp_path / "run"
        )
    )
    index = viewer.write(done.path)
    first = Page.read(index)
    assert any(
        chip.text.startswith("expert, bob: ")
        for chip in first.all("span", class_="chip")
    )
    (row,) = first.data["rows"]
    found = Page.read(index.parent / row[2])
    check_safe(found)
    return found


CHATTY = '''
from wayword.agents.human import HumanSettings
from wayword.core.action import STOP, Action
from wayword.core.action import Decision
from wayword.core.agent import Agent


class Chatty(Agent):
    """Says something twice, then stops."""

    Settings, families, needs_model = HumanSettings, frozenset(), False

    def __init__(self, settings, toolkit):
        self.words = ["<b>Hello</b>, Ann.", "The box is here."]

    async def begin(self, episode):
        pass

    async def act(self, observation, space):
        return Decision(Action("chat", (self.words.pop(0),)) if self.words else STOP)

    def on_feedback(self, decision, feedback):
        pass


agent = Chatty
'''


def held(page: Page, tag: str, kind: str, step: int) -> list[Element]:
    """Elements that the page's script shows at a step."""
    return [
        e
        for e in page.all(tag, class_=kind)
        if int(e.attributes["data-first"] or 0)
        <= step
        <= int(e.attributes["data-last"] or 0)
    ]


def test_the_page_draws_the_house_for_every_step(page: Page) -> None:
    assert len(page.all("path", class_="floor")) == 2
    assert len(page.all("line", class_="wall")) >= 7
    assert {e.text for e in page.all("text", class_="roomname")} == {"kitchen", "hall"}
    steps = len(page.all("section", class_="step"))
    views = page.all("path", class_="pose")
    assert sorted(int(e.attributes["data-step"] or 0) for e in views) == [
        *range(1, steps + 1)
    ]
    for step in range(1, steps + 1):
        assert len(held(page, "line", "leaf", step)) == 1
        assert len(held(page, "circle", "object", step)) <= 1
    assert held(page, "line", "leaf", 1)[0].attributes["class"] == "leaf closed"
    assert held(page, "line", "leaf", steps)[0].attributes["class"] == "leaf open on", (
        "as of the end"
    )
    assert "closed door" in page.all("ul", class_="legend")[0].text


def test_what_is_stated_and_heard_stands_in_the_steps(page: Page) -> None:
    shown = [e.text for e in page.all("div", class_="part")]
    assert "Said to ann<b>Hello</b>, Ann." in shown
    assert "Heardbob <b>Hello</b>, Ann." in shown
    assert "Heardbob The box is here." in shown
    badges = [e.text for e in page.all("b", class_="badge")]
    assert badges.count("chat") == 2


@pytest.mark.parametrize("on", ["household", "rearrangement", "iqa"])
def test_homes_of_every_task_are_drawn(on: str, tmp_path: Path) -> None:
    done = run(Plan("expert", on, limit=1, out=tmp_path / "run"))
    index = viewer.write(done.path)
    (row,) = Page.read(index).data["rows"]
    page = Page.read(index.parent / row[2])
    check_safe(page)
    assert len(page.all("path", class_="floor")) == 5
    assert len(page.all("rect", class_="furniture")) > 10
    assert len(page.all("path", class_="pose")) == len(
        page.all("section", class_="step")
    )
    assert "as it was at first" not in page.text


def test_of_candidates_to_hold_or_to_light_those_that_met_the_goal_are_marked() -> None:
    objects = {"cup_1": {"held": False}, "cup_2": {"held": True}}
    objects |= {"lamp_1": {"on": True}, "lamp_2": {"on": True}}
    state = {"objects": objects, "actors": {"ann": {"sees": {"lamp_1": 1.0}}}}
    goals = (Held(("cup_1", "cup_2")), Lit(("lamp_1", "lamp_2")))
    reference = HouseholdReference("1", goals=goals)
    marked = household._goals(reference, household._OBJECTS, state)
    assert marked == ["cup_2", "lamp_1"]


def test_the_view_after_a_step_is_of_where_its_actor_is_then() -> None:
    walk, sources, world = carried(("turn_right", "turn_right"))
    drawn = household.map(walk, sources)
    assert drawn is not None
    assert drawn.views["ann"].keys() == {1, 2}
    end = household.view(world, world.house.actors["ann"])
    assert drawn.views["ann"][2] == household.clipped(end, world.house.layout.bounds)


def test_of_many_candidates_those_that_met_the_goal_are_marked() -> None:
    places = {"cup_1": "bowl_1", "cup_2": "", "bowl_1": "sink_1", "sink_1": ""}
    state = {"objects": {name: {"in": holder} for name, holder in places.items()}}
    goal = Inside(("cup_1", "cup_2"), ("sink_1",))
    reference = HouseholdReference("1", goals=(goal,))
    assert household._goals(reference, household._OBJECTS, state) == ["cup_1"]
    state["objects"]["bowl_1"]["in"] = ""
    both = household._goals(reference, household._OBJECTS, state)
    assert both == ["cup_1", "cup_2"], "any of them would do"


@pytest.mark.parametrize(
    ("enough", "marks"),
    [
        (0, {"cup_1": "looked-at", "cup_2": "goal-object"}),
        (1, {"cup_1": "looked-at"}),
        (2, {"cup_1": "looked-at", "cup_2": "goal-object"}),
    ],
)
def test_what_reveals_an_answer_is_marked_as_seen_or_missed(
    enough: int, marks: dict[str, str]
) -> None:
    _, _, world = carried(())
    names = {"cup_1": "cup 1", "cup_2": ""}
    world.name = lambda actor, name: names[name]  # type: ignore[method-assign]
    reference = AnswerReference("1", look=("cup_1", "cup_2"), enough=enough)
    assert household._looks(world, reference, {"cup 1"}) == marks


@pytest.mark.real
@pytest.mark.parametrize(
    ("question", "names"),
    [("val_seen_exists_500", {"apple"}), ("val_seen_counts_538", {"bowl"})],
)
def test_places_to_look_at_have_no_names_where_they_are_many(
    question: str, names: set[str], data: Path, tmp_path: Path
) -> None:
    plan = Plan("random", "iqa:val_seen", data=data, out=tmp_path / "run")
    run(replace(plan, episode=question))
    content = Content(Library([tmp_path]), data)
    page = Page.parse(content.episode("run", question))
    shown = [e.text.partition(" ")[0] for e in page.all("text", class_="goalname")]
    assert {*shown} == names


def test_a_view_ends_where_the_rooms_do() -> None:
    """Also that of a camera in an opening, a little outside of them."""
    box = (0.0, 0.0, 4.0, 3.0)
    inside = [(1.0, 1.0), (1.0, 5.0), (3.0, 3.0), (9.0, 1.0), (2.0, 2.0)]
    expected = [(1.0, 1.0), (1.0, 3.0), (3.0, 3.0), (4.0, 1.0), (2.0, 2.0)]
    assert household.clipped(inside, box) == expected
    outside = [(1.0, -0.25), (0.0, -3.0), (2.0, -3.0)]
    assert {*household.clipped(outside, box)} == {(1.0, -0.25)}


@pytest.mark.parametrize(
    ("end", "corners"),
    [((1.0, 1.5), [(1.0, 1.5)]), ((1.0, 1.6), [(1.0, 1.5)]), ((3.0, 1.0), [])],
)
def test_a_path_that_does_not_lead_to_the_recorded_end_is_not_drawn(
    end: tuple[float, float], corners: list[tuple[float, float]]
) -> None:
    details = {"low_level": ["move_ahead", "move_ahead"]}
    pose = {"x": end[0], "y": end[1]}
    feedback = Feedback("ok", details=details)
    step = Step("agent", None, Decision(Action("goto")), feedback, pose)
    route = household._route(Waypoint(0, "", (1.0, 1.0), 0.0), step, Body())
    assert [pytest.approx(point) for point in corners] == route
