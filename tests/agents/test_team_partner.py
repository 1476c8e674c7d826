"""Partners: what they say is read as it was meant, they know only what they saw or were told, the
first to claim has it, and together they finish."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from wayword.agents.team.agent import Team, TeamSettings
from wayword.agents.team.messages import (
    FetchClaim,
    GivingUp,
    Location,
    Placed,
    RoleBrief,
    Searched,
    needs_reply,
    not_understood,
    parse_all,
)
from wayword.agents.team.partner import (
    VERBS,
    Knowledge,
    Partner,
    Want,
    WantStatus,
    Whereabouts,
)
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Feedback
from wayword.datasets.ma_wah import MaWah
from wayword.worlds.household.goals import Held, HouseholdReference, Inside
from wayword.worlds.household.observation import HeldObject, HouseholdObservation
from wayword.worlds.household.verbs import Body

NAMES = some.sampled_from(("plate_1", "wine_bottle_12", "table_2", "tv_stand_3"))
ROOMS = some.sampled_from(("kitchen", "living room", "bedroom 2", ""))
SAYINGS = some.one_of(
    some.builds(Location, NAMES, some.just("on"), NAMES, ROOMS),
    some.builds(Location, NAMES, some.just(""), some.just(""), ROOMS),
    some.builds(FetchClaim, NAMES, NAMES | some.just("")),
    some.builds(Placed, NAMES, some.sampled_from(("on", "in")), NAMES),
    some.builds(GivingUp, NAMES),
    some.builds(Searched, ROOMS.filter(bool)),
)


@settings(deadline=None)
@given(some.lists(SAYINGS, min_size=1, max_size=6))
def test_what_is_stated_is_what_is_heard(sayings: list[Any]) -> None:
    assert parse_all(" ".join(map(str, sayings))) == tuple(sayings)


def test_free_talk_between_the_sentences_is_passed_over() -> None:
    text = (
        "Hello there! I take plate_1. What a nice kitchen. I see fork_2 in the kitchen."
    )
    assert parse_all(text) == (
        FetchClaim("plate_1"),
        Location("fork_2", room="kitchen"),
    )
    assert parse_all("I take everything. I see a plate.") == ()


def test_of_two_who_claim_an_object_the_first_to_say_so_has_it() -> None:
    mind = Knowledge("agent_3")
    mind.hear("agent_2", [FetchClaim("plate_1", "table_1")])
    mind.hear("agent_1", [FetchClaim("plate_1", "desk_1")])
    assert mind.claims == {"plate_1": "agent_2"}
    assert mind.destinations == {"plate_1": "table_1"}
    mind.hear("agent_1", [GivingUp("plate_1")])
    assert mind.claims == {"plate_1": "agent_2"}, "nobody gives up what is another's"
    mind.hear("agent_2", [GivingUp("plate_1")])
    assert mind.claims == {}


def jobs(agents: int, episodes: int = 4, **settings: Any) -> MaWah:
    return MaWah(
        settings=MaWah.Settings(homes=2, episodes=episodes, agents=agents, **settings)
    )


def play(
    dataset: MaWah, task: Task, talk: bool = True, team: type[Team] = Team
) -> Trajectory:
    def build(toolkit: Toolkit, actor: str) -> Team:
        return team(TeamSettings(talk), toolkit)

    setup = Setup(dataset, build, max_steps=dataset.max_steps)
    return asyncio.run(rollout(task, setup))


def solved(task: Task, trajectory: Trajectory) -> bool:
    assert isinstance(task.reference, HouseholdReference)
    assert trajectory.ended != "failed", trajectory.error
    return task.reference.met(trajectory.state) == task.reference.parts()


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_any_number_of_partners_finishes_together(agents: int) -> None:
    dataset = jobs(agents, episodes=5)
    for task in dataset.tasks:
        trajectory = play(dataset, task)
        assert solved(task, trajectory), task.episode.id
        assert trajectory.ended == "stopped"
        assert {step.actor for step in trajectory.steps} == set(task.episode.actors)


class Watched(Team):
    """A team whose minds are compared with what reached them."""

    def __init__(self, settings: TeamSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self.met: set[str] = set()

    async def act(self, observation: Any, space: Any) -> Any:
        assert isinstance(observation, HouseholdObservation)
        seen = {o.name for o in observation.objects} | {
            o.container for o in observation.objects
        }
        seen |= {obj for other in observation.others for obj in other.holding}
        seen |= {held.name for held in observation.holding}
        reply = {
            word.strip(".") for m in observation.messages for word in m.text.split()
        }
        self.met |= seen | reply
        decision = await super().act(observation, space)
        self._judge()
        return decision

    def on_feedback(self, decision: Any, feedback: Any) -> None:
        for key in ("seen", "contents"):
            self.met |= set(feedback.details.get(key, ()))
        for key in ("object", "receptacle"):
            self.met |= {feedback.details.get(key, "")}
        super().on_feedback(decision, feedback)
        self._judge()

    def _judge(self) -> None:
        assert isinstance(self._role, Partner)
        mind = self._role.knowledge
        known = {*mind.objects, *mind.claims, *mind.placed, *mind.holders}
        known |= {at.place for at in mind.objects.values()}
        strange = {
            name for name in known if name and not name.startswith("door_")
        } - self.met
        assert not strange, (
            f"{mind.actor} knows {strange}, which it neither saw nor was told"
        )
        own = {name for name, at in mind.objects.items() if at.firsthand}
        truly = {
            self._world.layout.index[i]
            for name in own
            if (i := self._world.object_id(mind.actor, name)) is not None
        }
        seen = self._world.house.actors[mind.actor].discovered
        assert all(seen[i] for i in truly), (
            "what it calls its own view is what it has seen"
        )


@pytest.mark.parametrize("agents", [2, 3])
def test_each_knows_only_what_it_has_seen_or_been_shown(agents: int) -> None:
    dataset = jobs(agents)
    for task in dataset.tasks:
        assert solved(task, play(dataset, task, team=Watched)), task.episode.id


def test_messages_come_before_the_next_turn_of_who_they_are_for_and_in_order() -> None:
    dataset = jobs(3)
    sent = 0
    for task in dataset.tasks:
        waiting: dict[str, list[tuple[str, str]]] = {
            actor: [] for actor in task.episode.actors
        }
        for step in play(dataset, task).steps:
            observation = step.observation
            assert isinstance(observation, HouseholdObservation)
            heard = [(m.sender, m.text) for m in observation.messages]
            assert heard == waiting[step.actor]
            waiting[step.actor] = []
            if (
                isinstance(step.decision, Decision)
                and step.decision.action.name == "chat"
            ):
                for other in step.feedback.details.get("to", ()):
                    waiting[other].append(
                        (step.actor, step.decision.action.arguments[0])
                    )
                    sent += 1
    assert sent


def test_no_one_goes_for_what_another_has_claimed() -> None:
    dataset = jobs(3, episodes=6)
    claims = 0
    for task in dataset.tasks:
        owner: dict[str, str] = {}
        for step in play(dataset, task).steps:
            assert isinstance(step.decision, Decision)
            action = step.decision.action
            if action.name == "chat":
                for saying in parse_all(action.arguments[0]):
                    if isinstance(saying, FetchClaim):
                        owner.setdefault(saying.object, step.actor)
                        claims += 1
                    elif isinstance(saying, GivingUp | Placed):
                        owner.pop(saying.object, None)
            elif action.name == "go_grab":
                assert owner.get(action.arguments[0]) == step.actor
    assert claims


def test_an_object_that_cannot_be_taken_is_given_up_after_three_attempts() -> None:
    class Lidded(MaWah):
        """Homes in which all that is in or on something is behind a closed lid."""

        def world(self, episode: Episode) -> Any:
            world = super().world(episode)
            step = world.step

            def failing(actor: str, action: Action) -> Feedback:
                if action.name != "go_grab":
                    return step(actor, action)
                for item in world.observe(actor).objects:
                    if item.name == action.arguments[0]:
                        return Feedback("closed", {"receptacle": item.container})
                return Feedback("not_visible")

            world.step = failing
            return world

    dataset = Lidded(settings=MaWah.Settings(homes=2, episodes=1, agents=1))
    trajectory = play(dataset, dataset.tasks[0])
    assert trajectory.ended == "stopped", trajectory.error
    tries = Counter(
        (step.actor, step.decision.action.arguments)
        for step in trajectory.steps
        if isinstance(step.decision, Decision)
        and step.decision.action.name == "go_grab"
    )
    assert max(tries.values()) == 3


@pytest.mark.parametrize(
    ("held", "table_seen", "following"),
    [
        # The pen in the last hand has no place: for the mug, the table is checked before "put".
        (("mug_1", "pen_1"), True, Action("go_check", ("table_1",))),
        # Of two that belong there, the one that "go_put" takes: the last one.
        (("mug_1", "mug_2"), True, Action("go_put", ("table_1",))),
        # The table is known from a message.
        (("mug_1",), False, Action("go_explore", ("hall",))),
    ],
)
def test_an_action_that_is_not_taken_leaves_no_trace(
    held: tuple[str, ...], table_seen: bool, following: Action
) -> None:
    goals = (Inside(("mug_1", "mug_2"), ("table_1",), parts=2), Held(("pen_1",)))
    body = Body(actions=VERBS, inventory_capacity=3)
    world: Any = SimpleNamespace(
        house=SimpleNamespace(actors={"agent_1": SimpleNamespace(body=body)}),
        object_id=lambda actor, name: name,
    )
    brief = RoleBrief(
        "agent_1",
        Episode("e", "", "s", {}, ("agent_1",)),
        HouseholdReference("e", goals=goals),
        world,
        Toolkit({}),
    )
    partner = Partner(brief)
    partner.knowledge.viewed_rooms.add("hall")
    partner.knowledge.objects["table_1"] = Whereabouts("", "", "hall", table_seen)
    space = ActionSpace([Action("go_explore", (each,)) for each in ("attic", "hall")])

    def act(holding: tuple[str, ...]) -> Decision | Rejection:
        hands = tuple(HeldObject(name, (), ()) for name in holding)
        return partner.act(
            HouseholdObservation("agent_1", "attic", 0.0, hands, (), (), (), ()), space
        )

    # With a free hand it searches for the rest.
    assert act(held) == Decision(Action("go_explore", ("attic",)))
    partner.knowledge.viewed_rooms.add("attic")
    if held[-1] == "mug_2":
        assert act(held) == Decision(following)
    else:
        assert act(("mug_1", "mug_2", "pen_1")) == Decision(following)


PLATES = tuple(f"plate_{number}" for number in range(1, 6))


@pytest.mark.parametrize(
    ("placed", "claimed", "target"),
    [
        ((), (), "desk_1"),  # all actors choose alike
        (("table_1",), (), "table_1"),
        ((), ("table_1",), "table_1"),
        (("table_1", "desk_1"), (), "desk_1"),
        (("table_1", "desk_1"), ("table_1",), "table_1"),
        (("table_1", "desk_1", "desk_1"), ("table_1",), "desk_1"),
        (("bed_1", "bed_1", "table_1"), (), "table_1"),  # no place of the goal
    ],
)
def test_objects_go_to_the_place_of_the_goal_where_most_of_them_are(
    placed: tuple[str, ...], claimed: tuple[str, ...], target: str
) -> None:
    """Placed or claimed for it: two plates on two tables would not be "two on a table"."""
    want = Want(frozenset(PLATES), ("table_1", "desk_1"), 2)
    knowledge = Knowledge("agent_1")
    for place in ("table_1", "desk_1", "bed_1"):
        knowledge.objects[place] = Whereabouts(room="hall")
    knowledge.placed = dict(zip(PLATES, placed, strict=False))
    knowledge.destinations = dict(zip(reversed(PLATES), claimed, strict=False))
    status = WantStatus([want], lambda name: name, knowledge)
    assert status.targets == [target]


def test_silent_partners_say_nothing() -> None:
    dataset = jobs(2)
    for task in dataset.tasks[:2]:
        assert play(dataset, task, talk=False).state["messages"] == []


def test_bodies_that_only_step_cannot_play_a_partner() -> None:
    dataset = jobs(2, actions="low")
    with pytest.raises(UsageError, match="actions=high"):
        play(dataset, dataset.tasks[0])


def test_an_unknown_role_is_answered_with_those_there_are() -> None:
    dataset = jobs(2)
    task = dataset.tasks[0]
    episode = replace(task.episode, extra={"roles": {"agent_1": "cook"}})
    with pytest.raises(UsageError, match="agent_1 has the role 'cook'"):
        play(dataset, replace(task, episode=episode))


@pytest.mark.parametrize("text", ["Could you look for the mugs?", "hello"])
def test_a_message_of_no_known_form_is_answered_by_what_can_be_stated(
    text: str,
) -> None:
    assert needs_reply(text)
    answer = not_understood("partner", text)
    assert answer.startswith(
        f'I did not understand "{text}". I understand: I see mug_1'
    )
    assert parse_all(answer) == ()  # the sentences it shows are claims of nobody
    assert not needs_reply(answer)
    assert not needs_reply("Hello. I take plate_1.")
    assert not needs_reply(" ")


def test_a_partner_answers_anybody_who_is_not_understood() -> None:
    dataset = jobs(2, 1)

    class Chatty(Team):
        async def act(self, observation: Any, space: Any) -> Any:
            if observation.actor == "agent_2" and not getattr(self, "spoke", False):
                self.spoke = True
                return Decision(Action("chat", ("Shall we begin?",)))
            return await super().act(observation, space)

    trajectory = play(dataset, dataset.tasks[0], team=Chatty)
    assert solved(dataset.tasks[0], trajectory)
    messages = [
        str(step.decision.action)
        for step in trajectory.steps
        if step.actor == "agent_1"
    ]  # type: ignore[union-attr]
    assert any('I did not understand "Shall we begin?"' in each for each in messages)
