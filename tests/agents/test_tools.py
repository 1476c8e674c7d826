"""The tool-calling navigator and ``decoding=tools``, on servers of different rules."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helpers import honest_player as honest
from helpers import playing
from helpers.tool_stubs import SERVERS, ToolServer, calling
from wayword.agents.strategies.strategy import NO_MORE_CALLS
from wayword.agents.strategies.tools import Tools, ToolsSettings
from wayword.core import registry
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    Prompt,
    Sampling,
    Tool,
    ToolCall,
    Usage,
)
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.houses import Houses
from wayword.metrics.scoring import score
from wayword.models.openai import OpenAIModel
from wayword.models.parts.calling import wire_message
from wayword.models.servers.requests import ServerSettings
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder

WALK = 8  # a walk that react's honest player solves


@pytest.fixture(scope="module")
def houses() -> Houses:
    return Houses(settings=Houses.Settings())


def play(
    houses: Houses, model: Any, agent: str = "tools", **settings: Any
) -> Trajectory:
    made: Any = registry.load("agent", agent)

    def build(toolkit: Toolkit, actor: str) -> Agent:
        built: Agent = made(made.Settings(**settings), toolkit)
        return built

    setup = Setup(houses, build, {"main": model}, max_steps=60)
    return asyncio.run(rollout(houses.tasks[WALK], setup))


@pytest.mark.parametrize("row", SERVERS, ids=lambda row: row.name)
def test_an_honest_caller_solves_a_walk_on_every_server(
    row: ToolServer, houses: Houses
) -> None:
    with calling(row, honest.route) as server:
        model = OpenAIModel(row.model, ServerSettings(base_url=server.address))
        played = play(houses, model)
    assert played.ended == "stopped", played.error
    (scores,) = score(houses, [(houses.tasks[WALK], played)])
    assert (scores["sr"], scores["rejections"]) == (1.0, 0.0)
    in_words = [line for line in model.lessons if "requested in words" in line]
    assert len(in_words) == row.falls_back


@pytest.mark.parametrize("row", SERVERS, ids=lambda row: row.name)
def test_react_answers_by_calls_on_every_server(
    row: ToolServer, houses: Houses
) -> None:
    with calling(row, honest.route) as server:
        model = OpenAIModel(row.model, ServerSettings(base_url=server.address))
        played = play(houses, model, "react", decoding="tools")
    assert played.ended == "stopped", played.error
    (scores,) = score(houses, [(houses.tasks[WALK], played)])
    assert (scores["sr"], scores["rejections"]) == (1.0, 0.0)
    assert played.steps[0].decision.thought == "on"


@pytest.mark.parametrize("name", ["gemini", "deepseek"])
def test_a_server_refuses_messages_that_do_not_go_back_as_they_came(
    name: str, houses: Houses
) -> None:
    """The stubs check what they claim: without the server's own fields the episode fails."""
    (row,) = [each for each in SERVERS if each.name == name]
    with calling(row, honest.route) as server:
        settings = ServerSettings(base_url=server.address, profile={"verbatim": False})
        played = play(houses, OpenAIModel(row.model, settings))
    assert played.ended == "failed"
    assert "400" in played.error


