"""The planner: plans are checked, carried out and revised; players read nothing but its prompts."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import honest_player as honest
from helpers.golden import check_golden
from helpers.playing import flat as flat_text
from helpers.sampling import LONG
from helpers.small_flat import SmallFlat, flat
from helpers.two_in_a_flat import TwoInAFlat
from wayword.agents.strategies.planner import PlannerAgent, PlannerSettings, SceneGraph
from wayword.core import registry
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import Agent
from wayword.core.episode import Episode
from wayword.core.model import Completion, Prompt, Sampling, Usage
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import SLIPPED, Feedback
from wayword.datasets.household import Household
from wayword.metrics.household import score_state
from wayword.worlds.household.observation import SeenObject
from wayword.worlds.household.world import HouseholdWorld

GOLDEN = Path(__file__).parent.parent / "golden"
EPISODES = 50 if LONG else 7
"""Episodes of the comparison: one or more of each of the seven types of request."""
DONE = (
    *(
        r"and picked it up",
        r"and put .* it",
        r"You (?:heated|cooled|cleaned|switched on)",
    ),
    *(r"You sliced", r"You dropped"),
)


class PlanReader(honest.Honest):
    """A player who plans a household request from the words of the prompt alone."""

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        fixed, now = (str(message.content) for message in prompt)  # type: ignore[union-attr]
        steps = plan(fixed, now)
        self.said.append("; ".join(steps))
        listed = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
        return Completion((f"Thought: on\nPlan:\n{listed}",), ("stop",), Usage(1, 1))


def plan(fixed: str, now: str) -> list[str]:
    """The steps that are left of the request, by the steps that have been taken."""
    task = now.partition("\n")[0].removeprefix("Task: ")
    taken = now.partition("Your steps so far:\n")[2].partition("\n\n")[0].splitlines()
    done = [line for line in taken if re.search("|".join(DONE), line)]
    seen = dict.fromkeys(
        re.findall(r"\b[a-z]\w*_\d+\b", now.partition("Your steps so far")[0])
    )
    notes = honest.Notes.of(fixed)

    def name(phrase: str, number: int = 1) -> str:
        like = [
            one for one in notes.like(phrase, [*seen]) if one.endswith(f"_{number}")
        ]
        kind = notes.words.get(phrase, phrase).replace(" ", "_")
        return like[0] if like else f"{kind}_{number}"

    def put(place: str) -> list[str]:
        return [f"go_put[{place}]"]

    lower = task.lower()
    words = honest.phrases(task)
    how = next(
        (v for v, reply in honest._TREATED.items() if re.search(reply, lower)), ""
    )
    if "lamp" in lower:
        lamp = name(next(word for word in words if "lamp" in word))
        item = name(next(word for word in words if "lamp" not in word))
        jobs = [[f"go_grab[{item}]"], [f"goto[{lamp}]", f"toggle_on[{lamp}]"]]
    elif re.search(r"\b(two|pair)\b", lower):
        item = honest.singular(words[0].removeprefix("pair of "))
        place = name(words[-1])
        jobs = [
            [f"go_grab[{name(item)}]"],
            put(place),
            [f"go_grab[{name(item, 2)}]"],
            put(place),
        ]
    elif not how and len(words) == 3:
        item, movable, place = words
        if re.search(r"i need", lower):
            movable, place, item = words
        elif re.search(r"holding", lower):
            item, movable = movable, item
        jobs = [
            [f"go_grab[{name(item)}]"],
            put(name(movable)),
            [f"go_grab[{name(movable)}]"],
        ]
        jobs += [put(name(place))]
    else:
        item = name(words[0])
        tool = {"heat": "microwave", "cool": "fridge", "clean": "sink_basin"}.get(
            how, ""
        )
        walk = [f"goto[{tool}_1]"] if how == "clean" else []
        jobs = [[f"go_grab[{item}]"]]
        jobs += [[*walk, f"{how}[{item}, {tool}_1]"]] if how else []
        jobs += [put(name(words[-1]))]
    steps = [step for job in jobs[len(done) :] for step in job]
    unseen = dict.fromkeys(
        one for step in steps for one in re.findall(r"\w+_\d+", step)
    )
    return [*(f"find[{one}]" for one in unseen if one not in seen), *steps, "stop"]


def play(
    agent: str, model: honest.Honest, number: int, **settings: Any
) -> tuple[Trajectory, float]:
    """An episode of the generated homes, and its success."""
    dataset = Household(settings=Household.Settings())
    made = registry.load("agent", agent)
    task = dataset.tasks[number]
    given = {"decoding": "free", "context": 100_000, **settings}
    setup = Setup(
        dataset,
        lambda toolkit, _: made(made.Settings(**given), toolkit),
        {"main": model},
        max_steps=150,
    )
    played = asyncio.run(rollout(task, setup))
    assert played.ended != "failed", played.error
    return played, score_state(task.reference, played.state)["sr"]  # type: ignore[arg-type]


def test_a_third_of_the_calls_at_equal_success() -> None:
    """The same requests by players who read nothing but the prompt: step by step, and by plans."""
    calls = {"react": 0, "planner": 0}
    solved = {"react": 0.0, "planner": 0.0}
    for number in range(EPISODES):
        for agent, model in (
            ("react", honest.Honest(honest.household)),
            ("planner", PlanReader(honest.household)),
        ):
            _, success = play(agent, model, number)
            calls[agent] += len(model.said)
            solved[agent] += success
    assert solved["planner"] >= solved["react"] > EPISODES * 0.8, solved
    assert calls["planner"] * 3 <= calls["react"], calls


class PlanPlayer(honest.Honest):
    """Gives the plans in order, the last one again and again, as labelled lines."""

    def __init__(self, *plans: str) -> None:
        super().__init__(honest.household)
        self.plans = list(plans)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.prompts.append(prompt)
        steps = self.plans.pop(0) if self.plans[1:] else self.plans[0]
        self.said.append(steps)
        return Completion((f"Thought: on\nPlan:\n{steps}",), ("stop",), Usage(1, 1))

    @property
    def shown(self) -> list[str]:
        return [str(prompt[-1].content) for prompt in self.prompts]  # type: ignore[union-attr]


class ClosedFlat(SmallFlat):
    """The flat with its door closed."""

    def world(self, episode: Episode) -> HouseholdWorld:
        scene = flat()
        doors = tuple(replace(door, open=False) for door in scene.doors)
        return HouseholdWorld(replace(scene, doors=doors), self.body)


def in_the_flat(
    model: PlanPlayer, steps: int = 8, dataset: SmallFlat | None = None, **settings: Any
) -> tuple[list[str], Trajectory]:
    """The actions of a run in the flat of two rooms, with ``rejected`` for refused answers."""
    dataset = dataset or SmallFlat()
    given = PlannerSettings(**{"decoding": "free", **settings})
    setup = Setup(
        dataset,
        lambda toolkit, _: PlannerAgent(given, toolkit),
        {"main": model},
        max_steps=steps,
    )
    played = asyncio.run(rollout(dataset.tasks[0], setup))
    assert played.ended != "failed", played.error
    taken = [
        str(step.decision.action) if isinstance(step.decision, Decision) else "rejected"
        for step in played.steps
    ]
    return taken, played


PLAN = "1. find[box_1]\n2. go_grab[mug_1]\n3. go_put[box_1]\n4. stop"
WALK = ["go_explore[kitchen]", "go_explore[hall]"]


def test_one_plan_searches_opens_doors_and_carries_out_the_rest() -> None:
    taken, played = in_the_flat(model := PlanPlayer(PLAN))
    doors = ["goto[door_1]", "open[door_1]", "go_explore[hall]"]
    rest = ["go_grab[mug_1]", "go_put[box_1]", "stop"]
    assert taken == [*WALK, *rest]
    again, _ = in_the_flat(PlanPlayer(PLAN), dataset=ClosedFlat())
    assert again == [*WALK, *doors, *rest]
    assert len(model.said) == 1
    thought = played.steps[0].decision.thought
    assert thought == "on Plan: find[box_1]; go_grab[mug_1]; go_put[box_1]; stop"
    assert not any(step.decision.thought for step in played.steps[1:])


def test_a_plan_of_what_was_not_seen_is_revised_before_a_step_is_taken() -> None:
    taken, _ = in_the_flat(
        model := PlanPlayer("1. go_grab[cup_1]", "1. go_grab[Mug 1]\n2. stop")
    )
    assert taken == ["go_grab[mug_1]", "stop"]
    assert (
        "was not carried out. go_grab[cup_1]: you have not seen cup_1" in model.shown[1]
    )


def test_a_plan_may_name_what_its_earlier_steps_may_show() -> None:
    taken, _ = in_the_flat(
        model := PlanPlayer("1. go_explore[hall]\n2. go_check[box_1]\n3. stop")
    )
    assert (taken, len(model.said)) == (
        ["go_explore[hall]", "go_check[box_1]", "stop"],
        1,
    )


def test_a_door_that_was_not_seen_is_looked_for_in_the_room() -> None:
    """The flat with its door closed, seen from a start that faces away from it."""
    taken, _ = in_the_flat(
        model := PlanPlayer("1. go_explore[hall]\n2. stop"), dataset=ClosedFlat()
    )
    door = ["go_explore[kitchen]", "goto[door_1]", "open[door_1]", "go_explore[hall]"]
    assert (taken, len(model.said)) == (
        ["go_explore[hall]", *door[:1], "go_explore[hall]", *door[1:], "stop"],
        1,
    )


def test_a_step_that_is_not_possible_leads_to_a_new_plan_without_being_taken() -> None:
    plans = "1. go_grab[mug_1]\n2. go_grab[mug_1]\n3. stop", "1. stop"
    taken, _ = in_the_flat(model := PlanPlayer(*plans))
    assert taken == ["go_grab[mug_1]", "stop"]
    assert "ended at this step. go_grab[mug_1] is not possible now" in model.shown[1]
    taken, _ = in_the_flat(model := PlanPlayer(*plans), check=False)
    assert taken == ["go_grab[mug_1]", "go_grab[mug_1]", "stop"]
    assert (
        "ended at this step. go_grab[mug_1]: You hold mug_1 already" in model.shown[1]
    )


def test_without_new_plans_what_fails_is_skipped_and_the_end_of_the_plan_is_the_end() -> (
    None
):
    plan = "1. go_grab[mug_1]\n2. go_grab[mug_1]\n3. drop[mug_1]"
    taken, _ = in_the_flat(model := PlanPlayer(plan), replan=False, check=False)
    assert taken == ["go_grab[mug_1]", "go_grab[mug_1]", "drop[mug_1]", "stop"]
    assert len(model.said) == 1


def test_an_answer_without_a_plan_costs_a_step_after_two_revisions() -> None:
    taken, played = in_the_flat(model := PlanPlayer("1. dance[mug_1]"), steps=2)
    assert taken == ["rejected", "rejected"]
    assert len(model.said) == 4, "the same answer is not asked for again"
    refused = played.steps[0].decision
    assert isinstance(refused, Rejection)
    assert refused.reason.startswith("step 1: there is no action 'dance[mug_1]'")


def test_search_and_graph_can_be_left_out() -> None:
    taken, _ = in_the_flat(
        model := PlanPlayer("1. go_grab[mug_1]\n2. stop"), search=False, graph=False
    )
    fixed, shown = str(model.prompts[0][0].content), model.shown[0]  # type: ignore[union-attr]
    assert taken == ["go_grab[mug_1]", "stop"]
    assert "find[" not in fixed
    assert "What you know of the house" not in shown


def test_the_prompt_after_a_failure() -> None:
    """Constrained, as is usual, in the flat with its door closed."""
    plans = (
        "1. go_put[table_1]",
        "1. go_explore[kitchen]\n2. go_explore[hall]\n3. stop",
        "1. stop",
    )
    settings = {"decoding": "constrained", "search": False, "check": False}
    _, played = in_the_flat(
        PlanPlayer(*plans), dataset=ClosedFlat(), step_limit="counted", **settings
    )
    calls = [call for step in played.steps for call in step.calls]
    check_golden(GOLDEN / "planner_failed.txt", flat_text(calls[-1].prompt) + "\n")


def test_rooms_collapse_to_a_number_of_objects() -> None:
    _, played = in_the_flat(
        PlanPlayer("1. go_explore[kitchen]\n2. go_explore[hall]\n3. stop")
    )
    graph = SceneGraph()
    for step in played.steps:
        graph.see(step.observation)  # type: ignore[arg-type]
        graph.learn(step.feedback)
    kitchen = "kitchen (explored):\n  in or on table_1: mug_1 (dirty)"
    hall = "hall (explored, you are here):\n  box_1 (closed)"
    doors = "doors: door_1 (open, kitchen)"
    assert graph.text(["kitchen", "hall"], "hall", 2) == f"{kitchen}\n{hall}\n{doors}"
    collapsed = graph.text(["kitchen", "hall"], "hall", 1)
    assert collapsed == f"kitchen (explored): 2 objects\n{hall}\n{doors}"


def test_an_object_in_the_hand_is_in_no_room() -> None:
    _, played = in_the_flat(
        PlanPlayer("1. go_grab[mug_1]\n2. go_explore[hall]\n3. stop")
    )
    graph = SceneGraph()
    for step in played.steps:
        graph.see(step.observation)  # type: ignore[arg-type]
        graph.learn(step.feedback)
    last = played.steps[-1].observation
    assert [held.name for held in last.holding] == ["mug_1"]  # type: ignore[attr-defined]
    assert "mug_1" not in graph.text(["kitchen", "hall"], "hall", 2)


def planner(**settings: Any) -> PlannerAgent:
    toolkit = SimpleNamespace(
        models={}, eyes=None, max_steps=9, needs_stop=True, note=lambda *_, **__: None
    )
    return PlannerAgent(PlannerSettings(**settings), toolkit)  # type: ignore[arg-type]


class Messenger(Agent):
    """Says something at its second turn, or nothing, and waits."""

    families = frozenset({"household"})

    def __init__(self, message: str) -> None:
        self.turns = 0
        self.message = message

    async def act(self, observation: Any, space: Any) -> Decision:
        self.turns += 1
        if self.turns == 2 and self.message:
            return Decision(Action("chat", (self.message,)))
        return Decision(Action("wait"))


@pytest.mark.parametrize("replan", [True, False])
@pytest.mark.parametrize("speaks", [True, False])
def test_a_message_makes_a_plan_obsolete(speaks: bool, replan: bool) -> None:
    dataset = TwoInAFlat()
    model = PlanPlayer("\n".join(f"{n}. turn_left" for n in range(1, 7)))
    settings = PlannerSettings(decoding="free", replan=replan)

    def built(toolkit: Any, actor: str) -> Agent:
        if actor == "ann":
            return PlannerAgent(settings, toolkit)
        return Messenger("Leave the apple." if speaks else "")

    setup = Setup(dataset, built, {"main": model}, max_steps=5)
    played = asyncio.run(rollout(dataset.tasks[0], setup))
    assert played.ended != "failed", played.error
    is_new = speaks and replan
    taken = [str(action) for action in played.actions("ann")]
    assert taken == ["turn_left"] * 5, "of the old plan or of the new one"
    assert len(model.said) == 1 + is_new
    assert ("Leave the apple." in model.shown[-1]) == is_new


GRAB = Decision(Action("go_grab", ("mug_1",)))


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("search", [True, False])
def test_a_closed_door_on_the_way_is_opened_once_for_a_plan(
    search: bool, is_known: bool
) -> None:
    """A door that was never seen is looked for, and one that stays closed ends the plan."""
    agent = planner(search=search)
    agent._graph.names = {"door_1"} if is_known else set()
    agent._graph.here = "hall"
    blocked = Feedback("failed", {"doors": ["door_1"]})
    agent._plan = [Action("stop")]
    agent.on_feedback(GRAB, blocked)
    planned = [str(step) for step in agent._plan]
    opening = ["goto[door_1]", "open[door_1]"] if is_known else ["go_explore[hall]"]
    assert planned == ([*opening, "go_grab[mug_1]", "stop"] if search else [])
    agent._plan = [Action("stop")]
    agent.on_feedback(GRAB, blocked)
    if search and is_known:
        assert str(agent._plan[0]) == "go_explore[hall]"
        agent._plan = [Action("stop")]
        agent.on_feedback(GRAB, blocked)
    assert agent._plan == [], "nothing is tried twice"


@pytest.mark.parametrize("replan", [True, False])
@pytest.mark.parametrize("status", ["ok", "slipped", "failed"])
def test_a_failure_ends_the_plan_and_a_slip_repeats_its_step(
    status: Any, replan: bool
) -> None:
    agent = planner(replan=replan)
    agent._plan = [Action("stop")]
    agent.on_feedback(GRAB, Feedback(status))
    expected = ["stop"]
    if status == SLIPPED:
        expected = ["go_grab[mug_1]", "stop"]
    elif status == "failed" and replan:
        expected = []
    assert [str(step) for step in agent._plan] == expected


@pytest.mark.parametrize("explored", [True, False])
@pytest.mark.parametrize("tried", [True, False])
def test_a_search_goes_to_places_that_were_neither_tried_nor_explored(
    tried: bool, explored: bool
) -> None:
    agent = planner()
    agent._tried = {"hall"} if tried else set()
    agent._graph.explored = {"hall"} if explored else set()
    agent._plan = [Action("find", ("mug_1", "hall"))]
    space: Any = SimpleNamespace(rooms=("hall", "den"), open_verbs=(), listed=())
    room = "den" if tried or explored else "hall"
    assert agent._next(space) == Action("go_explore", (room,))
    assert [step.name for step in agent._plan] == ["find"], "it goes on after it"


@pytest.mark.parametrize("ok", [True, False])
def test_what_a_search_could_not_get_to_is_tried_again_after_a_success(
    ok: bool,
) -> None:
    agent = planner()
    agent._tried = {"box_1", "hall"}
    agent._unreached = {"box_1"}
    agent._plan = [Action("find", ("mug_1",))]
    visit = Decision(Action("go_check", ("pan_1",)))
    agent.on_feedback(visit, Feedback("ok" if ok else "failed"))
    assert agent._tried == ({"hall"} if ok else {"box_1", "hall"})
    assert agent._unreached == (set() if ok else {"box_1", "pan_1"})


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("was_seen", [True, False])
def test_an_object_in_view_has_its_states_from_there(
    was_seen: bool, is_closed: bool
) -> None:
    graph = SceneGraph()
    closed = ["box_1"] if is_closed else []
    explored = Feedback(
        "ok",
        {"action": "go_explore", "room": "hall", "seen": ["box_1"], "closed": closed}
        | {"places": {}},
    )
    if was_seen:
        view = SimpleNamespace(room="hall", holding=(), doors=(), others=())
        item = SeenObject("box_1", "left", 0.0, 1.0, "", "", ("open", "dirty"), None)
        view.objects = (item,)
        graph.see(view)  # type: ignore[arg-type]
    graph.learn(explored)
    states = "open, dirty" if was_seen else "closed" * is_closed
    expected = f"box_1 ({states})" if states else "box_1"
    assert graph.text(["hall"], "hall", 1).splitlines()[1].strip() == expected


@pytest.mark.parametrize("full", range(5))
def test_the_latest_rooms_are_written_in_full_and_the_others_as_a_number(
    full: int,
) -> None:
    graph = SceneGraph()
    rooms = ["attic", "den", "hall"]
    for room in ("hall", "attic", "den", "attic"):  # in the order of the visits
        graph._visit(room)
        graph._room[f"mug_of_{room}"] = room
    text = graph.text(rooms, "attic", full)
    latest = ["attic", "den", "hall"][:full]
    for room in rooms:
        assert (f"mug_of_{room}" in text) == (room in latest)
        collapsed = any(
            line.startswith(room) and "1 objects" in line for line in text.splitlines()
        )
        assert collapsed == (room not in latest)
