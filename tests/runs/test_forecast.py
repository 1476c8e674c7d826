"""A dry run: what is shown, what is forecast, and that nothing is asked."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.expert_server import THOUGHT, expert
from helpers.loopback import chat, serving
from wayword.agents.prompting import PromptBudget
from wayword.core.action import STOP, Decision
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.errors import UsageError
from wayword.core.model import estimated_tokens, user
from wayword.core.trajectory import ModelCall, Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.houses import Houses
from wayword.models.scripted import ScriptedModel
from wayword.runs import Plan, run
from wayword.runs import forecast as forecast_module
from wayword.runs.forecast import (
    Forecast,
    _counted_turns,
    _Stage,
    dollars_range,
    forecast,
    lines,
    row_lines,
)
from wayword.runs.opening import open_dataset
from wayword.runs.record import RecordedRun, RunFolder
from wayword.runs.rehearsal import LENGTH

pytestmark = pytest.mark.usefixtures("shared_data")


def test_a_forecast_asks_nothing_and_needs_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    estimate = forecast(
        Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20), rehearsed=1
    )
    assert estimate.episodes == 20
    assert estimate.dollars is not None
    assert estimate.max_dollars is not None
    assert 0 < estimate.dollars < estimate.max_dollars
    notes = lines(estimate)
    assert any("prompt 1 of the first episode, role main" in line for line in notes)
    assert any("You" in line or "Instruction" in line for line in notes)
    assert any("20 episodes" in line and "estimated" in line for line in notes)


def test_nothing_is_rehearsed_with_a_robot() -> None:
    """Its steps would move it; no address is connected to."""
    settings = {"dataset": {"target": "bus", "url": "ws://127.0.0.1:9"}}
    plan = Plan("frontier", "robot", settings=settings)
    with pytest.raises(UsageError, match="robot would really move; estimate with"):
        forecast(plan)


def test_only_the_episodes_that_are_rehearsed_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    make = Houses.task
    monkeypatch.setattr(Houses, "task", lambda self, n: made.append(n) or make(self, n))
    settings = {"dataset": {"houses": 100, "episodes": 3_000}}
    plan = Plan(
        "navgpt",
        "houses",
        "scripted:first",
        settings,
        limit=2_700,
        first=True,
        max_steps=2,
    )
    assert forecast(plan, rehearsed=3).episodes == 2_700
    assert set(made) == {0, 900, 1_800}
    run(replace(plan, limit=5, out=tmp_path / "run"))
    made.clear()
    assert forecast(replace(plan, out=tmp_path / "run"), rehearsed=3).measured == 5
    assert len(set(made)) <= 3 + 5


@pytest.mark.parametrize("rehearsed", [0, 3])
def test_rehearsals_for_a_pilot_are_spread_over_it(
    rehearsed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan("navgpt", "houses", "scripted:first", limit=5, max_steps=2)
    pilot = run(replace(plan, first=True, out=tmp_path / "run"))
    played: list[str] = []
    rehearse = forecast_module._Stage._rehearse

    def recording(self: Any, task: Task) -> Any:
        played.append(task.episode.id)
        return rehearse(self, task)

    monkeypatch.setattr(forecast_module._Stage, "_rehearse", recording)
    full = replace(plan, first=True, limit=20, out=pilot.path)
    assert forecast(full, rehearsed=rehearsed).measured == 5
    ids = [task.episode.id for task in Houses().tasks[:20]]
    # Three of twenty, and then three of the five that were played.
    expected = [ids[n] for n in (0, 7, 14, 2, 4)]
    assert played == (expected if rehearsed else [])


def test_twice_the_episodes_cost_twice_as_much() -> None:
    few, many = (
        forecast(
            Plan("velma", "towns", "openai:gpt-4o", {"shots": 0}, limit=n), rehearsed=1
        )
        for n in (10, 20)
    )
    assert few.dollars is not None
    assert many.dollars == pytest.approx(2 * few.dollars)
    assert many.prompt_tokens == pytest.approx(2 * few.prompt_tokens, abs=2)


def test_a_pilot_is_what_the_forecast_rests_on(tmp_path: Path) -> None:
    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        estimate = chat("Thought: go on\nAction: Finish")
        estimate["usage"] = {"prompt_tokens": 1000, "completion_tokens": 100}
        return 200, estimate

    with serving(answer) as server:
        settings = {"model": {"base_url": server.address}, "decoding": "free"}
        pilot = Plan(
            "navgpt", "houses", "openai:gpt-4.1", settings, limit=3, out=tmp_path / "r"
        )
        done = run(pilot)
        before = len(server.asked)
        full = Plan(
            "navgpt", "houses", "openai:gpt-4.1", settings, limit=30, out=done.path
        )
        estimate = forecast(full, rehearsed=1)
        assert len(server.asked) == before
    assert estimate.measured == 3
    assert estimate.prompt_tokens == 10 * 1000 * before
    assert estimate.completion_tokens == 10 * 100 * before
    assert estimate.dollars == pytest.approx(10 * before * (1000 * 2 + 100 * 8) / 1e6)


@pytest.mark.parametrize("form", ["constrained", "free"])
def test_a_forecast_is_within_a_fifth_of_a_measured_pilot(
    form: str, tmp_path: Path
) -> None:
    """Six walks of a model that thinks some words and follows the gold path."""
    tasks = {task.episode.instruction: task.reference for task in Houses().tasks[:6]}

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        prompt_text = "\n".join(m["content"] for m in body["messages"])
        path = next(r.path for i, r in tasks.items() if i in prompt_text)  # type: ignore[attr-defined]
        gone = prompt_text.count(THOUGHT)  # once for each past step
        here = path[gone + 1] if gone + 1 < len(path) else None
        estimate = chat(_written(form, THOUGHT, here))
        prompt = [user(m["content"]) for m in body["messages"]]
        words = estimated_tokens(estimate["choices"][0]["message"]["content"])
        estimate["usage"] = {
            "prompt_tokens": estimated_tokens(prompt),
            "completion_tokens": words,
        }
        return 200, estimate

    with serving(answer) as server:
        settings = {
            "model": {"base_url": server.address, "thinking": 0},
            "decoding": form,
        }
        plan = Plan("navgpt", "houses", "openai:gpt-4.1", settings, limit=6, first=True)
        estimate = forecast(plan)
        done = run(replace(plan, out=tmp_path / "pilot"))
    scores = [found for _, found in RunFolder.read(done.path).scores()]
    assert sum(found["sr"] for found in scores) == 6
    assert estimate.prompt_tokens == pytest.approx(
        sum(s["prompt_tokens"] for s in scores), rel=0.2
    )
    assert estimate.dollars == pytest.approx(sum(s["cost"] for s in scores), rel=0.2)


HOME = {"homes": 1, "episodes": 3, "rooms": 2}
COMPETENT: list[tuple[str, str, dict[str, Any], str]] = [
    ("react", "household", {"dataset": HOME}, "skills"),
    ("react_emmem", "household", {"dataset": {**HOME, "actions": "high"}}, "skills"),
    ("act", "houses", {}, "gold"),
    ("discussnav", "houses", {}, "gold"),
    (
        "velma",
        "towns",
        {"shots": 0, "decoding": "choose", "dataset": {"towns": 1, "episodes": 3}},
        "gold",
    ),
]


@pytest.mark.parametrize(("agent", "on", "settings", "how"), COMPETENT)
def test_a_player_of_the_experts_actions_costs_what_was_forecast(
    agent: str, on: str, settings: dict[str, Any], how: str, tmp_path: Path
) -> None:
    """Errands where a body has them; picks written as JSON; experts' lists and sentences."""
    dataset: Any = open_dataset(
        Plan(agent, on, settings={"dataset": settings.get("dataset", {})})
    )
    plans = {
        task.episode.instruction: [str(action) for action in dataset.solve(task, how)]
        for task in dataset.tasks[:3]
    }
    with serving(expert(plans)) as server:
        tree = {"model": {"base_url": server.address, "thinking": 0}, **settings}
        plan = Plan(agent, on, "openai:gpt-4.1", tree, limit=3, first=True)
        estimate = forecast(plan)
        done = run(replace(plan, out=tmp_path / "pilot"))
    scores = [found for _, found in RunFolder.read(done.path).scores()]
    read, written = (
        sum(s[k] for s in scores) for k in ("prompt_tokens", "completion_tokens")
    )
    assert estimate.prompt_tokens == pytest.approx(read, rel=0.2)
    assert estimate.prompt_tokens + estimate.completion_tokens == pytest.approx(
        read + written, rel=0.2
    )
    assert estimate.dollars == pytest.approx(sum(s["cost"] for s in scores), rel=0.2)


