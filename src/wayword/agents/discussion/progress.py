"""Completion estimation: the walk so far in short, and which actions are done, begun, to come.

Source: DiscussNav (Long et al. 2024), section III-B, "Completion Estimation Experts".
"""

from __future__ import annotations

from dataclasses import dataclass

from wayword.agents.discussion.analysis import Analysis, numbered
from wayword.agents.discussion.experts import Meeting
from wayword.agents.discussion.forms import Field, Form
from wayword.agents.history import History

SUMMARY = Form(
    Field("observation", "what was seen, in one sentence", length=200),
    Field("thought", "what was decided and why, in one sentence", length=200),
)
COMPLETION = Form(
    Field("thought", "landmarks passed, changes of direction, and what follows from them"),
    Field("executed", "a list of the actions that are done", many=True, length=100),
    Field("in_progress", "a list of the actions that are begun", many=True, length=100),
    Field("waiting", "a list of the actions still to come", many=True, length=100),
)
CUT = 300
"""Characters of each part of a step that no summary was had of."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A step that has been taken: what was seen the way one went, the turn, and why."""

    number: int
    observation: str
    turn: str
    thought: str


async def summarise(meeting: Meeting, step: Moved) -> str:
    """One step as ``[Step t] Observation: … Thought: …``."""
    found = await meeting.form(
        "summary",
        SUMMARY,
        "the step's own words, cut short",
        observation=f"{step.turn} {step.observation}",
        thought=step.thought or "(none)",
    )
    seen, why = step.observation[:CUT], step.thought[:CUT]
    if found is not None:
        seen, why = str(found["observation"]) or seen, str(found["thought"]) or why
    return f"[Step {step.number}] {step.turn} Observation: {seen} Thought: {why}"


async def estimate(meeting: Meeting, analysis: Analysis, trail: str) -> str:
    """What of the instruction is done, begun and to come, as the decision is told it."""
    found = await meeting.form(
        "completion",
        COMPLETION,
        "nothing is said of completion",
        instruction=analysis.instruction,
        actions=numbered(analysis.actions or (analysis.instruction,)),
        landmarks="; ".join(map(str, analysis.landmarks)) or "None",
        trajectory=trail,
    )
    if found is None:
        return ""
    return "\n".join(
        f"{label}: {'; '.join(found[name]) or 'None'}"
        for label, name in (
            ("Executed actions", "executed"),
            ("In-progress actions", "in_progress"),
            ("Actions waiting to be executed", "waiting"),
        )
    )


def trail_text(history: History) -> str:
    """The summarised walk, or that there is none yet."""
    if not history.blocks and not history.dropped:
        return "The walk has not begun."
    gap = [f"({history.dropped} earlier steps left out)"] if history.dropped else []
    return "\n".join([*gap, *history.blocks])
