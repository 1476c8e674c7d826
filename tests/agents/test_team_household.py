"""Commander and follower: they finish by talking, and the follower goes by sight and hearsay."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from helpers.playing import Scripted
from wayword.agents.strategies.agents import ReAct
from wayword.agents.strategies.strategy import StrategySettings
from wayword.agents.team.agent import Team, TeamSettings
from wayword.agents.team.messages import (
    AllDone,
    Command,
    Done,
    RoleBrief,
    Trouble,
    Verb,
    WhereAnswer,
    WhereQuestion,
    message_to,
    parse,
)
from wayword.agents.team.teach import Commander, Follower
from wayword.core.action import Action, Decision
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.ma_household import MaHousehold
from wayword.worlds.household.skills import PlannedReference

NAMES = some.from_regex(r"[a-z]{1,8}(_[a-z]{1,5})?_[1-9]", fullmatch=True)
ROOMS = some.sampled_from(("kitchen", "living room", "main bedroom", ""))
VERBS: some.SearchStrategy[Verb] = some.sampled_from(
    ("take", "bring", "switch on", "open")
)
SAYINGS = some.one_of(
    some.builds(Command, VERBS, NAMES, NAMES | some.just(""), ROOMS, NAMES, ROOMS),
    some.builds(Command, VERBS, NAMES, NAMES | some.just(""), ROOMS),
    some.builds(WhereAnswer, NAMES, NAMES | some.just(""), ROOMS),
    some.builds(WhereQuestion, NAMES),
    some.builds(Trouble, some.just("goto mug_1: no_path")),
    some.builds(Done),
    some.builds(AllDone),
)


@given(SAYINGS)
def test_what_is_stated_is_what_is_heard(reply: Any) -> None:
    assert parse(str(reply)) == reply


@pytest.mark.parametrize(
    "text", ["", "Hello!", "Please dance.", "Where is the mug?", "Done"]
)
def test_free_talk_is_no_command(text: str) -> None:
    assert parse(text) is None


def pairs(**settings: Any) -> MaHousehold:
    return MaHousehold(
        settings=MaHousehold.Settings(**{"homes": 9, "episodes": 9, **settings})
    )


def played(dataset: MaHousehold, task: Task, talk: bool = True) -> Trajectory:
    def make(toolkit: Toolkit, actor: str) -> Agent:
        return Team(TeamSettings(talk), toolkit)

    return asyncio.run(rollout(task, Setup(dataset, make, max_steps=dataset.max_steps)))


def sent_messages(trajectory: Trajectory, actor: str) -> list[Any]:
    return [
        parse(a.arguments[0]) for a in trajectory.actions(actor) if a.name == "chat"
    ]


def test_they_finish_and_each_command_is_answered_before_the_next() -> None:
    dataset = pairs()
    for task in dataset.tasks:
        trajectory = played(dataset, task)
        reference = task.reference
        assert isinstance(reference, PlannedReference)
        assert trajectory.ended == "stopped", trajectory.error
        assert reference.met(trajectory.state) == reference.parts(), task.episode.id
        talk = [
            (sender, parse(text)) for sender, _, text in trajectory.state["messages"]
        ]
        assert talk[-1] == ("commander", AllDone())
        for (one, first), (other, then) in pairwise(talk):
            assert {one, other} == {"commander", "follower"}, "they speak in turn"
            if isinstance(first, WhereQuestion):
                assert isinstance(then, WhereAnswer)
                assert then.object == first.object


def test_bodies_that_know_skills_alone_finish_too() -> None:
    dataset = pairs(episodes=4, actions="high")
    for task in dataset.tasks:
        trajectory = played(dataset, task)
        reference = task.reference
        assert isinstance(reference, PlannedReference)
        assert all(isinstance(step.decision, Decision) for step in trajectory.steps)
        assert reference.met(trajectory.state) == reference.parts(), task.episode.id


def test_a_body_of_single_steps_is_refused_in_one_line() -> None:
    dataset = pairs(episodes=1, actions="low")
    with pytest.raises(UsageError, match="actions=all"):
        played(dataset, dataset.tasks[0])


def test_without_words_nothing_is_done() -> None:
    dataset = pairs(episodes=1)
    task = dataset.tasks[0]
    trajectory = played(dataset, task, talk=False)
    assert trajectory.ended == "stopped"
    assert [str(action) for action in trajectory.actions("follower")] == ["stop"]


def test_the_follower_goes_for_nothing_that_it_has_not_seen_or_been_shown() -> None:
    dataset = pairs(episodes=3)
    for task in dataset.tasks:
        known: set[str] = set()
        for step in played(dataset, task).of("follower"):
            view: Any = step.observation
            known |= {seen.name for seen in (*view.objects, *view.doors)}
            known |= {w.strip(".?") for m in view.messages for w in m.text.split()}
            known |= {room.name for room in dataset.world(task.episode).scene.rooms}
            assert isinstance(step.decision, Decision)
            if step.decision.action.name != "chat":
                assert set(step.decision.action.arguments) <= known
            details = step.feedback.details
            known |= {*details.get("seen", ()), *details.get("contents", ())}


def test_a_follower_needs_no_goals_and_no_house() -> None:
    dataset = pairs(episodes=1)
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    nothing: Any = None
    follower = Follower(RoleBrief("follower", task.episode, nothing, nothing, nothing))
    view = world.observe("follower")
    idle = follower.act(view, world.action_space("follower"))
    assert isinstance(idle, Decision)
    assert idle.action == Action("turn_right"), "nobody has told it anything"


def test_an_object_that_is_not_where_it_was_reported_is_requested() -> None:
    dataset = pairs(episodes=2)
    task = dataset.tasks[1]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    world.step(
        "commander", Action("chat", (str(Command("take", "ghost_7", room="kitchen")),))
    )
    nothing: Any = None
    follower = Follower(RoleBrief("follower", task.episode, nothing, nothing, nothing))
    done: list[Action] = []
    while len(done) < 80 and not (done and done[-1].name == "chat"):
        decision = follower.act(
            world.observe("follower"), world.action_space("follower")
        )
        assert isinstance(decision, Decision)
        follower.on_feedback(decision, world.step("follower", decision.action))
        done.append(decision.action)
    assert done[-1] == Action("chat", ("Where is ghost_7?",))


@pytest.mark.parametrize("is_held", [False, True])
def test_a_knife_that_the_follower_holds_is_not_requested(is_held: bool) -> None:
    dataset = pairs(episodes=1, task="Sliced X")
    (task,) = dataset.tasks
    reference = task.reference
    assert isinstance(reference, PlannedReference)
    (order,) = [each for each in reference.plan if each.kind == "slice"]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    if is_held:
        knife = world.layout.index[order.other]
        world.house.actors[reference.worker].hands.append(knife)
    nothing: Any = None
    commander = Commander(
        RoleBrief("commander", task.episode, reference, world, nothing)
    )
    commands = list(commander._slice(order.object, order.other))
    verbs = [command.verb for command in commands if command.verb != "open"]
    assert verbs[:2] == (["slice", "bring"] if is_held else ["take", "slice"])


def test_a_command_that_cannot_be_carried_out_is_noted_and_the_rest_goes_on() -> None:
    dataset = pairs(episodes=1, task="Put All X In One Y")
    task = dataset.tasks[0]
    reference = task.reference
    assert isinstance(reference, PlannedReference)
    bad = replace(
        reference.plan[0],
        kind="slice",
        object="fridge|1",
        other=reference.plan[0].other,
    )
    knives = [
        o.id for o in dataset.world(task.episode).scene.objects if o.type == "knife"
    ]
    if knives:
        bad = replace(bad, other=knives[0])
    trajectory = played(
        dataset, replace(task, reference=replace(reference, plan=(bad,)))
    )
    assert trajectory.ended == "stopped"
    notes = [note for step in trajectory.steps for note in step.notes]
    assert {note.kind for note in notes} == {"trouble"}
    assert sent_messages(trajectory, "commander")[-1] == AllDone()


def test_a_models_prompts_hold_only_what_its_actor_is_shown() -> None:
    dataset = pairs(episodes=1)
    task = dataset.tasks[0]
    models = {
        actor: Scripted(["Thought: hm\nAction: turn_left"])
        for actor in task.episode.actors
    }

    def make(toolkit: Toolkit, actor: str) -> Agent:
        kit = replace(toolkit, models={"main": models[actor]})
        return ReAct(StrategySettings(decoding="free"), kit)

    asyncio.run(rollout(task, Setup(dataset, make, max_steps=2)))
    text = task.episode.extra["instructions"]
    assert all(text["commander"] in prompt for prompt in models["commander"].prompts)
    assert models["follower"].prompts
    for prompt in models["follower"].prompts:
        assert text["follower"] in prompt
        assert "Only you know this task" not in prompt
        assert not [line for line in text["commander"].splitlines() if line in prompt]


def test_two_followers_share_the_work_and_each_does_what_it_is_shown() -> None:
    dataset = pairs(episodes=4, followers=2)
    both = Counter[str]()
    for task in dataset.tasks:
        assert task.episode.actors == ("commander", "follower", "follower_2")
        trajectory = played(dataset, task)
        assert task.reference.met(trajectory.state) == task.reference.parts()  # type: ignore[attr-defined]
        for step in trajectory.of("commander"):
            if (
                isinstance(step.decision, Decision)
                and step.decision.action.name == "chat"
            ):
                text = step.decision.action.arguments[0]
                assert text.startswith(("follower: ", "follower_2: ", "That was all"))
                both[text.partition(":")[0]] += 1
    assert both["follower"] > 3
    assert both["follower_2"] > 3


def test_what_is_stated_to_another_is_not_heard() -> None:
    assert message_to("follower", "follower_2: Where is mug_1?") is None
    assert message_to("follower_2", "follower_2: Where is mug_1?") == "Where is mug_1?"
    assert message_to("follower", "Note: all is well") == "Note: all is well"


def test_either_side_answers_what_it_does_not_understand() -> None:
    dataset = pairs(homes=1, episodes=1)

    class Chatty(Team):
        async def act(self, observation: Any, space: Any) -> Any:
            decided = await super().act(observation, space)
            chat = decided.action.name == "chat"  # type: ignore[union-attr]
            if not chat and not getattr(self, "spoke", False):
                self.spoke = True
                return Decision(Action("chat", ("Lovely weather.",)))
            return decided

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return Chatty(Chatty.Settings(), toolkit)

    trajectory = asyncio.run(
        rollout(dataset.tasks[0], Setup(dataset, build, max_steps=400))
    )
    texts_by_key = {
        actor: [str(s.decision.action) for s in trajectory.steps if s.actor == actor]  # type: ignore[union-attr]
        for actor in ("commander", "follower")
    }
    for actor, shown in (
        ("follower", "Please take mug_1"),
        ("commander", "I cannot: (why)"),
    ):
        answers = [
            each for each in texts_by_key[actor] if "I did not understand" in each
        ]
        assert answers, (actor, texts_by_key)
        assert '"Lovely weather."' in answers[0]
        assert shown in answers[0]


def test_a_door_is_declared_in_one_room_whenever_it_is_named() -> None:
    """In the command, in the answer to a question, and when the command is given again."""
    dataset = pairs()
    task = dataset.tasks[0]  # the first command opens a door on the way
    world = dataset.world(task.episode)
    world.reset(task.episode)
    commander = Commander(
        RoleBrief("commander", task.episode, task.reference, world, Toolkit())
    )
    door = "door_1"
    rooms = []
    for heard in (
        "",
        str(WhereQuestion(door)),
        "Done.",
        "I cannot: goto door_1: no_path.",
    ):
        if heard:
            world.step("follower", Action("chat", (heard,)))
        decision = commander.act(
            world.observe("commander"), world.action_space("commander")
        )
        assert isinstance(decision, Decision)
        sentence = parse(decision.action.arguments[0])
        if isinstance(sentence, Command | WhereAnswer) and sentence.object == door:
            rooms.append(sentence.room)
    assert len(rooms) == 4
    assert len(set(rooms)) == 1


def test_a_door_between_no_rooms_is_in_none(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = pairs()
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    scene = world.layout.scene
    bare = replace(scene, doors=tuple(replace(door, rooms=()) for door in scene.doors))
    monkeypatch.setattr(world.layout, "scene", bare)
    commander = Commander(
        RoleBrief("commander", task.episode, task.reference, world, Toolkit())
    )
    question = "follower", Action("chat", (str(WhereQuestion("door_1")),))
    answers = []
    for heard in (None, question):
        if heard:
            world.step(*heard)
        decision = commander.act(
            world.observe("commander"), world.action_space("commander")
        )
        assert isinstance(decision, Decision)
        answers.append(decision.action.arguments[0])
    assert parse(answers[1]) == WhereAnswer("door_1")