def test_each_sample_is_read_and_thought_for_where_a_server_gives_one_a_request() -> (
    None
):
    settings: dict[str, Any] = {
        "completion": False,
        "perception": False,
        "analysis": False,
    }
    one, five = (
        forecast(
            Plan(
                "discussnav", "houses", name, {**settings, "samples": samples}, limit=1
            ),
            rehearsed=1,
        )
        for name, samples in (("openai:gpt-5-mini", 1), ("openai:gpt-5-mini", 5))
    )
    together = forecast(
        Plan(
            "discussnav",
            "houses",
            "openai:gpt-4.1",
            {**settings, "samples": 5},
            limit=1,
        ),
        rehearsed=1,
    )
    assert five.prompt_tokens == pytest.approx(5 * one.prompt_tokens, rel=0.01)
    assert five.completion_tokens == pytest.approx(5 * one.completion_tokens, rel=0.01)
    assert together.prompt_tokens == pytest.approx(one.prompt_tokens, rel=0.01)


@pytest.mark.parametrize("on", ["houses", "household"])
def test_a_thought_in_a_call_is_as_long_as_one_in_an_answer(on: str) -> None:
    words = {}
    for decoding in ("constrained", "tools"):
        plan = Plan(
            "react", on, "openai:gpt-5-mini", limit=1, settings={"decoding": decoding}
        )
        stage = _Stage(plan)
        (call, *_) = stage.first_calls(stage.dataset.tasks[0])
        assert call.answer is not None
        answer = json.loads(call.answer.texts[0])
        words[decoding] = len(answer.get("arguments", answer)["thought"].split())
    assert words == dict.fromkeys(words, LENGTH)


