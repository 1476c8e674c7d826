"""Accounting: the effort of an episode, in every family.

Steps, rejected answers, model calls, tokens, dollars and seconds, summed over all trials of the
trajectory. Tokens that a server did not count are estimated; the number of such calls is a metric.
"""

from __future__ import annotations

from wayword.core.action import Rejection
from wayword.core.metric import Metric
from wayword.core.trajectory import (
    ASKED,
    EXAMPLES_DROPPED,
    EXPERT_FAILED,
    HISTORY_DROPPED,
    SCENE_EXPERT,
    Trajectory,
)

METRICS: tuple[Metric, ...] = (
    Metric("steps", "Steps", "count", None, "turns taken, rejected answers included"),
    Metric("rejections", "Rej.", "count", "lower",
           "answers that were no legal action, also where a recipe's fallback then chose one"),
    Metric("rejection_rate", "Rej. %", "rate", "lower", "rejections a step"),
    Metric("calls", "Calls", "count", "lower", "questions put to a model"),
    Metric("prompt_tokens", "Prompt", "tokens", "lower", "tokens of all prompts, reused included"),
    Metric("reused_tokens", "Reused", "tokens", None,
           "prompt tokens that the model's prefix cache held and did not evaluate again"),
    Metric("completion_tokens", "Written", "tokens", "lower", "tokens the models wrote"),
    Metric("reasoning_tokens", "Thought", "tokens", None,
           "the part of it that reasoning models wrote to themselves; absent where there is none"),
    Metric("estimated_calls", "Est.", "count", "lower",
           "calls whose tokens the server did not count: estimated; absent where there are none"),
    Metric("steps_forgotten", "Forgotten", "count", "lower",
           "steps dropped from prompts that had no room for them; absent where none were"),
    Metric("examples_forgotten", "No ex.", "count", "lower",
           "solved examples dropped from prompts that had no room for them; "
           "absent where none were"),
    Metric("escalated", "Large %", "rate", None,
           "calls that the large model of a cascade answered; absent without a cascade"),
    Metric("cost", "Cost", "dollars", "lower",
           "US dollars; absent where a call has no known price"),
    Metric("seconds", "Seconds", "seconds", "lower", "wall time of the episode"),
)  # fmt: skip
RARE = frozenset({"reasoning_tokens", "estimated_calls", "steps_forgotten", "examples_forgotten",
                  "escalated"})  # fmt: skip
"""Metrics present only in some episodes: with reasoning models, with servers that count no tokens,
with shortened prompts, and with cascades of models."""

CUT_METRICS: tuple[Metric, ...] = (
    Metric("cut_off", "Cut %", "rate", "lower",
           "answers that ended at their token limit and could not be read, a step; shown if not 0"),
)  # fmt: skip

PREDICTED_METRICS: tuple[Metric, ...] = (
    Metric("steps", "Steps", "count", None, "moves, or actions where these were given"),
    Metric("illegal_moves", "Illegal", "count", "lower",
           "moves along no edge, actions not on the menu, and a start that is not the episode's"),
)  # fmt: skip
"""Metrics of predictions from other systems, whose tokens, cost and time are unknown."""


def account(trajectory: Trajectory) -> dict[str, float]:
    """Return the accounting metrics of one episode, by key; ``cut_off`` only with model calls.

    ``cost`` is left out if the price of any call is unknown: unlike 0, a missing value cannot be
    mistaken for a free call.
    """
    taken = [step for trial in trajectory.trials() for step in trial.steps]
    decisions = [step.decision for step in taken]
    answers = [d if isinstance(d, Rejection) else d.fallback_for for d in decisions]
    rejected = [answer for answer in answers if answer is not None]
    calls = list(trajectory.calls())
    usages = [call.answer.usage for call in calls if call.answer is not None]
    scores: dict[str, float] = {
        "steps": len(taken),
        "rejections": len(rejected),
        "rejection_rate": len(rejected) / len(taken) if taken else 0.0,
        "calls": len(calls),
        "prompt_tokens": sum(usage.prompt for usage in usages),
        "reused_tokens": sum(usage.reused for usage in usages),
        "completion_tokens": sum(usage.completion for usage in usages),
        "seconds": trajectory.seconds,
    }
    dropped = {HISTORY_DROPPED: 0, EXAMPLES_DROPPED: 0}
    for note in trajectory.notes():
        if note.kind in dropped:
            field = "steps" if note.kind == HISTORY_DROPPED else "count"
            dropped[note.kind] += int(note.details.get(field, 0))
    rare = {
        "reasoning_tokens": sum(usage.reasoning for usage in usages),
        "estimated_calls": sum(usage.estimated for usage in usages),
        "steps_forgotten": dropped[HISTORY_DROPPED],
        "examples_forgotten": dropped[EXAMPLES_DROPPED],
    }
    scores |= {key: count for key, count in rare.items() if count}
    answered_by = [call.answer.answered_by for call in calls if call.answer is not None]
    if any(answered_by):
        scores["escalated"] = answered_by.count("large") / len(answered_by)
    if taken and calls:
        scores["cut_off"] = sum(answer.kind == "cut_off" for answer in rejected) / len(taken)
    # A call that failed or came from the response cache was not paid for.
    paid = [call.answer for call in calls if call.answer is not None and not call.answer.cached]
    costs = [answer.cost for answer in paid if answer.cost is not None]
    if len(costs) == len(paid):
        scores["cost"] = sum(costs, 0.0)
    return scores


# Advice: experts' answers that were of no use.
#
# Agents that consult experts (DiscussNav) write a note ``scene_expert`` per episode and a note
# ``expert_failed`` for each answer that was unusable, late or missing.

ADVICE_METRICS: tuple[Metric, ...] = (
    Metric("advice_lost", "Lost advice", "count", "lower",
           "experts that answered nonsense, too late or not at all, and were done without"),
)  # fmt: skip


def measure(trajectory: Trajectory) -> dict[str, float]:
    """Return the metric of one episode; empty if no expert was consulted."""
    lost = len(trajectory.noted(EXPERT_FAILED))
    return {"advice_lost": float(lost)} if lost or trajectory.noted(SCENE_EXPERT) else {}


# Prompt success rate: valid answers to a model's questions.


def psr(trajectory: Trajectory) -> dict[str, float]:
    """Return the prompt success rate: the share of questions answered with a listed option.

    Agents write a note ``asked`` per answer, with ``valid`` true or false; without such notes the
    result is empty. ``first_word``, if noted, is true if the answer's first word is part of a
    listed name: LGX's released code counts these, here as ``psr_released``.
    Source: LGX (Dorbala et al. 2024, section V-A).
    """
    answers = trajectory.noted(ASKED)
    if not answers:
        return {}
    scores = {"psr": sum(bool(one.get("valid")) for one in answers) / len(answers)}
    if all("first_word" in one for one in answers):
        scores["psr_released"] = sum(bool(one["first_word"]) for one in answers) / len(answers)
    return scores
