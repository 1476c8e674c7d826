"""What an episode took: tokens, cost and rejections, read off the trajectory."""

from __future__ import annotations

import pytest
from tests.helpers.metric_keys import RARE

from wayword.core.action import Action, Decision, Rejection
from wayword.core.model import Choice, Completion, Usage
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.accounting import CUT_METRICS, METRICS, account, psr


def call(
    cost: float | None = 0.5, cached: bool = False, answered: bool = True
) -> ModelCall:
    answer = Completion(("ok",), usage=Usage(100, 7, 40), cost=cost, cached=cached)
    return ModelCall("main", "prompt", answer if answered else None)


def step(decision: Decision | Rejection, *calls: ModelCall) -> Step:
    return Step("agent", {}, decision, Feedback(), {}, list(calls))


MOVE = Decision(Action("forward"))
NO = Rejection("empty", "the answer is empty")


def test_calls_before_the_first_step_count_too() -> None:
    choice = ModelCall(
        "main", "p", Choice(("a", "b"), (0.0, -1.0), Usage(10, 1), cost=0.25)
    )
    found = account(
        Trajectory(
            "1",
            {},
            [step(MOVE, call()), step(NO, choice)],
            opening_calls=[call()],
            seconds=2.5,
        )
    )
    assert found == {
        "steps": 2,
        "rejections": 1,
        "rejection_rate": 0.5,
        "cut_off": 0.0,
        "calls": 3,
        "prompt_tokens": 210,
        "reused_tokens": 80,
        "completion_tokens": 15,
        "cost": 1.25,
        "seconds": 2.5,
    }
    known = {metric.key for metric in (*METRICS, *CUT_METRICS)}
    assert known - set(found) <= RARE, "only where there are any"
    assert set(found) <= known


def test_a_fallback_does_not_hide_the_answer_it_replaced() -> None:
    saved = Decision(Action("forward"), fallback_for=NO)
    assert account(Trajectory("1", {}, [step(saved), step(MOVE)]))["rejections"] == 1


def test_answers_that_were_cut_off_are_counted_apart() -> None:
    cut = Rejection("cut_off", "the answer was cut off at 24 tokens; raise max_tokens")
    saved = Decision(Action("forward"), fallback_for=cut)
    taken = [
        step(cut, call()),
        step(saved, call()),
        step(NO, call()),
        step(MOVE, call()),
    ]
    found = account(Trajectory("1", {}, taken))
    assert (found["cut_off"], found["rejection_rate"]) == (0.5, 0.75)
    assert "cut_off" not in account(Trajectory("1", {}, [step(MOVE)])), (
        "no model was asked"
    )


def test_one_call_without_a_price_leaves_the_cost_unknown() -> None:
    assert "cost" not in account(
        Trajectory("1", {}, [step(MOVE, call(), call(cost=None))])
    )


def test_failed_and_cached_calls_cost_nothing() -> None:
    calls = (call(), call(cost=None, cached=True), call(answered=False))
    found = account(Trajectory("1", {}, [step(MOVE, *calls)]))
    assert found["cost"] == pytest.approx(0.5)
    assert (found["calls"], found["prompt_tokens"]) == (3, 200)


def test_an_episode_without_steps_or_calls_is_free() -> None:
    found = account(Trajectory("1", {}))
    assert (found["steps"], found["rejection_rate"], found["cost"]) == (0, 0, 0)


@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("cut", [0, 1, 2, 4])
def test_the_share_of_cut_answers_is_one_of_steps_however_many_calls_they_take(
    calls: int, cut: int
) -> None:
    too_long = Rejection("cut_off", "the answer was cut off")
    decisions = [too_long] * cut + [MOVE] * (4 - cut)
    taken = [step(each, *[call()] * calls) for each in decisions]
    found = account(Trajectory("1", {}, taken))
    assert (found["cut_off"], found["rejection_rate"]) == (cut / 4, cut / 4)
    assert (found["calls"], found["steps"]) == (4 * calls, 4)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], {}),
        ([{"valid": True}], {"psr": 1.0}),
        ([{"valid": True}, {"valid": False}], {"psr": 0.5}),
        ([{}, {"valid": True, "first_word": True}], {"psr": 0.5}),
        (
            [
                {"valid": True, "first_word": False},
                {"valid": False, "first_word": True},
            ],
            {"psr": 0.5, "psr_released": 0.5},
        ),
        (
            [{"valid": True, "first_word": True}] * 2,
            {"psr": 1.0, "psr_released": 1.0},
        ),
    ],
)
def test_valid_answers_are_counted_by_both_rules_where_every_answer_has_both(
    answers: list[dict[str, bool]], expected: dict[str, float]
) -> None:
    notes = [Note("asked", each) for each in answers]
    assert psr(Trajectory("1", {}, [step(MOVE)], opening_notes=notes)) == expected


@pytest.mark.parametrize("steps", [(), (2,), (2, 3), (1, 0, 4)])
@pytest.mark.parametrize("examples", [(), (1,), (1, 1)])
def test_what_prompts_left_out_is_summed_over_the_notes(
    examples: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    notes = [Note("history_dropped", {"steps": count, "count": 99}) for count in steps]
    notes += [Note("examples_dropped", {"count": count}) for count in examples]
    found = account(Trajectory("1", {}, [step(MOVE)], opening_notes=notes))
    assert found.get("steps_forgotten", 0) == sum(steps)
    assert found.get("examples_forgotten", 0) == sum(examples)
    assert ("steps_forgotten" in found) == (sum(steps) > 0)