def test_a_look_around_is_no_step_of_the_walk() -> None:
    """DiscussNav turns twelve times on the spot before it asks where to go."""
    home = {"homes": 1, "episodes": 1, "rooms": 2}
    settings = {"dataset": home, "scene": "asked"}
    estimate = forecast(
        Plan("discussnav", "apartments", "openai:gpt-4.1", settings, limit=1)
    )
    assert estimate.calls > 2 + 2 * 12, "the instruction, and two looks at least"


def test_the_first_prompt_is_shown_also_where_the_first_step_is_given() -> None:
    estimate = forecast(
        Plan(
            "lgx",
            "apartments",
            "openai:gpt-4.1",
            {"dataset": {"homes": 1, "episodes": 1, "rooms": 2}},
            limit=1,
        )
    )
    assert estimate.first_calls


def test_a_search_is_rehearsed_to_its_own_end(tmp_path: Path) -> None:
    """The expert goes straight to the target in fewer steps than LGX turns before it asks."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        prompt = "\n".join(m["content"] for m in body["messages"])
        schema = json.dumps(body.get("response_format", {}))
        names = re.findall(r'"enum": \[([^]]+)\]', schema)
        named = json.loads(f"[{names[0]}]")[len(prompt) % 2] if names else "door"
        text = chat(json.dumps({"answer": named}))
        text["usage"] = {
            "prompt_tokens": estimated_tokens(
                [user(m["content"]) for m in body["messages"]]
            ),
            "completion_tokens": estimated_tokens(named),
        }
        return 200, text

    home = {"homes": 2, "episodes": 6, "rooms": 3}
    with serving(answer) as server:
        settings: dict[str, Any] = {
            "model": {"base_url": server.address, "thinking": 0}
        }
        settings |= {"dataset": home, "grounding_threshold": 0.99}
        plan = Plan("lgx", "apartments", "openai:gpt-4.1", settings, limit=6)
        text = forecast(plan)
        done = run(replace(plan, out=tmp_path / "pilot"))
    scores = [found for _, found in RunFolder.read(done.path).scores()]
    assert text.calls > 1
    assert text.prompt_tokens == pytest.approx(
        sum(s["prompt_tokens"] for s in scores), rel=0.2
    )


def _written(form: str, thought: str, place: str | None) -> str:
    if form == "free":
        if place:
            act = f'Action: action_maker\nAction Input: "{place}"'
        else:
            act = "Final Answer: Finished!"
        return f"Thought: {thought}\n{act}"
    return json.dumps({"thought": thought, "arrived": place is None, "action": place})


@pytest.mark.parametrize(
    ("agent", "on", "settings"),
    [
        ("velma", "towns", {"shots": 0, "dataset": {"towns": 1, "episodes": 10}}),
        ("react", "houses", {"decoding": "free"}),
        ("lgx", "two_phase", {"decoding": "free"}),
    ],
)
def test_a_script_is_queried_itself(
    agent: str, on: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    plan = Plan(agent, on, "scripted:first", settings, limit=4, max_steps=12)
    estimate = forecast(plan)
    done = run(replace(plan, out=tmp_path / "pilot"))
    scores = [found for _, found in RunFolder.read(done.path).scores()]
    assert estimate.prompt_tokens == sum(s["prompt_tokens"] for s in scores)
    assert estimate.completion_tokens == pytest.approx(
        sum(s["completion_tokens"] for s in scores), rel=0.01
    )
    assert estimate.calls == pytest.approx(sum(s["calls"] for s in scores) / 4)


def test_a_model_without_a_price_and_an_agent_without_a_model_say_so() -> None:
    reply = lines(
        forecast(
            Plan(
                "navgpt",
                "houses",
                "openai:mine",
                {"model": {"base_url": "http://127.0.0.1:9/v1"}},
                limit=2,
            ),
            rehearsed=1,
        )
    )
    assert "cost: unknown" in reply[-2]
    assert (
        lines(forecast(Plan("oracle", "houses", limit=2)))[-1]
        == "2 episodes without model calls"
    )
    few, many = (
        lines(forecast(Plan("oracle", "houses", limit=n)))[0] for n in (2, 100)
    )
    assert few.startswith("power: fewer than 30 episodes show only very large differ")
    assert many.startswith(
        "power: a difference of 14 points has p < 0.05 in 80% of comparisons"
    )


MEASURED = Forecast(
    200,
    2.5,
    1_234_567,
    8_900,
    1.5,
    12.0,
    measured=8,
    hours=0.5,
    concurrency=4,
    window=128_000,
    unprofiled=("mine",),
    range=(1.25, 1.8),
)
# Without anything that may be unknown.
REHEARSED = Forecast(1, 3.0, 10, 20, 0.0, None, unprofiled=("mine", "other", "mine"))


def test_every_number_of_a_forecast_is_stated_with_its_unit() -> None:
    # 280 x 0.5 points over the root of 200; 500 calls and 1,243,467 tokens in 30 minutes
    assert lines(MEASURED) == [
        "power: a difference of 10 points has p < 0.05 in 80% of comparisons, if both agents have "
        "a success of 50% and a correlation of 0.5; wayword power uses your runs",
        "200 episodes, 2.5 calls each (based on 8 finished episodes); context window 128,000 "
        "tokens",
        "tokens: 1,234,567 read, 8,900 written",
        "cost: $1.50 (95%: $1.25 to $1.80); at most $12.00 for these calls, if every answer "
        "reaches its token limit",
        "time: 30 minutes with 4 concurrent episodes; 17 requests and 41,449 tokens per minute",
    ]
    basis = "estimated by a rehearsal with legal actions and thoughts of typical length"
    assert lines(REHEARSED)[1:4] == [
        f"1 episodes, 3.0 calls each ({basis})",
        "tokens: 10 read, 20 written",
        "cost: $0.00",
    ]
    thoughts = [line.partition(" are not")[0] for line in lines(REHEARSED)[4:]]
    assert thoughts == ["thinking tokens of mine", "thinking tokens of other"]


def test_assumed_reasoning_is_stated_with_its_number_and_setting() -> None:
    plan = Plan("navgpt", "houses", "openai:gpt-5-mini", limit=9)
    estimate = forecast(plan, rehearsed=2)
    assert estimate.thinking == {"openai:gpt-5-mini": 8_192}
    assumed = (
        "assumed: 3,277 reasoning tokens per answer of openai:gpt-5-mini, 40% of the 8,192 it may "
        "use (--set model.thinking=N); after a few finished episodes (--limit 5), the estimate "
        "uses theirs"
    )
    assert assumed in lines(estimate)
    assert row_lines([("one", estimate), ("two", estimate)])[3:] == [assumed]
    # The spread of episodes says nothing about the assumption.
    (cost,) = [line for line in lines(estimate) if line.startswith("cost")]
    assert " (95%, by the spread of episodes alone: $" in cost
    plan = replace(plan, settings={"model": {"thinking": 0}})
    assert not any("assumed" in line for line in lines(forecast(plan, rehearsed=2)))


def test_the_total_of_several_runs_adds_what_can_be_added() -> None:
    half = replace(MEASURED, dollars=0.5, max_dollars=1.0, range=(0.25, 0.75), hours=2)
    first, second, total = row_lines([("large", MEASURED), ("small", half)])
    assert first.startswith("large: 200 episodes, 2.5 calls each, 1,234,567 tokens ")
    assert ", 30 minutes, cost: $1.50 " in first
    assert ", 2.0 hours, cost: $0.50 " in second
    assert total == (
        "total: 2,469,134 tokens read, 17,800 written, cost: $2.00 (95%: $1.50 to $2.55); at most "
        "$13.00 for these calls, if every answer reaches its token limit"
    )
    unknown = replace(half, dollars=None, max_dollars=None, unpriced=("mine", "mine"))
    *_, total = row_lines([("large", MEASURED), ("mine", unknown)])
    assert total.endswith("cost: unknown (no price for mine; add one with --prices)")
    assert len(row_lines([("alone", MEASURED)])) == 1


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        (0.0, "0 seconds"),
        (59 / 3600, "59 seconds"),
        (1 / 60, "1 minute"),
        (0.5, "30 minutes"),
        (1.0, "1.0 hours"),
        (30.0, "30.0 hours"),
    ],
)
def test_a_duration_is_in_its_largest_unit(hours: float, text: str) -> None:
    line = lines(replace(MEASURED, hours=hours))[4]
    assert line.startswith(f"time: {text} with ")


@pytest.mark.parametrize(
    ("poses", "turns"),
    [
        ([(0, 90), (0, 180)], 0),  # on the spot
        ([(1, 0), (1, 90), (1, 0)], 1),  # once, then on the spot
        ([(1, 0), (2, 0), (1, 0)], 3),  # also back to where it was
        ([(1, 0), (0, 0), (0, 90)], 2),
    ],
)
def test_a_turn_counts_if_it_moved_since_the_one_before(
    poses: list[tuple[int, int]], turns: int
) -> None:
    steps = [
        Step("agent", {}, Decision(STOP), Feedback(), {"x": x, "heading": heading})
        for x, heading in poses
    ]
    walk = Trajectory("e", {"agent": {"x": 0, "heading": 0}}, steps)
    assert _counted_turns(walk) == turns
    for step in steps:
        step.calls.append(ModelCall("main", "?", None))
    assert _counted_turns(walk) == len(steps), "a call counts anywhere"


def test_the_context_follows_the_model() -> None:
    class Large(ScriptedModel):
        window = 80_000

    def text_of(given: int, model: ScriptedModel | None) -> int:
        return PromptBudget(
            Toolkit(models={"main": model} if model else {}), given, 0
        ).context

    assert text_of(0, Large("first")) == 70_000
    assert text_of(500, Large("first")) == 500
    assert text_of(0, ScriptedModel("first")) == 7000
    assert text_of(0, None) == 7000


@pytest.mark.parametrize(
    ("name", "settings", "reply"),
    [
        ("openai:mine", {}, True),
        ("openai:gpt-5-mini", {}, False),
        ("openai:gpt-4.1-mini", {}, False),
        ("openai:mine", {"profile": "reasoning"}, False),
        ("openai:mine", {"thinking": 0}, False),
        ("scripted:first", {}, False),
    ],
)
def test_what_an_unknown_model_may_think_is_stated_not_to_be_counted(
    name: str, settings: dict[str, Any], reply: bool
) -> None:
    """A cost "at most" must not leave out silently what a reasoning model spends most on."""
    address = {"base_url": "http://127.0.0.1:9/v1"} if name.startswith("openai") else {}
    plan = Plan("navgpt", "houses", name, {"model": {**address, **settings}}, limit=1)
    estimate = lines(forecast(plan, rehearsed=1))[-1]
    assert estimate.startswith(f"thinking tokens of {name} are not counted") == reply


def test_a_finished_run_costs_what_it_cost(tmp_path: Path) -> None:
    """Other episodes have an interval; finished ones have none."""
    prices = tmp_path / "prices.yaml"
    prices.write_text("scripted:*: {input: 2, output: 8}\n", encoding="utf-8")
    plan = Plan(
        "navgpt", "houses", "scripted:first", prices=prices, limit=4, max_steps=5
    )
    done = run(replace(plan, out=tmp_path / "run"))
    spent = sum(scores["cost"] for _, scores in RunFolder.read(done.path).scores())
    finished = forecast(replace(plan, out=done.path))
    assert finished.dollars == finished.max_dollars == pytest.approx(spent)
    assert finished.range == pytest.approx((spent, spent))
    more = forecast(replace(plan, out=done.path, limit=9))
    assert more.dollars is not None
    assert more.max_dollars is not None
    assert spent < more.range[0] < more.dollars < more.range[1]
    assert more.dollars < more.max_dollars
    assert more.prompt_tokens > finished.prompt_tokens


def test_costs_of_many_orders_of_magnitude_have_no_interval() -> None:
    assert dollars_range([1e-7, 3.0], 100) == (0.0, math.inf)
    assert dollars_range([0.0, 3.0], 100) == (0.0, math.inf)
    assert dollars_range([1e-7, 3.0], 0) == (0.0, 0.0)


def test_a_rehearsal_that_failed_at_once_is_left_out() -> None:
    """An episode whose world could not be opened has neither steps nor calls."""
    stage = _Stage(Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20))
    first, second = stage.dataset.tasks[:2]
    alone = stage.estimate([first], 20)
    failed = Trajectory(second.episode.id, {}, ended="failed", error="no such scan")
    stage._rehearsed[second.episode.id] = (failed, 1.0)
    assert stage.estimate([first, second], 20) == alone


def test_episodes_without_a_cost_lower_the_range_of_the_total() -> None:
    costs = [1.0, 1.5, 2.0, 1.2]
    low, high = dollars_range(costs, 100)
    assert 0 < low < 100 * sum(costs) / 4 < high
    # Half of the episodes, as those that take no call, cost nothing.
    assert dollars_range([*costs, *[0.0] * 4], 100) == pytest.approx(
        (low / 2, high / 2)
    )


@pytest.mark.parametrize("known", [True, False])
def test_the_cost_of_a_pilot_counts_if_each_episode_has_one(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of the known costs alone would be too low."""
    prices = tmp_path / "prices.yaml"
    prices.write_text("scripted:*: {input: 2, output: 8}\n", encoding="utf-8")
    plan = Plan("navgpt", "houses", "scripted:first", prices=prices, max_steps=3)
    done = run(replace(plan, limit=4, out=tmp_path / "run"))
    recorded = dict(RunFolder.read(done.path).scores())
    if not known:
        del recorded[max(recorded)]["cost"]
    monkeypatch.setattr(RecordedRun, "scores", lambda self: [*recorded.items()])
    rehearsed = forecast(replace(plan, limit=8))
    measured = forecast(replace(plan, limit=8, out=done.path))
    assert measured.measured == 4
    assert (measured.dollars != rehearsed.dollars) == known
    assert (measured.range != rehearsed.range) == known


