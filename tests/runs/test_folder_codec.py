"""A trajectory comes back from its JSON as it went in, and growing prompts take little space."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from helpers.recorded import Seen, growing, prompt, trajectories, value, walk
from helpers.sampling import LONG
from wayword.core.errors import RecordingError
from wayword.core.model import Completion, Message, system, user
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.runs.codec import dump, from_json, plain, restore, to_json
from wayword.runs.json_lines import member


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class Word(StrEnum):
    DOOR = "door"


@dataclass(frozen=True)
class Kind:
    type: str


def through_text(written: Any) -> Any:
    return json.loads(json.dumps(written, allow_nan=False))


@settings(
    max_examples=150 if LONG else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(trajectories)
def test_a_trajectory_comes_back_equal(text: Trajectory) -> None:
    """Both ways of writing it: the quick one, and the one with marks."""
    assert from_json(through_text(to_json(text))) == text
    assert from_json(json.loads(dump(text))) == text


@given(value)
def test_a_value_comes_back_equal_and_of_the_same_type(held: Any) -> None:
    back = restore(through_text(plain(held)))
    assert back == held
    assert type(back) is type(held)
    assert json.loads(dump(held)) == plain(held)


def test_a_typed_observation_comes_back_as_a_mapping_with_its_type() -> None:
    step = from_json(to_json(walk("e").trajectory)).steps[0]
    assert step.observation == {"type": "Seen", "place": "p0", "ways": [["p0", 0.5]]}
    assert to_json(from_json(to_json(walk("e").trajectory))) == to_json(
        walk("e").trajectory
    )


@pytest.mark.parametrize(
    ("held", "written"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.int16(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array([1.0, np.nan]), [1.0, {"$float": "nan"}]),
        (np.array(["a", None], dtype=object), ["a", None]),
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (range(2), [0, 1]),
        (OrderedDict(a=1), {"a": 1}),
        (Colour.RED, "red"),
        (Size.LARGE, 3),
        ({Word.DOOR: 1}, {"door": 1}),
        (Path("a/b"), "a/b"),
        (Seen("p", ()), {"type": "Seen", "place": "p", "ways": []}),
        (Kind("x"), {"type": "Kind", "type_": "x"}),
        (-math.inf, {"$float": "-inf"}),
        (b"\x00", {"$bytes": "AA=="}),
        (
            {1: "a", 0.5: "b", False: "c", None: "d"},
            {"1": "a", "0.5": "b", "false": "c", "null": "d"},
        ),
        ({np.int64(3): np.int64(4)}, {"3": 4}),
        ({"$float": "nan"}, {"$$float": "nan"}),
    ],
)
def test_other_types_have_one_plain_form(held: Any, written: Any) -> None:
    got = plain(held)
    assert got == written
    assert type(got) is type(written)
    assert through_text(got) == written
    assert json.loads(dump(held)) == written
    assert json.loads(dump({"": [held], "$": ""})) == {"": [written], "$$": ""}


@pytest.mark.parametrize(
    "held",
    [
        [b"ab", "$5"],
        {"$bytes": "YWI="},
        [b"ab", {"$bytes": "YWI="}],
        [bytearray(b"ab"), math.inf, {"a": (b"", 1.5)}],
    ],
)
def test_a_line_keeps_bytes_apart_from_what_looks_like_them(held: Any) -> None:
    assert json.loads(dump(held)) == plain(held)


def test_nan_stays_nan() -> None:
    assert math.isnan(restore(through_text(plain({"ne": math.nan})))["ne"])
    assert math.isnan(restore(json.loads(dump({"ne": math.nan})))["ne"])


def test_what_has_no_plain_form_is_named() -> None:
    with pytest.raises(
        RecordingError, match=r"'builtins\.object' cannot be recorded; use JSON"
    ):
        plain({"a": [object()]})


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"episode_id": "e"},
        {**to_json(walk("e").trajectory), "steps": [{}]},
        {**to_json(walk("e").trajectory), "start": {"$float": "x"}},
        {**to_json(walk("e").trajectory), "steps": None},
    ],
)
def test_what_is_no_trajectory_is_refused(damaged: Any) -> None:
    with pytest.raises(RecordingError, match="not a trajectory"):
        from_json(damaged)


def test_keys_that_json_does_not_have_are_named() -> None:
    for write in (plain, dump):
        with pytest.raises(
            RecordingError, match="a key of type 'tuple' cannot be recorded; use"
        ):
            write({(1, 2): "a"})


def test_a_percept_is_written_by_its_fields_without_what_it_lacks() -> None:
    trajectory = walk("e", 2).trajectory
    caption = "a hall with a red door"
    for step in trajectory.steps:
        step.percept = Percept((Sector(0.0, 45.0, caption, (Sighting("door", 12.0),)),))
    written = through_text(to_json(trajectory))
    sector = {
        "heading": 0.0, "width": 45.0, "caption": caption,
        "sightings": [{"name": "door", "heading": 12.0}],
    }  # fmt: skip
    assert [step["percept"] for step in written["steps"]] == 2 * [
        {"summary": "", "sectors": [sector]}
    ]
    assert from_json(written).steps[1].percept == trajectory.steps[1].percept


@given(prompt)
def test_a_prompt_is_written_in_full(query: Any) -> None:
    (step,) = through_text(to_json(growing([query])))["steps"]
    written = step["calls"][0]["prompt"]
    if isinstance(query, str):
        assert written == query
    else:
        assert [each["content"] for each in written] == [each.content for each in query]


def history(step: int) -> str:
    return "You are in a house. " * 40 + "".join(
        f"Step {s}: went on. " * 20 for s in range(step)
    )


def conversation(step: int) -> tuple[Message, ...]:
    turns = [user(f"Observation {s}: " + "a door, " * 60) for s in range(step)]
    return (system("Find the kitchen. " * 40), *turns)


@pytest.mark.parametrize(
    "grow", [history, conversation, lambda n: (system("Go."), user(history(n)))]
)
def test_forty_growing_prompts_take_little_space(grow: Any) -> None:
    growth = growing([grow(step) for step in range(40)])
    written = dump(growth)
    total = sum(
        len(p) if isinstance(p, str) else sum(len(m.content) for m in p)
        for p in prompts(growth)
    )
    assert len(written) >= total
    assert len(member(written)) < 0.12 * total
    assert from_json(json.loads(written)).steps[39].calls == growth.steps[39].calls


def prompts(text: Trajectory) -> list[Any]:
    return [call.prompt for call in text.calls()]


def test_a_failed_call_keeps_its_error_and_has_no_answer() -> None:
    trajectory = walk("e").trajectory
    trajectory.opening_calls.append(
        ModelCall("main", "hello", None, None, "server said 500")
    )
    assert from_json(to_json(trajectory)).opening_calls == trajectory.opening_calls


def test_a_record_of_format_2_reads_the_same_for_ever() -> None:
    """Pins the written form: a change that breaks old folders must raise the format's number."""
    written = to_json(growing(["Where to?"] * 1))
    assert written == {
        "episode_id": "grown",
        "ended": "stopped",
        "seconds": 0.0,
        "start": {"agent": {"place": "p0"}},
        "steps": [
            {
                "actor": "agent",
                "observation": {"type": "Seen", "place": "p0", "ways": [["p0", 0.5]]},
                "decision": {"action": "goto", "arguments": ["p1"]},
                "feedback": {"status": "ok", "details": {"heading": 90.0}},
                "pose": {"place": "p1"},
                "seconds": 0.0,
                "calls": [
                    {
                        "role": "main",
                        "prompt": "Where to?",
                        "answer": {
                            "texts": ["goto[p1]"],
                            "finish": ["stop"],
                            "seconds": 0.0,
                            "usage": {"prompt": 10, "completion": 3, "reused": 0},
                        },
                        "sampling": {
                            "temperature": 0.0,
                            "top_p": 1.0,
                            "max_tokens": 512,
                            "n": 1,
                            "logprobs": 0,
                        },
                    }
                ],
            }
        ],
        "state": {"at": "p1"},
    }
    answer = from_json(written).steps[0].calls[0].answer
    assert isinstance(answer, Completion)
    assert answer.text == "goto[p1]"
