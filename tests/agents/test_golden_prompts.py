"""The prompts of the five strategies to the letter: the second of a trial, in each of the tasks.

Of Reflexion it is a second trial, after a lesson. ``WAYWORD_WRITE_GOLDEN=1`` writes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import check_golden
from helpers.playing import flat
from helpers.reasoning_stub import worded
from helpers.small_flat import play_in
from helpers.small_house import SmallHouse
from wayword.core import registry
from wayword.core.model import Prompt, Sampling
from wayword.core.trajectory import Trajectory
from wayword.models.scripted import smallest
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan

GOLDEN = Path(__file__).parent.parent / "golden"
TASKS = {
    "grounding": "turn_left",
    "rearrangement": "turn_left",
    "iqa": "turn_left",
    "household": "turn_left",
    "ma_household": "turn_left",
    "ma_wah": "go_explore[kitchen]",
    "houses": "goto[d800c0]",
    "towns": "forward",
    "apartments": "rotate[90]",
}
"""A dataset without files, and what can be done at once in its first episode: one line each."""
THOUGHT = "Thought: This is the way on.\n"
STATE = (
    "State:\n  place: where I began\n  facing: north\n  holding: nothing\n"
    "  seen: what is before me\n  done: nothing yet\n  left: everything\n"
    "Plan: This is the way on.\n"
)
STRATEGIES = {
    "act": "",
    "react": THOUGHT,
    "react_emmem": STATE,
    "reflexion": THOUGHT,
    "reflexion_emmem": STATE,
}
LESSON = (
    "Lesson: I stopped before the task was done. Next time I look around before I stop."
)


def failed(task: Any, trial: Trajectory) -> bool:
    """A judge who has not seen a success."""
    return False


def says(answer: str) -> Callable[[Prompt, Sampling], str]:
    """The answer, and the lesson where one is asked for."""
    return lambda prompt, _: LESSON if "look back" in str(prompt[-1]) else answer


def check(name: str, text: str) -> None:
    check_golden(GOLDEN / name, text + "\n")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_the_second_prompt_of_a_trial(
    strategy: str, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYWORD_DATA", raising=False)
    agent: Any = registry.load("agent", strategy)
    tried = {"trials": 2} if strategy.startswith("reflexion") else {}
    answers = says(f"{STRATEGIES[strategy]}Action: {TASKS[task]}")
    dataset = open_dataset(Plan(strategy, task))
    played, _ = play_in(dataset, agent, answers, 3, failed, decoding="free", **tried)
    assert played.ended != "failed", played.error
    actor = next(iter(played.start))
    prompts = [call.prompt for step in played.of(actor) for call in step.calls]
    check(f"strategies_{strategy}_{task}.txt", flat(prompts[1]))


def filled(prompt: Prompt, sampling: Sampling) -> str:
    """The smallest answer of the form that is asked for; words where no form is."""
    if sampling.json_schema is None:
        return "A hall with a lamp."
    least = json.dumps(dict(sampling.json_schema)).replace(
        '"minItems": 0', '"minItems": 1'
    )
    return json.dumps(worded(smallest(json.loads(least))))


@pytest.mark.parametrize("agent", ["navgpt", "discussnav", "mapgpt", "navcot"])
def test_the_first_two_steps_on_a_graph(agent: str) -> None:
    """Constrained, as is usual: what each role is first asked in each step."""
    check(f"{agent}_constrained.txt", first_two_steps(agent))


def test_the_first_two_steps_with_numbered_exits() -> None:
    check("navgpt_numbered.txt", first_two_steps("navgpt", decoding="numbered"))


def first_two_steps(agent: str, **settings: Any) -> str:
    made: Any = registry.load("agent", agent)
    played, _ = play_in(SmallHouse(), made, filled, 2, **settings)
    assert played.ended != "failed", played.error
    requests = [("opening", played.opening_calls)]
    requests += [(f"step {n}", step.calls) for n, step in enumerate(played.steps, 1)]
    messages = []
    for when, calls in requests:
        first = {call.role: call for call in reversed(calls)}
        messages += [
            f"--- {when}, {c.role}\n{flat(c.prompt)}"
            for c in calls
            if first[c.role] is c
        ]
    return "\n\n".join(messages)


def test_the_questions_after_a_trial() -> None:
    requests = []
    for verdict in ("judge", "self", "none"):
        for decoding in ("free", "constrained"):
            agent: Any = registry.load("agent", "reflexion")
            if decoding == "constrained":
                half = '{"action": "goto[b]"'
            else:
                half = "Action: goto[b]"
            played, model = play_in(
                SmallHouse(), agent, says(half), 1, failed,
                decoding=decoding, verdict=verdict, trials=2,
            )  # fmt: skip
            assert played.ended != "failed", played.error
            question = model.prompts[1].rpartition("<user>\n")[2]
            requests.append(f"--- verdict={verdict} decoding={decoding}\n{question}\n")
    check("strategies_questions.txt", "\n".join(requests).rstrip("\n"))