def test_the_range_follows_the_length_of_the_other_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was spent is certain; the others are expected to cost as much as they are longer."""
    prices = tmp_path / "prices.yaml"
    prices.write_text("scripted:*: {input: 2, output: 8}\n", encoding="utf-8")
    plan = Plan("navgpt", "houses", "scripted:first", prices=prices, max_steps=3)
    done = run(replace(plan, limit=4, out=tmp_path / "run"))
    pilot = {task.episode.id for task in open_dataset(plan).tasks} & dict(
        RunFolder.read(done.path).scores()
    ).keys()
    rest = replace(plan, limit=8, out=done.path)
    estimate = forecast_module._Stage.estimate
    spent = sum(scores["cost"] for _, scores in RunFolder.read(done.path).scores())

    def others(factor: float) -> tuple[float, float]:
        """The range of the other episodes, rehearsed as ``factor`` times as long."""

        def scaled(self: Any, tasks: list[Task], episodes: int) -> Forecast:
            found = estimate(self, tasks, episodes)
            if {task.episode.id for task in tasks} <= pilot:
                return found
            return replace(found, prompt_tokens=round(found.prompt_tokens * factor))

        monkeypatch.setattr(forecast_module._Stage, "estimate", scaled)
        low, high = forecast(rest).range
        return low - spent, high - spent

    low, high = others(1.0)
    assert 0 < low < high
    assert others(3.0) == pytest.approx((3 * low, 3 * high), rel=0.01)


def test_other_episodes_count_by_their_own_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large pilot is most of the plan: the others are compared with it, not the plan."""
    plan = Plan("navgpt", "houses", "scripted:first", max_steps=3)
    done = run(replace(plan, limit=6, out=tmp_path / "run"))
    scores = dict(RunFolder.read(done.path).scores())
    original = _Stage.estimate

    def rehearsed(self: Any, tasks: list[Task], episodes: int) -> Forecast:
        """The others are twice as long."""
        found = original(self, tasks, episodes)
        length = sum(2 - (task.episode.id in scores) for task in tasks) / len(tasks)
        tokens = round(1000 * length * episodes)
        return replace(
            found, prompt_tokens=tokens, completion_tokens=tokens, calls=length
        )

    monkeypatch.setattr(_Stage, "estimate", rehearsed)
    estimate = forecast(replace(plan, limit=8, out=done.path))
    total = {
        key: sum(each[key] for each in scores.values()) * (1 + 2 * 2 / 6)
        for key in ("prompt_tokens", "completion_tokens", "calls", "seconds")
    }
    assert estimate.prompt_tokens == round(total["prompt_tokens"])
    assert estimate.completion_tokens == round(total["completion_tokens"])
    assert estimate.calls == pytest.approx(total["calls"] / 8)
    assert estimate.hours == pytest.approx(
        total["seconds"] / 3600 / estimate.concurrency
    )


