"""Requests as a server receives them: how to write, and which steps of the past they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, serving
from helpers.reasoning_stub import answer_to
from helpers.run_folders import records
from wayword.core.model import Sampling
from wayword.runs import Plan, run

Request = tuple[str, float, int, tuple[str, ...], int, bool, str]
"""Role, temperature, most tokens, stop sequences, samples, if it is seeded, and its form."""

JSON = "json"
FREE = "free"
LIST = "list"
OBSERVATION = ("\nObservation:",)
INVENTED = ("\nThere is", "\nYou see", "\nNavigation")


def request(role: str, sampling: Sampling) -> Request:
    if sampling.choices:
        form = LIST
    elif sampling.json_schema is not None:
        form = JSON
    else:
        form = FREE
    return (
        role, sampling.temperature, sampling.max_tokens, sampling.stop, sampling.n,
        sampling.seed is not None, form,
    )  # fmt: skip


def played(
    agent: str, on: str, out: Path, steps: int, **settings: Any
) -> tuple[set[Request], Any]:
    """One episode behind a server that answers legally: the calls, and the requests."""

    def answer(route: str, body: Mapping[str, Any], headers: object) -> tuple[int, Any]:
        if "messages" not in body:  # raw text is asked for at another route
            return 200, {"choices": [{"text": "1. forward", "finish_reason": "stop"}]}
        words = answer_to(dict(body)).replace(
            "I go on.", f"Marker-{len(server.asked):03d}."
        )
        reply = chat(words)
        reply["usage"]["prompt_tokens"] = len(str(body["messages"])) // 4
        return 200, reply

    with serving(answer) as server:
        tree = {**settings, "model": {"base_url": server.address}}
        run(Plan(agent, on, "openai:m", tree, limit=1, max_steps=steps, out=out))
    calls = {
        request(call.role, call.sampling)
        for record in records(out)
        for call in record.trajectory.calls()
        if call.sampling is not None
    }
    return calls, server.asked


HOME: Mapping[str, Any] = {"dataset": {"homes": 1, "rooms": 2}}
HOUSE: Mapping[str, Any] = {"dataset": {"houses": 1, "episodes": 1, "rooms": 6}}
TOWN: Mapping[str, Any] = {"dataset": {"towns": 1, "episodes": 1}, "shots": 0}
FLAT: Mapping[str, Any] = {"dataset": {"homes": 1, "episodes": 1, "rooms": 2}}

SENT: list[tuple[str, str, Mapping[str, Any], set[Request]]] = [
    ("navgpt", "houses", HOUSE, {("main", 0.0, 2000, (), 1, False, JSON)}),
    (
        "navgpt",
        "houses",
        {
            **HOUSE,
            "decoding": "free",
            "temperature": 0.7,
            "max_tokens": 77,
            "summaries": "online",
        },
        {
            ("main", 0.7, 77, (*OBSERVATION, "\n\tObservation:"), 1, True, FREE),
            ("summary", 0.0, 80, (), 1, False, FREE),
        },
    ),
    (
        "discussnav",
        "houses",
        HOUSE,
        {
            ("decomposition", 0.0, 2000, (), 1, False, JSON),
            ("landmarks", 0.0, 2000, (), 1, False, JSON),
            ("main", 1.0, 2000, (), 5, True, JSON),
            ("summary", 0.0, 2000, (), 1, False, JSON),
            ("completion", 0.0, 2000, (), 1, False, JSON),
        },
    ),
    (
        "discussnav",
        "houses",
        {**HOUSE, "scene": "asked", "max_tokens": 90, "analysis": False},
        {
            ("scene", 0.0, 90, (), 1, False, FREE),
            ("main", 1.0, 90, (), 5, True, JSON),
            ("summary", 0.0, 90, (), 1, False, JSON),
            ("completion", 0.0, 90, (), 1, False, JSON),
        },
    ),
    (
        "discussnav",
        "houses",
        {
            **HOUSE,
            "decoding": "free",
            "max_tokens": 90,
            "samples": 3,
            "temperature": 0.4,
        },
        {
            ("decomposition", 0.0, 90, (), 1, False, FREE),
            ("landmarks", 0.0, 90, (), 1, False, FREE),
            ("main", 0.4, 90, (), 3, True, FREE),
            ("summary", 0.0, 90, (), 1, False, FREE),
            ("completion", 0.0, 90, (), 1, False, FREE),
        },
    ),
    (
        "velma",
        "towns",
        {**TOWN, "decoding": "complete", "temperature": 0.4, "landmarks": "model"},
        {
            ("main", 0.4, 80, INVENTED, 1, True, FREE),
            ("landmarks", 0.0, 256, ("\n\n",), 1, False, FREE),
        },
    ),
    (
        "velma",
        "towns",
        {**TOWN, "decoding": "complete", "max_tokens": 30},
        {("main", 0.0, 30, INVENTED, 1, False, FREE)},
    ),
    ("act", "household", HOME, {("main", 0.0, 2000, (), 1, False, JSON)}),
    (
        "react",
        "household",
        {**HOME, "decoding": "free", "temperature": 0.7, "max_tokens": 60},
        {("main", 0.7, 60, OBSERVATION, 1, True, FREE)},
    ),
    (
        "react_emmem",
        "household",
        {**HOME, "decoding": "free"},
        {("main", 0.0, 2000, OBSERVATION, 1, False, FREE)},
    ),
    (
        "reflexion",
        "household",
        {**HOME, "trials": 2, "max_tokens": 300},
        {
            ("main", 0.0, 300, (), 1, False, JSON),
            ("reflection", 0.0, 300, (), 1, False, JSON),
        },
    ),
    (
        "reflexion",
        "household",
        {**HOME, "trials": 2, "decoding": "free", "temperature": 0.5},
        {
            ("main", 0.5, 2000, OBSERVATION, 1, True, FREE),
            ("reflection", 0.5, 2000, (), 1, True, FREE),
        },
    ),
]


@pytest.mark.parametrize(
    ("agent", "on", "settings", "expected"),
    SENT,
    ids=[f"{n}-{case[0]}" for n, case in enumerate(SENT)],
)
def test_each_agent_asks_as_it_is_set(
    tmp_path: Path,
    agent: str,
    on: str,
    settings: Mapping[str, Any],
    expected: set[Request],
) -> None:
    calls, posts = played(agent, on, tmp_path / "run", 3, **settings)
    assert calls == expected
    received = {
        (float(body["temperature"]), body["max_tokens"], tuple(body.get("stop", ())))
        for body in posts
        if "logprobs" not in body
    }
    assert received == {call[1:4] for call in expected}


def test_lgx_asks_for_one_of_a_list_in_few_tokens(tmp_path: Path) -> None:
    calls, posts = played("lgx", "apartments", tmp_path / "run", 40, **FLAT)
    assert posts
    assert {(call[1], call[3], call[4], call[5]) for call in calls} == {
        (0.0, (), 1, False)
    }
    assert max(call[2] for call in calls) <= 64


# Which steps of the past a prompt holds: the newest ones.


@pytest.mark.parametrize(
    ("agent", "on", "settings"),
    [
        ("navgpt", "houses", {**HOUSE, "decoding": "free", "context": 1500}),
        ("navgpt", "houses", {**HOUSE, "context": 1500}),
        ("react", "household", {**HOME, "decoding": "free", "context": 2600}),
        ("react_emmem", "household", {**HOME, "decoding": "free", "context": 3000}),
        (
            "reflexion",
            "household",
            {**HOME, "decoding": "free", "context": 2600, "trials": 1},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_full_prompt_keeps_the_newest_steps(
    tmp_path: Path, agent: str, on: str, settings: Mapping[str, Any]
) -> None:
    _, posts = played(agent, on, tmp_path / "run", 14, **settings)
    shown = [_markers(body) for body in posts]
    assert len(shown) == 14
    for number, steps in enumerate(shown):
        assert steps == list(range(number - len(steps), number)), (
            "no gap, and the newest last"
        )
    assert all(shown[1:]), "the step just taken is always there"
    assert shown[1] == [0]
    assert len(shown[-1]) < 13, "the oldest steps are left out"
    (record,) = records(tmp_path / "run")
    dropped = record.trajectory.noted("history_dropped")
    assert sum(int(note["steps"]) for note in dropped) == 13 - len(shown[-1])
    assert record.scores["steps_forgotten"] > 0


def _markers(body: Mapping[str, Any]) -> list[int]:
    """The numbers of the answers that a prompt repeats, in its order."""
    text = "\n".join(str(message["content"]) for message in body["messages"])
    return list(dict.fromkeys(map(int, re.findall(r"Marker-(\d+)", text))))


@pytest.mark.parametrize(
    ("agent", "samples", "limit"), [("navgpt", 1, 900), ("discussnav", 5, 400)]
)
def test_the_limit_that_cut_an_answer_off_is_the_one_that_was_granted(
    tmp_path: Path, agent: str, samples: int, limit: int
) -> None:
    """A server may grant one answer more tokens; those of several samples are not one answer's."""

    def answer(route: str, body: Mapping[str, Any], headers: object) -> tuple[int, Any]:
        reply = chat("Thought: I go on and")
        reply["choices"] = [
            {**reply["choices"][0], "finish_reason": "length"}
        ] * body.get("n", 1)
        reply["usage"] = {"prompt_tokens": 50, "completion_tokens": 900}
        return 200, reply

    with serving(answer) as server:
        tree = {
            **HOUSE,
            "decoding": "free",
            "max_tokens": 400,
            "model": {"base_url": server.address},
        }
        run(
            Plan(
                agent,
                "houses",
                "openai:m",
                tree,
                limit=1,
                max_steps=2,
                out=tmp_path / "run",
            )
        )
        assert samples in {body.get("n", 1) for body in server.asked}
    (record,) = records(tmp_path / "run")
    reasons = [getattr(step.decision, "reason", "") for step in record.trajectory.steps]
    assert all(f"cut off at {limit} tokens" in reason for reason in reasons), reasons