class Caller(Model):
    """A model that calls tools, by a list of answers; the last one is repeated. An answer is a text
    or a list of calls, each a name and the text of its arguments."""

    name = "caller"
    tools = True

    def __init__(self, *answers: Any) -> None:
        self._answers = answers
        self.prompts: list[Sequence[Message]] = []
        self.offered: list[tuple[Tool, ...]] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        assert not isinstance(prompt, str)
        self.prompts.append(prompt)
        self.offered.append(sampling.tools)
        number = len(self.prompts)
        answer = self._answers[min(number, len(self._answers)) - 1]
        if isinstance(answer, str):
            return Completion((answer,), ("stop",), Usage(9, 9, estimated=True))
        calls = [
            ToolCall(f"id{number}-{place}", name, arguments)
            for place, (name, arguments) in enumerate(answer)
        ]
        return Completion(
            ("",), ("tool_calls",), Usage(9, 9, estimated=True), calls=tuple(calls)
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise AssertionError("no choice is asked for here")


STOP = [("stop", '{"thought": "done"}')]
ROOM = "218a2d"


def in_flat(*answers: Any, **settings: Any) -> tuple[Trajectory, Caller]:
    """An episode of a small house, and the model that played it."""
    model = Caller(*answers)
    return playing.play(Tools, ToolsSettings(**settings), {"main": model}), model


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        ([("act", '{"action": "goto[a')], "no_action", "not a JSON object"),
        ([("act", '["goto[a]"]')], "no_action", "not a JSON object"),
        ([("act", "")], "empty", "empty"),
        ([("act", '{"thought": "x"}')], "no_action", "no field 'action'"),
        ([("act", '{"action": "goto[nowhere]"}')], "unknown", "not possible here"),
        ([("fly", '{"to": "a"}')], "unknown", "no function 'fly'"),
        ("I would rather think.", "no_action", "called no function; call act"),
        ("", "empty", "empty"),
    ],
)
def test_an_answer_without_a_legal_call_is_rejected_with_a_reason(
    answer: Any, kind: str, reason: str
) -> None:
    played, _ = in_flat(answer, STOP)
    first, last = played.steps
    assert isinstance(first.decision, Rejection)
    assert first.decision.kind == kind
    assert reason in first.decision.reason
    assert (played.ended, last.decision.action) == ("stopped", Action("stop"))


@pytest.mark.parametrize(
    "answer",
    [
        "Action: goto[b]",
        'Well: {"name": "act", "parameters": {"action": "goto[b]"}}',
        '<tool_call>{"name": "act", "arguments": {"action": "goto[b]"}}</tool_call>',
        "<function=act><parameter=action>\ngoto[b]\n</parameter></function>",
        'act(action="goto[b]")',
        '{"tool": "act", "arguments": {"action": "goto[b]",},}',
        [("goto", '{"viewpoint": "b"}')],
        [("act", '{"action": "goto", "viewpoint": "b", "argument": "b"}')],
        [("act", '{"action": "goto[b]"}'), ("act", '{"action": "goto[c]"}')],
    ],
)
def test_an_action_is_read_from_calls_of_other_forms(answer: Any) -> None:
    played, _ = in_flat(answer, STOP)
    assert played.steps[0].decision == Decision(Action("goto", ("b",)))


def test_calls_after_the_one_that_acts_are_answered_but_not_carried_out() -> None:
    both = [("act", '{"action": "goto[b]"}'), ("look", '{"direction": "left"}')]
    played, model = in_flat(both, STOP)
    *_, said, acted, looked = model.prompts[-1]
    assert [call.id for call in said.calls] == [acted.call_id, looked.call_id]
    assert acted.content.startswith("Observation: ")
    assert looked.content.startswith("Not carried out")
    assert played.steps[0].notes[0].kind == "several_calls"


@pytest.mark.parametrize("tools", [True, False])
def test_only_the_answer_that_shows_a_server_without_calls_is_requested_again(
    tools: bool,
) -> None:
    class Worded(Caller):
        async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
            found = await super().complete(prompt, sampling)
            return replace(found, unsent=("tools",))

    model = Worded(*["I would rather think."] * 4, "Action: stop")
    model.tools = tools
    played = playing.play(Tools, ToolsSettings(), {"main": model})
    # Each further rejection is a request that is paid once.
    assert [len(step.calls) for step in played.steps] == [2, 1, 1, 1]


