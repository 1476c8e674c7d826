"""What actions do when they succeed, and how bodies, menus, names and messages behave."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from helpers.rooms_scenes import act, flat, start
from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.game import copied
from wayword.core.registry import load
from wayword.core.world import World
from wayword.verbalize.household import describe, feedback
from wayword.worlds.household.builder import SceneBuilder, type_name
from wayword.worlds.household.layout import Layout, nearest_place
from wayword.worlds.household.scene import validate
from wayword.worlds.household.verbs import Body, from_json
from wayword.worlds.household.world import ActionMenu, HouseholdWorld


@dataclass(slots=True)
class ScriptedAnswers:
    """An answerer that gives listed answers in order, then none: for tests."""

    answers: list[str]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, actor: str, question: str) -> str | None:
        self.asked.append((actor, question))
        count = len(self.asked)
        return self.answers[count - 1] if count <= len(self.answers) else None


def look_round(world: HouseholdWorld, actor: str = "agent") -> None:
    for _ in range(4):
        act(world, "turn_right", actor)


def object_state(world: HouseholdWorld, name: str) -> dict[str, object]:
    found: dict[str, object] = world.state()["objects"][name]
    return found


def test_the_registered_world_keeps_the_protocol() -> None:
    assert load("world", "household") is HouseholdWorld
    assert isinstance(start(flat(), (2.0, 1.5, 0.0)), World)


def test_steps_turns_and_pans() -> None:
    world = start(flat(), (2.0, 1.0, 0.0))
    for action in (
        "move_ahead",
        "turn_right",
        "move_ahead",
        "pan_left",
        "pan_left",
        "turn_left",
    ):
        assert act(world, action).ok
    assert world.pose("agent") == {
        "room": "kitchen",
        "x": 2.25,
        "y": 1.25,
        "heading": 300.0,
    }


def test_pans_are_side_steps_where_the_body_says_so() -> None:
    world = start(flat(), (2.0, 1.0, 0.0), body=Body(pan_degrees=0, step=0.5))
    assert feedback(act(world, "pan_right")) == "You stepped 0.5 m to the right."
    assert world.pose("agent") == {
        "room": "kitchen",
        "x": 2.5,
        "y": 1.0,
        "heading": 0.0,
    }


@pytest.mark.parametrize("heading", [0.0, 90.0, 180.0, 270.0, 30.0, 210.0])
def test_no_one_walks_through_anything(heading: float) -> None:
    world = start(flat(shut=True), (2.0, 1.25, heading))
    for _ in range(40):
        answer = act(world, "move_ahead")
    assert answer.status == "blocked"
    assert world.pose("agent")["room"] == "kitchen"


def test_the_way_is_blocked_by_name() -> None:
    world = start(flat(shut=True), (2.0, 1.5, 0.0), (3.5, 1.5, 90.0))
    while (text := act(world, "move_ahead", "agent_1")).ok:
        pass
    assert feedback(text) == "The path is blocked by table_1."
    while (text := act(world, "move_ahead", "agent_2")).ok:
        pass
    assert feedback(text) == "The path is blocked by door_1."
    act(world, "turn_right", "agent_1")
    act(world, "turn_right", "agent_1")
    for verb in ("move_ahead", "move_ahead", "turn_left", *["move_ahead"] * 3):
        assert act(world, verb, "agent_1").ok
    while (text := act(world, "move_ahead", "agent_1")).ok:
        pass
    assert feedback(text) == "The path is blocked by agent_2."


def test_objects_move_with_what_they_are_in() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    look_round(world)
    for action in (
        "go_grab mug_1",
        "goto bowl_1",
        "put mug_1 bowl_1",
        "pick_up bowl_1",
    ):
        assert act(world, action).ok
    held = world.observe("agent").holding[0]
    assert (held.name, held.contents) == ("bowl_1", ("mug_1",))
    assert act(world, "goto table_1").ok
    assert act(world, "drop bowl_1").ok
    here = world.pose("agent")
    assert (object_state(world, "bowl")["x"], object_state(world, "bowl")["y"]) == (
        here["x"],
        here["y"],
    )
    assert object_state(world, "mug")["in"] == "bowl"
    assert object_state(world, "mug")["held"] == ""
    assert act(world, "pick_up mug_1").ok


def test_heat_cool_clean_and_slice_leave_their_mark() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    look_round(world)
    for action in ("go_check fridge_1", "go_grab apple_1", "heat apple_1 microwave_1"):
        assert act(world, action).ok
    assert object_state(world, "apple")["temperature"] == "hot"
    assert object_state(world, "apple")["cooked"]
    assert "hot" in world.observe("agent").holding[0].attributes
    assert act(world, "cool apple_1 fridge_1").ok
    assert object_state(world, "apple")["temperature"] == "cold"
    assert act(world, "go_put table_1").ok
    assert object_state(world, "apple")["in"] == "table"
    for action in ("go_grab mug_1", "clean mug_1 sink_1"):
        assert act(world, action).ok, action
    assert not object_state(world, "mug")["dirty"]
    assert object_state(world, "mug")["filled"]


def test_a_knife_slices() -> None:
    world = start(flat(fridge_open=True), (2.0, 1.5, 0.0))
    look_round(world)
    for action in ("go_grab knife_1", "goto apple_1", "slice apple_1"):
        assert act(world, action).ok
    assert object_state(world, "apple")["sliced"]


def test_each_success_is_stated_with_its_object_and_its_tool() -> None:
    world = start(flat(fridge_open=True), (2.0, 1.5, 0.0))
    look_round(world)
    stated = {
        "go_grab apple_1": "You went to apple_1 and picked it up.",
        "heat apple_1 microwave_1": "You heated apple_1 with microwave_1.",
        "cool apple_1 fridge_1": "You cooled apple_1 with fridge_1.",
        "go_put table_1": "You went to table_1 and put apple_1 on it.",
        "go_grab mug_1": "You went to mug_1 and picked it up.",
        "clean mug_1 sink_1": "You cleaned mug_1 with sink_1.",
        "drop mug_1": "You dropped mug_1.",
        "go_grab knife_1": "You went to knife_1 and picked it up.",
        "goto apple_1": "You went to apple_1.",
        "slice apple_1": "You sliced apple_1 with knife_1.",
        "turn_left": "You turned left.",
    }
    for action, sentence in stated.items():
        assert feedback(act(world, action)) == sentence


def test_a_microwave_heats_only_when_closed_and_on() -> None:
    world = start(flat(fridge_open=True), (2.0, 1.5, 0.0))
    look_round(world)
    for action in (
        "go_grab apple_1",
        "go_check microwave_1",
        "put apple_1 microwave_1",
    ):
        assert act(world, action).ok
    assert act(world, "close microwave_1").ok
    assert object_state(world, "apple")["temperature"] == "room"
    assert act(world, "toggle_on microwave_1").ok
    assert object_state(world, "apple")["temperature"] == "hot"


def test_exploring_names_what_is_in_the_room() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    answer = act(world, "go_explore hall")
    assert set(answer.details["seen"]) >= {"box_1", "cabinet_1"}
    assert world.pose("agent")["room"] == "hall"
    assert feedback(answer).startswith("You explored the hall. There you saw: ")


def test_names_go_by_first_sight_and_may_be_shared() -> None:
    poses = ((2.0, 1.5, 0.0), (5.0, 1.5, 0.0))
    own = start(flat(), *poses)
    shared = start(flat(), *poses, shared_names=True)
    for world in (own, shared):
        look_round(world, "agent_2")
    assert own.object_id("agent_1", "cabinet_1") is None
    assert shared.object_id("agent_1", "cabinet_1") == "cabinet"
    assert shared.name("agent_1", "cabinet") == "cabinet_1"
    # Knowing a name is not knowing the place.
    assert act(shared, "goto cabinet_1", "agent_1").status == "not_visible"
    assert act(own, "goto cabinet_1", "agent_1").status == "no_such_object"


def test_messages_come_at_the_next_turn_in_order_and_go_once_acted_on() -> None:
    world = start(flat(), (2.0, 1.5, 0.0), (5.0, 1.5, 0.0), (1.0, 1.0, 0.0))
    assert act(world, "chat one", "agent_1").details["to"] == ["agent_2", "agent_3"]
    assert act(world, "chat two", "agent_2").ok
    messages = [(m.sender, m.text) for m in world.observe("agent_3").messages]
    assert messages == [("agent_1", "one"), ("agent_2", "two")]
    assert describe(world.observe("agent_3")).endswith(
        "agent_1 says: one\nagent_2 says: two"
    )
    act(world, "turn_left", "agent_3")
    assert world.observe("agent_3").messages == ()
    assert [m.text for m in world.observe("agent_1").messages] == ["two"]
    assert world.state()["messages"][0] == ["agent_1", ["agent_2", "agent_3"], "one"]


def test_ask_reaches_the_answerer() -> None:
    answers = ScriptedAnswers(["in the fridge"])
    world = start(flat(), (2.0, 1.5, 0.0), answerer=answers)
    answer = world.step("agent", Action("ask", ("where is the apple?",)))
    assert feedback(answer) == "The answer: in the fridge"
    assert answers.asked == [("agent", "where is the apple?")]
    assert act(world, "ask again").status == "no_answer"


def test_stop_takes_an_answer_and_the_step_limit_ends_it_too() -> None:
    world = start(flat(), (2.0, 1.5, 0.0), body=Body(step_limit=2))
    act(world, "turn_left")
    assert not world.done("agent")
    act(world, "turn_left")
    assert world.done("agent")
    with pytest.raises(ValueError, match="not on the menu"):
        act(world, "turn_left")
    world = start(flat(), (2.0, 1.5, 0.0))
    assert world.step("agent", Action("stop", ("two",))).ok
    assert world.state()["actors"]["agent"]["answer"] == "two"


def test_the_menu_lists_what_makes_sense_and_takes_what_is_well_formed() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    space = world.action_space("agent")
    listed = [str(action) for action in space.listed]
    assert "pick_up[mug_1]" in listed
    assert "pick_up[table_1]" not in listed
    assert "put[mug_1, table_1]" not in listed
    assert "go_explore[hall]" in listed
    assert all(action in space for action in space.listed)
    assert all(
        world.step("agent", Action("pick_up", (name,))) for name in ("table_1", "x_9")
    )
    assert Action("chat", ("anything at all",)) not in space, "nobody else is there"
    assert Action("stop", ("an answer",)) in space
    for action in (
        Action("fly"),
        Action("pick_up"),
        Action("put", ("mug_1",)),
        Action("goto", ("",)),
    ):
        assert action not in space
        with pytest.raises(ValueError, match="not on the menu"):
            world.step("agent", action)
    act(world, "pick_up mug_1")
    assert "put[mug_1, table_1]" in [
        str(action) for action in world.action_space("agent").listed
    ]
    # The first menu still lists what it listed.
    assert [str(action) for action in space.listed] == listed


def test_a_body_offers_only_its_own_verbs() -> None:
    world = start(
        flat(), (2.0, 1.5, 0.0), body=Body(actions=("goto", "go_grab", "stop"))
    )
    assert {action.name for action in world.action_space("agent").listed} == {
        "goto",
        "go_grab",
        "stop",
    }
    assert Action("move_ahead") not in world.action_space("agent")
    assert world.action_space("agent").open_verbs == ("stop",)


def test_a_published_floor_is_where_feet_go() -> None:
    house = SceneBuilder("floor")
    house.room("room", [(0, 0), (3, 0), (3, 3), (0, 3)])
    house.furniture("bed", 1.5, 1.5, 3.0, 3.0, 0.5, name="bed")
    house.item("apple", x=2.6, y=0.5)
    house.floor([(0.5 + 0.25 * i, 0.5) for i in range(9)] + [(0.5, 0.75)], 0.25)
    scene = house.build()
    world = start(scene, (0.5, 0.5, 0.0))
    assert act(world, "move_ahead").ok
    assert act(world, "move_ahead").status == "blocked"
    look_round(world)
    assert act(world, "go_grab apple_1").ok
    layout = Layout(scene)
    assert nearest_place(layout, 0.2, (1.6, 1.4), []) == (1.5, 0.5)


def test_an_oracle_finds_the_way_to_what_no_one_has_seen() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    way = world.route("agent", "cabinet")
    assert way
    for action in way:
        assert world.step("agent", action).ok
    assert act(world, f"open {world.name('agent', 'cabinet')}").ok
    assert start(flat(shut=True), (2.0, 1.5, 0.0)).route("agent", "cabinet") is None


def test_bad_starts_and_settings_end_in_one_line() -> None:
    scene = flat()
    for poses in (
        {},
        {"agent": {"x": 2.0, "y": 2.6}},
        {"agent": {"x": "here", "y": 1}},
    ):
        with pytest.raises(DataError, match="episode 7"):
            HouseholdWorld(scene).reset(Episode("7", "", "flat", {"poses": poses}))
    with pytest.raises(DataError, match="'loft'"):
        HouseholdWorld(scene).reset(
            Episode("7", "", "loft", {"scene": "loft", "poses": {}})
        )
    with pytest.raises(UsageError, match="did you mean 'step'"):
        from_json({"stepp": 1})
    with pytest.raises(UsageError, match="divide 90"):
        Body(pan_degrees=40)
    broken = replace(scene, objects=(replace(scene.objects[0], parent="nowhere"),))
    with pytest.raises(DataError, match="'nowhere'"):
        validate(broken, "house.json")


def test_labels_become_types() -> None:
    labels = ["CounterTop", "TVStand", "CD", "Egg", "living room", "SinkBasin"]
    types = ["counter_top", "tv_stand", "cd", "egg", "living_room", "sink_basin"]
    assert [type_name(label) for label in labels] == types


def test_asking_whether_an_action_is_on_the_menu_makes_no_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: ActionMenu) -> list[Action]:
        raise AssertionError("the list was made")

    monkeypatch.setattr(ActionMenu, "listed", refuse)
    space = start(flat(), (2.0, 1.5, 0.0)).action_space("agent")
    assert Action("goto", ("table_1",)) in space
    assert Action("goto") not in space
    with pytest.raises(AssertionError, match="the list was made"):
        list(space.listed)


def test_no_one_leaves_the_house_by_the_front_door() -> None:
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (3, 0), (3, 3), (0, 3)])
    house.door("front", (1, 3), (2, 3))
    world = start(house.build(), (1.5, 2.0, 0.0))
    assert world.observe("agent").doors[0].rooms == ("room",)
    while (text := act(world, "move_ahead")).ok:
        pass
    assert feedback(text) == "The path is blocked by the edge of the house."
    assert act(world, "go_explore room").ok


def test_no_one_is_anything_to_itself() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    assert act(world, "goto agent").status == "no_such_object"


def test_a_body_without_a_radius_passes_through_all_but_the_edge_of_the_house() -> None:
    solid = start(flat(), (2.0, 1.5, 0.0))
    ghost = start(flat(), (2.0, 1.5, 0.0), body=Body(radius=0.0))
    texts = [
        [feedback(act(world, "move_ahead")) for _ in range(12)]
        for world in (solid, ghost)
    ]
    assert "The path is blocked by table_1." in texts[0]
    assert "The path is blocked by table_1." not in texts[1]
    assert texts[1][-1] == "The path is blocked by the edge of the house."


@pytest.mark.parametrize("away", [0.15, 0.3, 0.45])
@pytest.mark.parametrize("other", [0.2, 0.4])
@pytest.mark.parametrize("mine", [0.2, 0.4])
def test_a_door_stays_open_for_every_body_by_its_extent(
    mine: float, other: float, away: float
) -> None:
    """Whichever of them closes it, and the one who closes it as well."""
    for actor in ("agent_1", "agent_2"):
        world = start(flat(), (3.0, 1.5, 90.0), (4.0 + away, 1.5, 270.0))
        for name, radius in (("agent_1", mine), ("agent_2", other)):
            world.house.actors[name].body = Body(radius=radius)
        closed = act(world, "close door_1", actor)
        assert closed.ok == (away >= other)
        if not closed.ok:
            by = "you" if actor == "agent_2" else "agent_2"
            assert (closed.status, closed.details["by"]) == ("blocked", by)


@pytest.mark.parametrize(("first", "count"), [(0.7, 1), (2.8, 2)])
def test_a_check_names_the_contents_that_are_seen_and_no_others(
    first: float, count: int
) -> None:
    """Of a long shelf whose far end is out of view from where the body ends."""
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 4), (0, 4)])
    shelf = house.furniture("shelf", 2.0, 3.6, 3.0, 0.4, 0.8, receptacle="on")
    for x in (first, 3.2):
        house.item("cup", parent=shelf, x=x)
    world = start(house.build(), (3.0, 2.8, 0.0))
    checked = act(world, "go_check shelf_1")
    assert checked.ok
    view = world.observe("agent")
    seen = {each.name for each in view.objects if each.container == "shelf_1"}
    assert set(checked.details["contents"]) == seen
    assert len(seen) == count


def test_the_verbs_of_an_actor_follow_its_episode_and_the_answerer() -> None:
    """They are computed once an episode; an answerer may come later."""
    world = start(flat(), (2.0, 1.5, 0.0))
    assert "ask" not in world.action_space("agent").open_verbs
    world.answerer = lambda actor, question: "In the hall."
    assert "ask" in world.action_space("agent").open_verbs
    poses = {"agent": {"x": 2.0, "y": 1.5, "heading": 0.0}}
    bodies = {"agent": {"actions": ["turn_left", "stop"], "answers": False}}
    clone = copied(world)
    world.reset(Episode("2", "", "flat", {"poses": poses, "bodies": bodies}))
    space = world.action_space("agent")
    assert list(space.listed) == [Action("turn_left"), STOP]
    assert (space.open_verbs, Action("move_ahead") in space) == ((), False)
    assert Action("move_ahead") in clone.action_space("agent")