@pytest.mark.parametrize("agent", ["react", "navgpt", "plan_search"])
def test_the_shown_prompt_is_the_first_one_of_the_run(
    agent: str, tmp_path: Path
) -> None:
    on = "household" if agent == "plan_search" else "houses"
    settings = {"decoding": "constrained"}
    plan = Plan(agent, on, "openai:gpt-4.1", settings, limit=1)
    shown = forecast(plan).first_calls[0].prompt
    played = run(replace(plan, model="scripted:first", out=tmp_path / "run"))
    record = next(iter(RunFolder.read(played.path).records()))
    sent = next(record.trajectory.calls()).prompt
    assert shown == sent


@pytest.mark.parametrize("models", [{}, {"landmarks": "scripted:first"}])
def test_the_difference_of_free_prompts_is_that_of_main_prompts_alone(
    models: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Experts' prompts have other lengths, whichever model plays them."""
    settings = {"models": models} if models else {}
    plan = Plan("discussnav", "houses", "scripted:first", settings, max_steps=3)
    stage = forecast_module._Stage(plan)
    tasks = [stage.dataset.tasks[0]]

    def read(extra: int) -> int:
        monkeypatch.setattr(stage, "_extra_prompt_tokens", lambda task: extra)
        return stage.estimate(tasks, 1).prompt_tokens

    ((trajectory, _),) = stage._rehearsals(tasks)
    roles = [call.role for call in trajectory.calls()]
    assert 0 < roles.count("main") < len(roles)
    assert read(1_000) - read(0) == 1_000 * roles.count("main")