def test_information_is_asked_for_until_the_turn_is_taken_or_the_calls_are_used() -> (
    None
):
    look = [("look", '{"direction": "around"}')]
    played, model = in_flat(look, calls=2)
    assert [len(step.calls) for step in played.steps] == [3] * len(played.steps)
    assert {step.decision.reason for step in played.steps} == {NO_MORE_CALLS}  # type: ignore[union-attr]
    results = [m.content for m in model.prompts[2] if m.role == "tool"]
    assert ["Now call act or stop" in text for text in results] == [False, True]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("look", '{"direction": "ahead"}'), "Front"),
        (("look", '{"direction": "up"}'), "There is no direction up; there are: ahead"),
        (("look", "{"), "The arguments of look must be a JSON object"),
        (("recall", '{"name": ""}'), "The arguments of recall must be a JSON object"),
        (("recall", '{"name": "unicorn"}'), "You have not seen unicorn"),
        (("measure", '{"name": "unicorn"}'), "There is no unicorn in view"),
        (("measure", '{"name": "b"}'), "b: "),
        (("recall", '{"name": "goto b"}'), "step 1, at s: "),
    ],
)
def test_calls_for_information_are_answered(call: tuple[str, str], told: str) -> None:
    played, model = in_flat([call], STOP)
    assert model.prompts[1][-1].content.startswith(told)
    assert len(played.steps) == 1


def test_only_the_view_ahead_is_described_and_a_look_shows_the_rest() -> None:
    _, model = in_flat([("look", '{"direction": "around"}')], STOP)
    ahead = model.prompts[0][-1].content
    around = model.prompts[1][-1].content
    _, full = in_flat(STOP, view="full")
    assert around in full.prompts[0][-1].content
    assert len(ahead) < len(full.prompts[0][-1].content)


def test_the_functions_are_the_same_in_every_turn() -> None:
    """A server reads them before the conversation: a change would cost the cached prefix."""
    _, model = in_flat([("act", '{"action": "goto[b]"}')], STOP)
    assert len(set(map(repr, model.offered))) == 1
    assert [tool.name for tool in model.offered[0]] == [
        "act",
        "stop",
        "look",
        "measure",
        "recall",
    ]


def test_every_prompt_extends_the_one_before() -> None:
    look = [("look", '{"direction": "left"}'), ("recall", '{"name": "a"}')]
    _, model = in_flat(look, "thinking", [("act", '{"action": "goto[b]"}')], STOP)
    for before, after in pairwise(model.prompts):
        assert after[: len(before)] == before


def test_dropped_turns_leave_no_result_without_its_call() -> None:
    walk = [("act", '{"action": "goto[b]"}')], [("act", '{"action": "goto[a]"}')]
    played, model = in_flat(*(walk * 4), context=700, max_tokens=100)
    assert played.noted("history_dropped")
    for prompt in model.prompts:
        made = [call.id for message in prompt for call in message.calls]
        answered = [message.call_id for message in prompt if message.role == "tool"]
        assert made == answered


def test_records_caches_and_replays_hold_what_was_sent(tmp_path: Path) -> None:
    """Signatures of the server are in the record, a cached answer has the same calls, and a replay
    makes the same prompts."""
    (row,) = [each for each in SERVERS if each.name == "gemini"]
    with calling(row, honest.route) as server:
        # Both would else follow the window, which a replay does not know.
        limits = {"max_tokens": 500, "context": 50_000}
        settings = {**limits, "model": {"base_url": server.address}}
        plan = Plan("tools", "houses", f"openai:{row.model}", settings, limit=1)
        plan = replace(plan, max_steps=20, cache=tmp_path / "answers")
        assert run(replace(plan, out=tmp_path / "first")).outcome.complete
        sent = len(server.asked)
        assert run(replace(plan, out=tmp_path / "second")).outcome.complete
        assert len(server.asked) == sent
    again = replace(
        plan, model=f"replay:{tmp_path / 'first'}", settings=limits, cache=None
    )
    assert run(replace(again, out=tmp_path / "third")).outcome.complete
    first, second, third = (
        next(iter(RunFolder.read(tmp_path / name).records())).trajectory
        for name in ("first", "second", "third")
    )
    calls = list(first.calls())
    bodies = [body["messages"] for body in server.asked]
    for call, body in zip(calls, bodies, strict=True):
        assert [wire_message(message, True) for message in call.prompt] == body
    assert "thought_signature" in calls[-1].prompt[2].verbatim
    for other in (second, third):
        assert [call.prompt for call in other.calls()] == [c.prompt for c in calls]
        assert [c.answer.calls for c in other.calls()] == [
            c.answer.calls for c in calls
        ]
        assert {call.answer.cached for call in other.calls()} == {True}
