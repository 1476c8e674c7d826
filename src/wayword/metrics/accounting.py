"""Accounting: steps, model calls, tokens, cost and time of an episode, in every family.

All values are sums over the trials of the trajectory. Tokens that a server did not count are
estimated; the number of such calls is a metric.
"""

from __future__ import annotations

from itertools import chain

from wayword.core import trajectory as notes
from wayword.core.action import Rejection
from wayword.core.trajectory import Trajectory
from wayword.metrics import definitions

METRICS = definitions.ACCOUNTING
CUT_METRICS = definitions.CUT
ADVICE_METRICS = definitions.ADVICE
PREDICTED_METRICS = definitions.PREDICTIONS
"""Metrics of predictions from other systems, whose tokens, cost and time are unknown."""


def account(trajectory: Trajectory) -> dict[str, float]:
    """Return the accounting metrics of one episode, by key.

    ``cut_off`` only with model calls, ``cost`` only if the price of every call is known.
    """
    taken = [*chain.from_iterable(trial.steps for trial in trajectory.trials())]
    rejected: list[Rejection] = []
    for step in taken:
        decision = step.decision
        if isinstance(decision, Rejection):
            rejected.append(decision)
        elif decision.fallback_for is not None:  # replaced by the agent's own choice
            rejected.append(decision.fallback_for)
    calls = list(trajectory.calls())
    answers = [call.answer for call in calls if call.answer is not None]
    usages = [answer.usage for answer in answers]
    scores: dict[str, float] = {
        "steps": len(taken),
        "rejections": len(rejected),
        "rejection_rate": len(rejected) / max(1, len(taken)),
        "calls": len(calls),
        "prompt_tokens": sum(usage.prompt for usage in usages),
        "reused_tokens": sum(usage.reused for usage in usages),
        "completion_tokens": sum(usage.completion for usage in usages),
        "seconds": trajectory.seconds,
    }
    dropped = {notes.HISTORY_DROPPED: 0, notes.EXAMPLES_DROPPED: 0}
    for note in trajectory.notes():
        if note.kind in dropped:
            field = "count"
            if note.kind == notes.HISTORY_DROPPED:
                field = "steps"
            dropped[note.kind] += int(note.details.get(field, 0))
    rare = {
        "reasoning_tokens": sum(usage.reasoning for usage in usages),
        "cache_written_tokens": sum(usage.written for usage in usages),
        "estimated_calls": sum(usage.estimated for usage in usages),
        "steps_forgotten": dropped[notes.HISTORY_DROPPED],
        "examples_forgotten": dropped[notes.EXAMPLES_DROPPED],
    }
    scores |= {key: count for key, count in rare.items() if count}
    # Only a cascade of a small and a large model says who answered.
    answered_by = [answer.answered_by for answer in answers]
    if any(answered_by):
        scores["escalated"] = answered_by.count("large") / len(answered_by)
    if taken and calls:
        cut = sum(answer.kind == "cut_off" for answer in rejected)
        scores["cut_off"] = cut / len(taken)
    # A call that failed or came from the response cache was not paid for.
    paid = [answer for answer in answers if not answer.cached]
    costs = [answer.cost for answer in paid if answer.cost is not None]
    if len(costs) == len(paid):
        scores["cost"] = sum(costs, 0.0)
    return scores


def measure(trajectory: Trajectory) -> dict[str, float]:
    """Return the metric of one episode; empty if no expert was consulted (DiscussNav)."""
    lost = len(trajectory.noted(notes.EXPERT_FAILED))
    if lost or trajectory.noted(notes.SCENE_EXPERT):
        return {"advice_lost": float(lost)}
    return {}


def psr(trajectory: Trajectory) -> dict[str, float]:
    """Return ``psr`` and ``psr_released``, the share of valid answers; empty without questions.

    Agents write a note ``asked`` per answer: ``valid`` is true if it names a listed option, and
    ``first_word`` if its first word is part of a listed name, which LGX's released code counts.
    Source: LGX (Dorbala et al. 2024, section V-A).
    """
    answers = trajectory.noted(notes.ASKED)
    if not answers:
        return {}
    scores = {"psr": sum(bool(note.get("valid")) for note in answers) / len(answers)}
    if all("first_word" in note for note in answers):
        counted = sum(bool(note["first_word"]) for note in answers)
        scores["psr_released"] = counted / len(answers)
    return scores
